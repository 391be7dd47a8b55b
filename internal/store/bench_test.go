package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// The size of the fleet in the benchmarks of lists.
const (
	benchRuntimes   = 100_000
	benchOperations = 3 // on each runtime
)

// forBoth runs a benchmark on both databases. The server is one that waits for the disk, as one in production does.
func forBoth(b *testing.B, f func(b *testing.B, s *store.Store)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) {
		s, err := store.OpenSQLite(b.Context(), store.SQLiteOptions{Dir: b.TempDir(), Clock: time.Now})
		require.NoError(b, err)
		defer func() { require.NoError(b, s.Close()) }()
		f(b, s)
	})
	b.Run("postgres", func(b *testing.B) {
		server, err := postgres.Start(true)
		require.NoError(b, err)
		defer func() { require.NoError(b, server.Stop()) }()
		s, err := store.OpenPostgres(b.Context(), store.PostgresOptions{URL: server.URL})
		require.NoError(b, err)
		defer func() { require.NoError(b, s.Close()) }()
		f(b, s)
	})
}

func benchRuntime(n int) runtime.RuntimeDTO {
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	doc := runtime.RuntimeDTO{
		InstanceID: fmt.Sprintf("9b1d2c3e-0000-4000-8000-%012d", n*7919%benchRuntimes), RuntimeID: fmt.Sprintf("5f4e3d2c-0000-4000-8000-%012d", n),
		ShootName: fmt.Sprintf("c-%07x", n), GlobalAccountID: fmt.Sprintf("ga-%d", n%500), SubAccountID: fmt.Sprintf("sa-%d", n%20_000),
		ProviderRegion: fmt.Sprintf("eu-demo-%d", n%8), SubAccountRegion: "cf-eu10", ServiceClassID: "47c9dcbf-ff30-448e-ab36-d3bad66ba281",
		ServiceClassName: "kymaruntime", ServicePlanID: fmt.Sprintf("plan-%d", n%6), ServicePlanName: fmt.Sprintf("plan-%d", n%6), Provider: "AWS",
		UserID: "john.doe@example.com", KymaVersion: "2.20.5",
		Status: runtime.RuntimeStatus{
			CreatedAt: at, ModifiedAt: at, State: runtime.StateSucceeded,
			Provisioning: &runtime.Operation{State: "succeeded", OperationID: fmt.Sprintf("prov-%d", n), CreatedAt: at, UpdatedAt: at,
				Description: "Operation succeeded", FinishedStages: []string{"create_runtime", "check_kyma", "post_actions"}},
		},
	}
	if n%10 == 0 {
		doc.Status.Suspension = &runtime.OperationsData{Count: 1, TotalCount: 1, Data: []runtime.Operation{{State: "succeeded", OperationID: fmt.Sprint(n), CreatedAt: at.Add(time.Hour)}}}
	}
	return doc
}

func benchOperation(id string, n int) fleet.Operation {
	doc := benchRuntime(n)
	return fleet.Operation{
		ID: fmt.Sprintf("%08x-%s-%d", n*2654435761%(1<<32), id, n), OrchestrationID: id, Type: orchestration.UpgradeClusterOrchestration, Position: n,
		RuntimeID: doc.RuntimeID, InstanceID: doc.InstanceID, GlobalAccountID: doc.GlobalAccountID, SubAccountID: doc.SubAccountID,
		ShootName: doc.ShootName, Region: doc.ProviderRegion, ServicePlanID: doc.ServicePlanID, ServicePlanName: doc.ServicePlanName,
		State: fleet.Pending, WindowRule: fleet.WindowRule{Begin: "220000+0000", End: "020000+0000"},
	}
}

// fill puts an orchestration with an operation on each of n runtimes into a store, in transactions of 5,000.
func fill(b testing.TB, s fleet.Store, id string, n int, f func(i int, now time.Time, op *fleet.Operation)) {
	b.Helper()
	var created time.Time
	require.NoError(b, s.Update(b.Context(), func(ctx context.Context, tx fleet.Tx) error {
		o := fleet.Orchestration{ID: id, Type: orchestration.UpgradeClusterOrchestration, State: fleet.InProgress, Counts: fleet.Counts{Pending: n}}
		created = tx.Now()
		o.ResolvedAt = created
		return tx.InsertOrchestration(ctx, &o)
	}))
	for from := 0; from < n; from += 5000 {
		require.NoError(b, s.Update(b.Context(), func(ctx context.Context, tx fleet.Tx) error {
			ops := make([]fleet.Operation, min(5000, n-from))
			for i := range ops {
				ops[i] = benchOperation(id, from+i)
				ops[i].CreatedAt = created
				if f != nil {
					f(from+i, tx.Now(), &ops[i])
				}
			}
			return tx.InsertOperations(ctx, ops)
		}))
	}
}

func importFleet(b testing.TB, s fleet.Store) {
	b.Helper()
	for from := 0; from < benchRuntimes; from += 5000 {
		require.NoError(b, s.Update(b.Context(), func(ctx context.Context, tx fleet.Tx) error {
			docs := make([]runtime.RuntimeDTO, 5000)
			for i := range docs {
				docs[i] = benchRuntime(from + i)
			}
			_, err := tx.PutRuntimes(ctx, "import", docs)
			return err
		}))
	}
}

// BenchmarkLists measures the lists over 100,000 runtimes with 300,000 operations.
func BenchmarkLists(b *testing.B) {
	forBoth(b, func(b *testing.B, s *store.Store) {
		b.Helper()
		begun := time.Now()
		importFleet(b, s)
		b.Logf("imported %d runtimes in %s", benchRuntimes, time.Since(begun).Round(time.Millisecond))
		begun = time.Now()
		states := []fleet.State{fleet.Succeeded, fleet.Failed, fleet.Pending}
		for i := range benchOperations {
			fill(b, s, fmt.Sprintf("o-%d", i), benchRuntimes, func(n int, now time.Time, op *fleet.Operation) {
				op.State = states[(n+i)%3]
				if op.State != fleet.Pending {
					op.StartedAt, op.FinishedAt, op.FinishedStages = now, now, []string{"started", "done"}
				}
			})
		}
		b.Logf("inserted %d operations in %s", benchRuntimes*benchOperations, time.Since(begun).Round(time.Millisecond))
		if s.Dialect() == store.Postgres {
			_, err := s.SQL().ExecContext(b.Context(), "VACUUM ANALYZE")
			require.NoError(b, err)
		}
		counter := s.CountQueries()
		all := []runtime.State{runtime.AllState}
		runtimes := func(f fleet.RuntimeFilter, page int) func() error {
			return func() error {
				_, _, err := s.ListRuntimes(context.Background(), f, fleet.Page{Number: page, Size: 100})
				return err
			}
		}
		operations := func(page int, states ...fleet.State) func() error {
			return func() error {
				_, _, err := s.ListOperations(context.Background(), fleet.OperationFilter{OrchestrationID: "o-1", States: states}, fleet.Page{Number: page, Size: 100})
				return err
			}
		}
		for _, list := range []struct {
			name string
			read func() error
		}{
			{"runtimes", runtimes(fleet.RuntimeFilter{}, 1)},
			{"runtimes-all", runtimes(fleet.RuntimeFilter{States: all}, 1)},
			{"runtimes-page-500", runtimes(fleet.RuntimeFilter{}, 500)},
			{"runtimes-suspended", runtimes(fleet.RuntimeFilter{States: []runtime.State{runtime.StateSuspended}}, 3)},
			{"runtimes-two-states", runtimes(fleet.RuntimeFilter{States: []runtime.State{runtime.StateError, runtime.StateSucceeded}}, 3)},
			{"runtimes-account", runtimes(fleet.RuntimeFilter{GlobalAccountIDs: []string{"ga-7"}}, 1)},
			{"runtimes-region", runtimes(fleet.RuntimeFilter{Regions: []string{"eu-demo-3"}}, 2)},
			{"runtimes-region-plan-state", runtimes(fleet.RuntimeFilter{Regions: []string{"eu-demo-3"}, Plans: []string{"plan-1"}, States: []runtime.State{runtime.StateError}}, 1)},
			{"runtimes-shoot", runtimes(fleet.RuntimeFilter{Shoots: []string{"c-0000123"}}, 1)},
			{"operations", operations(1)},
			{"operations-page-500", operations(500)},
			{"operations-failed", operations(1, fleet.Failed)},
			{"operations-two-states", operations(100, fleet.Failed, fleet.Pending)},
			{"orchestration", func() error { _, err := s.Orchestration(context.Background(), "o-1"); return err }},
		} {
			b.Run(list.name, func(b *testing.B) {
				require.NoError(b, list.read())
				counter.Take()
				var took []time.Duration
				for b.Loop() {
					begun := time.Now()
					if err := list.read(); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(begun))
				}
				slices.Sort(took)
				b.ReportMetric(float64(counter.Take())/float64(len(took)), "queries/op")
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
		b.Run("all-runtimes", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all, err := s.AllRuntimes(context.Background())
				require.NoError(b, err)
				require.Len(b, all, benchRuntimes)
			}
		})
	})
}

// BenchmarkInsert100k measures the insertion of an orchestration of 100,000 operations.
func BenchmarkInsert100k(b *testing.B) {
	forBoth(b, func(b *testing.B, s *store.Store) {
		b.Helper()
		n := 0
		for b.Loop() {
			n++
			fill(b, s, fmt.Sprintf("o-%d", n), 100_000, nil)
		}
	})
}

// BenchmarkAdmitClaimFinish measures what a group of operations costs from pending to its end: admitted, claimed, finished, each with its event.
func BenchmarkAdmitClaimFinish(b *testing.B) {
	for _, group := range []int{1, 20, 200} {
		b.Run(fmt.Sprint(group), func(b *testing.B) {
			forBoth(b, func(b *testing.B, s *store.Store) {
				b.Helper()
				const size = 20_000
				importFleet(b, s)
				if s.Dialect() == store.Postgres {
					_, err := s.SQL().ExecContext(b.Context(), "VACUUM ANALYZE")
					require.NoError(b, err)
				}
				round, left, done := 0, 0, 0
				for b.Loop() {
					if left < group {
						b.StopTimer()
						round++
						left = size
						fill(b, s, fmt.Sprintf("o-%d", round), size, nil)
						b.StartTimer()
					}
					admitClaimFinish(b, s, fmt.Sprintf("o-%d", round), group)
					left -= group
					done += group
				}
				b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "operations/s")
			})
		})
	}
}

func admitClaimFinish(b *testing.B, s fleet.Store, id string, group int) {
	b.Helper()
	var ops []fleet.Operation
	step := func(f func(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) error) {
		err := s.Update(b.Context(), func(ctx context.Context, tx fleet.Tx) error {
			o, err := tx.LockOrchestration(ctx, id)
			if err != nil {
				return err
			}
			if err := f(ctx, tx, &o); err != nil {
				return err
			}
			return tx.SaveOrchestration(ctx, &o)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	save := func(ctx context.Context, tx fleet.Tx, state fleet.State) error {
		changes := make([]fleet.OperationChange, len(ops))
		events := make([]fleet.Event, len(ops))
		for i := range ops {
			changes[i] = fleet.OperationChange{Operation: ops[i], IfFence: ops[i].Fence}
			op := &changes[i].Operation
			op.State, op.Fence = state, op.Fence+1
			if state == fleet.InProgress {
				op.Attempt, op.StartedAt = op.Attempt+1, tx.Now()
			}
			ops[i] = *op
			events[i] = fleet.Event{Kind: fleet.EventAdmitted, OrchestrationID: id, OperationID: op.ID, RuntimeID: op.RuntimeID, InstanceID: op.InstanceID, To: state}
		}
		if _, err := tx.SaveOperations(ctx, changes); err != nil {
			return err
		}
		return tx.AppendEvents(ctx, events)
	}
	step(func(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) error {
		found, err := tx.Candidates(ctx, id, group)
		if err != nil {
			return err
		}
		ops = ops[:0]
		for _, c := range found {
			ops = append(ops, c.Operation)
		}
		return save(ctx, tx, fleet.InProgress)
	})
	err := s.Update(b.Context(), func(ctx context.Context, tx fleet.Tx) error {
		claims := make([]fleet.Claim, len(ops))
		for i := range ops {
			claims[i] = fleet.Claim{OperationID: ops[i].ID, Attempt: 1, Lease: time.Minute}
		}
		claimed, err := tx.Claim(ctx, claims)
		ops = claimed
		return err
	})
	if err != nil || len(ops) != group {
		b.Fatal(err, len(ops))
	}
	step(func(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) error {
		return save(ctx, tx, fleet.Succeeded)
	})
}
