// Package storetest is the conformance suite of fleet.Store. Every implementation runs it, against the real database.
package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Store is what the suite needs of an implementation: the port, and the tables themselves for rows that no port method would write.
type Store interface {
	fleet.Store
	RuntimesFrom(ctx context.Context, source string) ([]fleet.SourcedRuntime, error)
	SQL() *sql.DB
}

// Open makes an empty store that is closed when the test has ended. A nil clock means the implementation's own.
type Open func(t testing.TB, clock func() time.Time) Store

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, Open){
		"Orchestrations":          testOrchestrations,
		"OrchestrationLists":      testOrchestrationLists,
		"IdempotencyKeys":         testIdempotencyKeys,
		"RetriesAreKept":          testRetriesAreKept,
		"OpenOrchestrations":      testOpenOrchestrations,
		"Operations":              testOperations,
		"OperationLists":          testOperationLists,
		"SaveOperations":          testSaveOperations,
		"Claim":                   testClaim,
		"DeleteUnresolved":        testDeleteUnresolved,
		"LeftOut":                 testLeftOut,
		"Guards":                  testGuards,
		"InFlight":                testInFlight,
		"Candidates":              testCandidates,
		"CandidatesKnowRuntimes":  testCandidatesKnowRuntimes,
		"Windows":                 testWindows,
		"PendingOperations":       testPendingOperations,
		"ExpiredOperations":       testExpiredOperations,
		"NewestOnRuntimes":        testNewestOnRuntimes,
		"RetryCandidates":         testRetryCandidates,
		"ImportKeepsEveryField":   testImportKeepsEveryField,
		"ImportMerges":            testImportMerges,
		"ImportTellsWhatChanged":  testImportTellsWhatChanged,
		"ImportOfPartialSources":  testImportOfPartialSources,
		"SourcesByRank":           testSourcesByRank,
		"InstanceIDBecomesKnown":  testInstanceIDBecomesKnown,
		"RuntimesOfASource":       testRuntimesOfASource,
		"ParallelSources":         testParallelSources,
		"OwnOperations":           testOwnOperations,
		"RuntimeStates":           testRuntimeStates,
		"RuntimeFilters":          testRuntimeFilters,
		"RuntimeLists":            testRuntimeLists,
		"AllRuntimes":             testAllRuntimes,
		"RuntimeVersions":         testRuntimeVersions,
		"OpenOperations":          testOpenOperations,
		"DeleteRuntime":           testDeleteRuntime,
		"Events":                  testEvents,
		"EventsBefore":            testEventsBefore,
		"EventsBeforeAreTheList":  testEventsBeforeAreTheList,
		"EventsNameTheShoot":      testEventsNameTheShoot,
		"CanceledBy":              testCanceledBy,
		"Retention":               testRetention,
		"Text":                    testText,
		"Pages":                   testPages,
		"TestCase_D1":             testOldParameters,
		"OldStateWords":           testOldStateWords,
		"UpdateRollsBack":         testUpdateRollsBack,
		"Contexts":                testContexts,
		"OneOperationPerRuntime":  testOneOperationPerRuntime,
		"ParallelClaims":          testParallelClaims,
		"ParallelLocks":           testParallelLocks,
		"ParallelImports":         testParallelImports,
		"ReadersSeeOneSnapshot":   testSnapshots,
		"RandomAgainstModel":      testModel,
		"ClockOfTheTransaction":   testClock,
		"UnreadableRuntimeIsSeen": testUnreadableRuntime,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// start is when the clocks of the suite begin: a Wednesday.
var start = time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)

// clock is a clock that stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: start} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// update runs f in a transaction that must succeed.
func update(t testing.TB, s fleet.Store, f func(ctx context.Context, tx fleet.Tx) error) {
	t.Helper()
	require.NoError(t, s.Update(t.Context(), f))
}

// page is a page that holds everything that a test makes.
var page = fleet.Page{Number: 1, Size: 1000}

// newOrchestration returns a record with the usual parameters.
func newOrchestration(id string) fleet.Orchestration {
	return fleet.Orchestration{
		ID: id, Type: orchestration.UpgradeClusterOrchestration, State: fleet.Pending, CreatedBy: "user-1",
		Parameters: orchestration.Parameters{
			Version: "1.33.4",
			Targets: orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{{Target: orchestration.TargetAll}}},
			Strategy: orchestration.StrategySpec{
				Type: orchestration.ParallelStrategy, Schedule: orchestration.Immediate, Parallel: orchestration.ParallelStrategySpec{Workers: 2},
			},
		},
	}
}

// newOperation returns a pending record on the runtime rt-N of the instance i-N.
func newOperation(orchestrationID string, position, n int) fleet.Operation {
	return fleet.Operation{
		ID: fmt.Sprintf("%s-op-%03d", orchestrationID, position), OrchestrationID: orchestrationID, Type: orchestration.UpgradeClusterOrchestration,
		Position: position, RuntimeID: fmt.Sprintf("rt-%d", n), InstanceID: fmt.Sprintf("i-%d", n), ShootName: fmt.Sprintf("c-%d", n),
		State: fleet.Pending,
	}
}

// newRuntime returns the document of the runtime rt-N of the instance i-N, provisioned at start plus N seconds.
func newRuntime(n int) runtime.RuntimeDTO {
	at := start.Add(-24*time.Hour + time.Duration(n)*time.Second)
	return runtime.RuntimeDTO{
		InstanceID: fmt.Sprintf("i-%d", n), RuntimeID: fmt.Sprintf("rt-%d", n), ShootName: fmt.Sprintf("c-%d", n),
		GlobalAccountID: fmt.Sprintf("ga-%d", n%3), SubAccountID: fmt.Sprintf("sa-%d", n%5), ProviderRegion: fmt.Sprintf("eu-demo-%d", n%2),
		ServicePlanName: "aws", ServicePlanID: "plan-aws",
		Status: runtime.RuntimeStatus{
			CreatedAt: at, ModifiedAt: at, State: runtime.StateSucceeded,
			Provisioning: &runtime.Operation{State: "succeeded", OperationID: fmt.Sprintf("prov-%d", n), CreatedAt: at, UpdatedAt: at, FinishedStages: []string{}},
		},
	}
}

// begin puts an orchestration with operations on the runtimes rt-1 to rt-n into a store.
func begin(t testing.TB, s fleet.Store, id string, n int) []fleet.Operation {
	t.Helper()
	ops := make([]fleet.Operation, n)
	for i := range ops {
		ops[i] = newOperation(id, i, i+1)
	}
	insert(t, s, newOrchestration(id), ops...)
	return ops
}

// insert puts an orchestration and operations into a store.
func insert(t testing.TB, s fleet.Store, o fleet.Orchestration, ops ...fleet.Operation) {
	t.Helper()
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		o := o
		for i := range ops {
			o.Counts.Add(ops[i].State, 1)
		}
		if err := tx.InsertOrchestration(ctx, &o); err != nil {
			return err
		}
		return tx.InsertOperations(ctx, ops)
	})
}

// change reads an operation, changes it and saves it under the fence that it has.
func change(t testing.TB, s fleet.Store, id string, f func(now time.Time, op *fleet.Operation)) {
	t.Helper()
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		ops, err := tx.Operations(ctx, []string{id})
		if err != nil {
			return err
		}
		require.Len(t, ops, 1)
		op := ops[0]
		fence := op.Fence
		f(tx.Now(), &op)
		fenced, err := tx.SaveOperations(ctx, []fleet.OperationChange{{Operation: op, IfFence: fence}})
		require.Empty(t, fenced)
		return err
	})
}

// admit puts an operation in progress.
func admit(t testing.TB, s fleet.Store, id string) {
	t.Helper()
	change(t, s, id, func(now time.Time, op *fleet.Operation) { putInProgress(now, op) })
}

func putInProgress(now time.Time, op *fleet.Operation) {
	op.State, op.Attempt, op.Fence = fleet.InProgress, op.Attempt+1, op.Fence+1
	op.LeaseUntil, op.CheckAt = now.Add(time.Minute), now
	if op.StartedAt.IsZero() {
		op.StartedAt = now
	}
}

// finish ends an operation.
func finish(t testing.TB, s fleet.Store, id string, state fleet.State) {
	t.Helper()
	change(t, s, id, func(now time.Time, op *fleet.Operation) {
		op.State, op.Fence, op.FinishedAt, op.LeaseUntil = state, op.Fence+1, now, time.Time{}
	})
}

// ids returns the IDs of operations.
func ids(ops []fleet.Operation) []string {
	out := make([]string, len(ops))
	for i := range ops {
		out[i] = ops[i].ID
	}
	return out
}

// runtimeOf returns one runtime as lists show it.
func runtimeOf(t testing.TB, s fleet.Store, instanceID string) fleet.Runtime {
	t.Helper()
	rows, total, err := s.ListRuntimes(t.Context(), fleet.RuntimeFilter{InstanceIDs: []string{instanceID}, States: []runtime.State{runtime.AllState}}, page)
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.Len(t, rows, 1)
	return rows[0]
}

// put imports documents.
func put(t testing.TB, s fleet.Store, source string, docs ...runtime.RuntimeDTO) fleet.ImportResult {
	t.Helper()
	var result fleet.ImportResult
	update(t, s, func(ctx context.Context, tx fleet.Tx) (err error) {
		result, err = tx.PutRuntimes(ctx, source, docs)
		return err
	})
	// The numbers are what most tests are about.
	result.Changes = nil
	return result
}
