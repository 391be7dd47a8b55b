package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

func suspension(of runtime.RuntimeDTO) *runtime.OperationsData {
	return &runtime.OperationsData{Count: 1, TotalCount: 1, Data: []runtime.Operation{{
		State: "succeeded", Type: runtime.Suspension, OperationID: "suspend-" + of.InstanceID, CreatedAt: of.Status.CreatedAt.AddDate(0, 0, 1),
	}}}
}

func TestOptionsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	_, err := engine.New(engine.Options{Executors: map[orchestration.Type]engine.ExecutorBinding{clusterType: {}}})
	for _, name := range []string{"Store", "Queue", "Resolver", "Logger", "Clock", "upgradeCluster"} {
		require.ErrorContains(t, err, name)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	p := s.start(t)
	for name, change := range map[string]func(req *fleet.CreateRequest){
		"no executor for the type": func(req *fleet.CreateRequest) { req.Type = orchestration.UpgradeKymaOrchestration },
		"negative workers":         func(req *fleet.CreateRequest) { req.Parameters.Strategy.Parallel.Workers = -1 },
		"too many workers":         func(req *fleet.CreateRequest) { req.Parameters.Strategy.Parallel.Workers = 1001 },
		"unknown strategy":         func(req *fleet.CreateRequest) { req.Parameters.Strategy.Type = "serial" },
		"empty target":             func(req *fleet.CreateRequest) { req.Parameters.Targets.Include[0] = orchestration.RuntimeTarget{} },
		"no targets":               func(req *fleet.CreateRequest) { req.Parameters.Targets = orchestration.TargetSpec{} },
	} {
		req := request(1, orchestration.Immediate)
		change(&req)
		_, err := p.CreateOrchestration(t.Context(), someone, req)
		require.ErrorIs(t, err, fleet.ErrInvalid, name)
	}
	s.fake.Refuses = fleet.Invalidf("version", "no CloudProfile has it")
	_, err := p.CreateOrchestration(t.Context(), someone, request(1, orchestration.Immediate))
	require.ErrorIs(t, err, fleet.ErrInvalid)
	s.fake.Refuses = errors.New("the backend does not answer")
	_, err = p.CreateOrchestration(t.Context(), someone, request(1, orchestration.Immediate))
	require.NoError(t, err, "what cannot be checked now is found out later")
	_, total, err := s.store.ListOrchestrations(t.Context(), fleet.OrchestrationFilter{}, fleet.Page{Number: 1, Size: 10})
	require.NoError(t, err)
	require.Equal(t, 1, total, "what was refused is not stored")
}

func TestNoWorkersMeansOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	s.fake.Checks = 2
	p := s.start(t)
	id := p.create(t, request(0, ""))
	o := s.waitFor(t, id, inState(fleet.Succeeded))
	require.Equal(t, 1, o.Parameters.Strategy.Parallel.Workers)
	require.Equal(t, 1, s.fake.Most(id))
}

// The same key and the same body give the same orchestration, also for requests at the same time; another body is a conflict, another user has
// keys of his own.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1)
			p := s.start(t)
			req := request(1, orchestration.Immediate)
			req.IdempotencyKey, req.BodyHash = "key", "one"
			var mu sync.Mutex
			var group sync.WaitGroup
			ids := map[string]bool{}
			var failures []error
			for range 8 {
				group.Go(func() {
					o, err := p.CreateOrchestration(t.Context(), someone, req)
					mu.Lock()
					defer mu.Unlock()
					ids[o.ID] = true
					failures = append(failures, err)
				})
			}
			group.Wait()
			require.NoError(t, errors.Join(failures...))
			require.Len(t, ids, 1)

			req.BodyHash = "two"
			_, err := p.CreateOrchestration(t.Context(), someone, req)
			require.ErrorIs(t, err, fleet.ErrConflict)
			other, err := p.CreateOrchestration(t.Context(), fleet.Actor{User: "another"}, req)
			require.NoError(t, err)
			require.NotContains(t, ids, other.ID)
		})
	}
}

func TestUnknownOrchestrations(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	p := s.start(t)
	_, err := p.CancelOrchestration(t.Context(), someone, "nope")
	require.ErrorIs(t, err, fleet.ErrNotFound)
	_, err = p.RetryOrchestration(t.Context(), someone, fleet.RetryRequest{OrchestrationID: "nope"})
	require.ErrorIs(t, err, fleet.ErrNotFound)
}

func TestImportIsRecorded(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	p := s.start(t)
	result, err := p.ImportRuntimes(t.Context(), someone, "import", []runtime.RuntimeDTO{document(target(0), "succeeded"), document(target(7), "succeeded")})
	require.NoError(t, err)
	require.Equal(t, 1, result.Imported)
	events, _, err := s.store.ListEvents(t.Context(), fleet.EventFilter{}, fleet.Page{Number: 1, Size: 10})
	require.NoError(t, err)
	require.Equal(t, "import: runtimes: 1 added, 1 changed, 0 unchanged", events[0].Message)
	require.Equal(t, "import: added by an import", events[1].Message)
	require.Equal(t, target(7).InstanceID, events[1].InstanceID)

	moved := document(target(7), "succeeded")
	moved.GlobalAccountID, moved.ProviderRegion = "ga-else\nwhere", "moon"
	_, err = p.ImportRuntimes(t.Context(), someone, "import", []runtime.RuntimeDTO{moved})
	require.NoError(t, err)
	moved.UserID = "somebody else"
	_, err = p.ImportRuntimes(t.Context(), someone, "import", []runtime.RuntimeDTO{moved})
	require.NoError(t, err)
	events, _, err = s.store.ListEvents(t.Context(), fleet.EventFilter{InstanceIDs: []string{moved.InstanceID}}, fleet.Page{Number: 1, Size: 10})
	require.NoError(t, err)
	require.Len(t, events, 3)
	require.Equal(t, "import: details changed by an import", events[0].Message)
	require.Equal(t, `import: changed by an import: globalAccountID from "ga-blue" to "ga-else\nwhere", region from "" to "moon"`, events[1].Message)
	for _, e := range events {
		require.Equal(t, fleet.EventImported, e.Kind)
		require.Equal(t, someone, e.Actor)
		require.Equal(t, moved.ShootName, e.ShootName)
	}
}

// retryable fails the first upgrade of rt-0 and lets every other one succeed.
func (s *site) failFirst() {
	failed := false
	s.fake.Outcome = func(task fleet.Task) fleet.Result {
		if task.RuntimeID == "rt-0" && !failed {
			failed = true
			return fleet.Result{Outcome: fleet.Refused, Reason: "no capacity"}
		}
		return fleet.Result{Outcome: fleet.Done}
	}
}

func (s *site) failedPage(t *testing.T, id string) []string {
	t.Helper()
	views, _, err := s.store.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: id, States: []fleet.State{fleet.Failed}}, fleet.Page{Number: 1, Size: 10})
	require.NoError(t, err)
	var ids []string
	for _, v := range views {
		ids = append(ids, v.ID)
	}
	return ids
}

// The orchestration tells whether its runtimes are upgraded now: for each the newest operation counts, not how many tries it took.
func TestCase_ST3(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 2)
			s.failFirst()
			p := s.start(t)
			id := p.create(t, request(1, orchestration.Immediate))
			s.waitFor(t, id, inState(fleet.Failed))
			op1 := s.operations(t, id)["rt-0"].ID
			require.Equal(t, []string{op1}, s.failedPage(t, id))

			fails := s.fake.Outcome
			s.fake.Outcome = func(fleet.Task) fleet.Result {
				return fleet.Result{Outcome: fleet.Refused, Reason: "again no capacity"}
			}
			result, err := p.RetryOrchestration(t.Context(), someone, fleet.RetryRequest{OrchestrationID: id, OperationIDs: []string{op1, "nope"}})
			require.NoError(t, err)
			require.Equal(t, []string{"c-0"}, result.RetryShoots)
			require.Equal(t, []string{"nope"}, result.InvalidOperations)
			o := s.waitFor(t, id, func(o fleet.Orchestration) bool { return o.State == fleet.Failed })
			require.Equal(t, fleet.Counts{Succeeded: 1, Failed: 1}, o.Counts, "c: it failed again and counts once")
			op3 := s.operations(t, id)["rt-0"]
			require.Equal(t, op1, op3.RetryOf)
			require.Equal(t, []string{op3.ID}, s.failedPage(t, id))

			s.fake.Outcome = fails
			result, err = p.RetryOrchestration(t.Context(), someone, fleet.RetryRequest{OrchestrationID: id, OperationIDs: []string{op1}})
			require.NoError(t, err)
			require.Equal(t, []string{op1}, result.OldOperations, "it was repeated already")
			require.Empty(t, result.RetryShoots)
			_, err = p.RetryOrchestration(t.Context(), someone, fleet.RetryRequest{OrchestrationID: id})
			require.NoError(t, err)
			o = s.waitFor(t, id, inState(fleet.Succeeded))
			require.Equal(t, fleet.Counts{Succeeded: 2}, o.Counts)
			require.Empty(t, s.failedPage(t, id))
			require.Equal(t, "2 runtimes: 2 succeeded", o.Description)
		})
	}
}

// An operation whose runtime a newer orchestration took care of is old and is not repeated; with that newer one canceled it is.
func TestRetryAfterANewerOrchestration(t *testing.T) {
	t.Parallel()
	for name, newer := range map[string]fleet.State{"it succeeded": fleet.Succeeded, "it was canceled": fleet.Canceled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			s.failFirst()
			p := s.start(t)
			id := p.create(t, request(1, orchestration.Immediate))
			s.waitFor(t, id, inState(fleet.Failed))
			op1 := s.operations(t, id)["rt-0"].ID
			s.stored(t, fleet.Orchestration{ID: "newer", State: newer})
			s.update(t, func(ctx context.Context, tx fleet.Tx) error {
				g := target(0)
				return tx.InsertOperations(ctx, []fleet.Operation{{
					ID: "op-2", OrchestrationID: "newer", Type: clusterType, RuntimeID: g.RuntimeID, InstanceID: g.InstanceID, State: newer, FinishedAt: tx.Now(),
				}})
			})
			result, err := p.RetryOrchestration(t.Context(), someone, fleet.RetryRequest{OrchestrationID: id, OperationIDs: []string{op1}})
			require.NoError(t, err)
			if newer == fleet.Canceled {
				require.Equal(t, []string{"c-0"}, result.RetryShoots)
				s.waitFor(t, id, inState(fleet.Succeeded))
				return
			}
			require.Equal(t, []string{op1}, result.OldOperations)
			require.Empty(t, result.RetryShoots)
			require.NotEmpty(t, result.Message)
			o, err := s.store.Orchestration(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, fleet.Failed, o.State)
		})
	}
}

func TestRetryOfACancelingOrchestrationIsAConflict(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.stored(t, fleet.Orchestration{ID: "o-1", State: fleet.Canceling}, fleet.Operation{ID: "op-1", State: fleet.Failed})
	p := s.prepare(t)
	_, err := p.RetryOrchestration(t.Context(), someone, fleet.RetryRequest{OrchestrationID: "o-1"})
	require.ErrorIs(t, err, fleet.ErrConflict)
}
