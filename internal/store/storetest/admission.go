package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// candidates returns the IDs of what may start now.
func candidates(t testing.TB, s fleet.Store, orchestrationID string, limit int) []string {
	t.Helper()
	var got []string
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		got = nil
		rows, err := tx.Candidates(ctx, orchestrationID, limit)
		for _, c := range rows {
			got = append(got, c.Operation.ID)
		}
		return err
	})
	return got
}

func testCandidates(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	ops := make([]fleet.Operation, 10)
	for i := range ops {
		ops[i] = newOperation("o-1", i, i)
	}
	window := func(i int, begin, end time.Duration) {
		ops[i].UsesWindow, ops[i].WindowBegin = true, start.Add(begin)
		if end != 0 {
			ops[i].WindowEnd = start.Add(end)
		}
	}
	window(1, -time.Hour, 2*time.Hour)      // open, ends later
	window(2, -time.Hour, time.Hour)        // open, ends earlier
	window(3, time.Minute, time.Hour)       // not open yet
	window(4, -time.Hour, -time.Minute)     // over
	window(5, -time.Hour, 0)                // open for good
	window(6, 0, time.Microsecond)          // opens at this instant
	window(7, -time.Hour, time.Microsecond) // ends at the next instant
	ops[8].NotBefore = start.Add(time.Second)
	ops[9].UsesWindow = true // needs a window and has none
	insert(t, s, newOrchestration("o-1"), ops...)
	insert(t, s, newOrchestration("o-2"), newOperation("o-2", 0, 20))

	require.Equal(t, []string{ops[6].ID, ops[7].ID, ops[2].ID, ops[1].ID, ops[0].ID, ops[5].ID}, candidates(t, s, "o-1", 100))
	require.Equal(t, []string{ops[6].ID, ops[7].ID}, candidates(t, s, "o-1", 2))
	clock.Advance(time.Microsecond)
	require.Equal(t, []string{ops[2].ID, ops[1].ID, ops[0].ID, ops[5].ID}, candidates(t, s, "o-1", 100), "nothing starts at the end of its window")
	clock.Advance(time.Minute)
	require.Equal(t, []string{ops[2].ID, ops[3].ID, ops[1].ID, ops[0].ID, ops[5].ID, ops[8].ID}, candidates(t, s, "o-1", 100))

	// A runtime that another orchestration changes is busy.
	busy := newOperation("o-2", 1, 2)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error { return tx.InsertOperations(ctx, []fleet.Operation{busy}) })
	admit(t, s, busy.ID)
	require.Equal(t, []string{ops[3].ID, ops[1].ID, ops[0].ID, ops[5].ID, ops[8].ID}, candidates(t, s, "o-1", 100))
	finish(t, s, busy.ID, fleet.Failed)
	admit(t, s, ops[1].ID)
	require.Equal(t, []string{ops[2].ID, ops[3].ID, ops[0].ID, ops[5].ID, ops[8].ID}, candidates(t, s, "o-1", 100))
	require.Empty(t, candidates(t, s, "unknown", 100))
}

func testCandidatesKnowRuntimes(t *testing.T, open Open) {
	s := open(t, nil)
	begin(t, s, "o-1", 3)
	suspended, moved := newRuntime(1), newRuntime(2)
	suspended.Status.Suspension = &runtime.OperationsData{Data: []runtime.Operation{{State: "succeeded", CreatedAt: start, OperationID: "s"}}, Count: 1, TotalCount: 1}
	moved.RuntimeID = "rt-after-unsuspension"
	put(t, s, "import", suspended, moved)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		got, err := tx.Candidates(ctx, "o-1", 10)
		require.NoError(t, err)
		require.Len(t, got, 3)
		require.True(t, got[0].RuntimeKnown)
		require.Equal(t, runtime.StateSuspended, got[0].RuntimeState)
		require.False(t, got[1].RuntimeKnown, "the instance has another runtime by now")
		require.False(t, got[2].RuntimeKnown)
		return nil
	})
}

func testWindows(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	ops := make([]fleet.Operation, 6)
	for i := range ops {
		ops[i] = newOperation("o-1", i, i)
		ops[i].UsesWindow, ops[i].WindowBegin = true, start.Add(-5*time.Hour)
	}
	ops[0].WindowEnd = start.Add(-time.Hour)
	ops[1].WindowEnd = start
	ops[2].WindowEnd = start.Add(time.Microsecond)
	ops[3].WindowEnd = start.Add(-2 * time.Hour)
	ops[4].WindowEnd = start.Add(-3 * time.Hour)
	ops[4].State = fleet.Canceled
	ops[5].UsesWindow, ops[5].WindowBegin = false, time.Time{}
	insert(t, s, newOrchestration("o-1"), ops...)
	past := func(limit int) []string {
		var got []fleet.Operation
		update(t, s, func(ctx context.Context, tx fleet.Tx) (err error) {
			got, err = tx.PastWindows(ctx, "o-1", limit)
			return err
		})
		return ids(got)
	}
	require.Equal(t, []string{ops[3].ID, ops[0].ID, ops[1].ID}, past(10))
	require.Equal(t, []string{ops[3].ID}, past(1))
	change(t, s, ops[3].ID, func(now time.Time, op *fleet.Operation) {
		op.WindowBegin, op.WindowEnd = now.Add(time.Hour), now.Add(2*time.Hour)
	})
	require.Equal(t, []string{ops[0].ID, ops[1].ID}, past(10))
}

func testPendingOperations(t *testing.T, open Open) {
	s := open(t, nil)
	ops := make([]fleet.Operation, 5)
	for i := range ops {
		ops[i] = newOperation("o-1", 4-i, i)
		ops[i].UsesWindow, ops[i].WindowEnd = i%2 == 0, start.Add(time.Duration(i)*time.Hour)
	}
	ops[1].State = fleet.Succeeded
	insert(t, s, newOrchestration("o-1"), ops...)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		got, err := tx.PendingOperations(ctx, "o-1", 3)
		require.Equal(t, []string{ops[4].ID, ops[3].ID, ops[2].ID}, ids(got))
		return err
	})
}

func testExpiredOperations(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	ops := begin(t, s, "o-1", 4)
	for i, op := range ops[:3] {
		change(t, s, op.ID, func(now time.Time, op *fleet.Operation) {
			putInProgress(now, op)
			op.LeaseUntil = now.Add(time.Duration(3-i) * time.Second)
		})
	}
	clock.Advance(2 * time.Second)
	expired := func(limit int) []string {
		var got []fleet.Operation
		update(t, s, func(ctx context.Context, tx fleet.Tx) (err error) {
			got, err = tx.ExpiredOperations(ctx, limit)
			return err
		})
		return ids(got)
	}
	require.Equal(t, []string{ops[2].ID, ops[1].ID}, expired(10))
	require.Equal(t, []string{ops[2].ID}, expired(1))
	finish(t, s, ops[2].ID, fleet.Succeeded)
	require.Equal(t, []string{ops[1].ID}, expired(10))
}

func testNewestOnRuntimes(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	add := func(id string, kind orchestration.Type, f func(op *fleet.Operation)) {
		o := newOrchestration(id)
		o.Type = kind
		op := newOperation(id, 0, 1)
		op.Type = kind
		f(&op)
		insert(t, s, o, op)
		clock.Advance(time.Second)
	}
	cluster, kyma := orchestration.UpgradeClusterOrchestration, orchestration.UpgradeKymaOrchestration
	add("o-1", cluster, func(op *fleet.Operation) { op.State = fleet.Failed })
	add("o-2", cluster, func(op *fleet.Operation) { op.State = fleet.Succeeded })
	add("o-3", cluster, func(op *fleet.Operation) { op.State = fleet.Canceled })
	add("o-4", cluster, func(op *fleet.Operation) { op.DryRun = true })
	add("o-5", kyma, func(*fleet.Operation) {})
	add("o-6", cluster, func(op *fleet.Operation) { op.RuntimeID = "rt-2" })
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		got, err := tx.NewestOnRuntimes(ctx, cluster, []string{"rt-1", "rt-2", "rt-3"})
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.Equal(t, "o-2-op-000", got["rt-1"].ID)
		require.Equal(t, "o-6-op-000", got["rt-2"].ID)
		got, err = tx.NewestOnRuntimes(ctx, kyma, []string{"rt-1"})
		require.Equal(t, "o-5-op-000", got["rt-1"].ID)
		return err
	})
}

func testRetryCandidates(t *testing.T, open Open) {
	s := open(t, nil)
	var ops []fleet.Operation
	for i, state := range []fleet.State{fleet.Failed, fleet.Pending, fleet.Canceled, fleet.Succeeded, fleet.Failed, fleet.Failed} {
		op := newOperation("o-1", 9-i, i)
		op.State, op.Superseded = state, i == 4
		ops = append(ops, op)
	}
	insert(t, s, newOrchestration("o-1"), ops...)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		got, err := tx.RetryCandidates(ctx, "o-1")
		require.Equal(t, []string{ops[5].ID, ops[2].ID, ops[0].ID}, ids(got))
		return err
	})
}
