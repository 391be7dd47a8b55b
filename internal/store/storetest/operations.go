package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// fullOperation returns a record with every field set.
func fullOperation() fleet.Operation {
	at := func(minutes int) time.Time {
		return start.Add(time.Duration(minutes)*time.Minute + 123*time.Microsecond)
	}
	return fleet.Operation{
		ID: "op-1", OrchestrationID: "o-1", Type: orchestration.UpgradeKymaOrchestration, Position: 7,
		RuntimeID: "rt-1", InstanceID: "i-1", GlobalAccountID: "ga-1", SubAccountID: "sa-1", ShootName: "c-1", Region: "eu-demo-1",
		ServicePlanID: "plan-aws", ServicePlanName: "aws",
		DryRun: true, State: fleet.InProgress, Description: "reconciling", Reason: "because",
		UsesWindow: true,
		WindowRule: fleet.WindowRule{
			Begin: "220000+0000", End: "020000+0000", Days: []string{"Mon", "Sat"}, Rule: "default", NotOn: []string{"2026-12-20..2027-01-06"},
		},
		WindowBegin: at(1), WindowEnd: at(2), NotBefore: at(3),
		Attempt: 3, Fence: 1 << 40, LeaseUntil: at(4), CheckAt: at(5), Sent: true, Following: true, Failures: 2,
		Memo: json.RawMessage(`{"generation":8}`), TimeLimitFrom: at(6),
		Version: "2.4", KymaConfig: json.RawMessage(`{"version":"2.4"}`), ClusterConfig: json.RawMessage(`{"region":"eu"}`),
		FinishedStages: []string{"one", "two, with \"quotes\""}, RetryOf: "op-0", Superseded: true,
		CreatedAt: at(7), StartedAt: at(8), FinishedAt: at(9), JobID: 1 << 41,
	}
}

func testOperations(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	full, bare := fullOperation(), newOperation("o-1", 1, 2)
	insert(t, s, newOrchestration("o-1"), full, bare)
	full.UpdatedAt, bare.CreatedAt, bare.UpdatedAt = start, start, start
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		got, err := tx.Operations(ctx, []string{bare.ID, "op-1", "unknown"})
		require.NoError(t, err)
		slices.SortFunc(got, func(a, b fleet.Operation) int { return b.Position - a.Position })
		require.Empty(t, cmp.Diff([]fleet.Operation{full, bare}, got))
		none, err := tx.Operations(ctx, nil)
		require.Empty(t, none)
		return err
	})
	view, err := s.Operation(t.Context(), "o-1", "op-1")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(fleet.OperationView{Operation: full}, view), "superseded ones are found by their ID")
	for _, key := range [][2]string{{"o-2", "op-1"}, {"o-1", "op-2"}} {
		_, err = s.Operation(t.Context(), key[0], key[1])
		require.ErrorIs(t, err, fleet.ErrNotFound)
	}
	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		return tx.InsertOperations(ctx, []fleet.Operation{bare})
	})
	require.ErrorIs(t, err, fleet.ErrConflict)
	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		return tx.InsertOperations(ctx, []fleet.Operation{newOperation("o-unknown", 1, 2)})
	})
	require.Error(t, err, "operations belong to an orchestration")
}

func testOperationLists(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	var ops []fleet.Operation
	for i, state := range []fleet.State{fleet.Failed, fleet.Pending, fleet.Failed, fleet.Pending, fleet.Failed} {
		op := newOperation("o-1", i, i)
		op.State = state
		ops = append(ops, op)
	}
	insert(t, s, newOrchestration("o-1"), ops...)
	clock.Advance(time.Minute)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		retried, newer := newOperation("o-1", 5, 0), newOperation("o-1", 9, 9)
		retried.Position, retried.RetryOf = 0, ops[0].ID
		return tx.InsertOperations(ctx, []fleet.Operation{newer, retried})
	})
	change(t, s, ops[0].ID, func(_ time.Time, op *fleet.Operation) { op.Superseded = true })
	insert(t, s, newOrchestration("o-2"), newOperation("o-2", 0, 3))
	admit(t, s, "o-2-op-000")

	walk := func(states ...fleet.State) []string {
		var got []string
		wantTotal := -1
		for number := 1; ; number++ {
			rows, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-1", States: states}, fleet.Page{Number: number, Size: 2})
			require.NoError(t, err)
			if wantTotal < 0 {
				wantTotal = total
			}
			require.Equal(t, wantTotal, total, "the total is the same on every page")
			if len(rows) == 0 {
				require.Len(t, got, wantTotal)
				return got
			}
			for _, op := range rows {
				got = append(got, op.ID)
				require.Equal(t, op.ID == "o-1-op-003", op.RuntimeBusy, "another orchestration changes rt-3: %s", op.ID)
			}
		}
	}
	newest := []string{"o-1-op-005", "o-1-op-009"}
	require.Equal(t, append(slices.Clone(newest), "o-1-op-001", "o-1-op-002", "o-1-op-003", "o-1-op-004"), walk())
	require.Equal(t, []string{"o-1-op-002", "o-1-op-004"}, walk(fleet.Failed))
	require.Equal(t, append(slices.Clone(newest), "o-1-op-001", "o-1-op-002", "o-1-op-003", "o-1-op-004"), walk(fleet.Failed, fleet.Pending, fleet.Failed))
	require.Equal(t, append(slices.Clone(newest), "o-1-op-001", "o-1-op-003"), walk("retrying"))
	require.Empty(t, walk(fleet.Canceled))
	rows, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "unknown"}, page)
	require.NoError(t, err)
	require.Zero(t, total)
	require.Empty(t, rows)
}

func testSaveOperations(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	begin(t, s, "o-1", 3)
	clock.Advance(time.Minute)
	full := fullOperation()
	full.ID = "o-1-op-000"
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		other := newOperation("o-1", 1, 2)
		other.Description = "not written"
		fenced, err := tx.SaveOperations(ctx, []fleet.OperationChange{
			{Operation: full, IfFence: 0},
			{Operation: other, IfFence: 1},
			{Operation: newOperation("o-1", 7, 7), IfFence: 0},
		})
		require.Equal(t, []string{"o-1-op-001", "o-1-op-007"}, fenced)
		return err
	})
	want := full
	// What the operation is about does not change.
	want.Type, want.Position, want.DryRun, want.RetryOf = orchestration.UpgradeClusterOrchestration, 0, false, ""
	want.GlobalAccountID, want.SubAccountID, want.Region, want.ServicePlanID, want.ServicePlanName = "", "", "", "", ""
	want.CreatedAt, want.UpdatedAt = start, clock.Now()
	got, err := s.Operation(t.Context(), "o-1", full.ID)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got.Operation))

	// Empty again.
	change(t, s, full.ID, func(_ time.Time, op *fleet.Operation) {
		*op = fleet.Operation{ID: op.ID, OrchestrationID: op.OrchestrationID, State: fleet.Canceled}
	})
	got, err = s.Operation(t.Context(), "o-1", full.ID)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(fleet.Operation{
		ID: full.ID, OrchestrationID: "o-1", Type: orchestration.UpgradeClusterOrchestration, RuntimeID: "rt-1", InstanceID: "i-1", ShootName: "c-1",
		State: fleet.Canceled, CreatedAt: start, UpdatedAt: clock.Now(),
	}, got.Operation))
	got, err = s.Operation(t.Context(), "o-1", "o-1-op-001")
	require.NoError(t, err)
	require.Equal(t, fleet.Pending, got.State)
	require.Empty(t, got.Description)

	// More than one statement carries.
	many := make([]fleet.Operation, 1234)
	for i := range many {
		many[i] = newOperation("o-2", i, i+1000)
	}
	insert(t, s, newOrchestration("o-2"), many...)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		changes := make([]fleet.OperationChange, len(many))
		for i := range many {
			changes[i] = fleet.OperationChange{Operation: many[i]}
			putInProgress(tx.Now(), &changes[i].Operation)
			if i == 777 {
				changes[i].IfFence = 3
			}
		}
		fenced, err := tx.SaveOperations(ctx, changes)
		require.Equal(t, []string{many[777].ID}, fenced)
		return err
	})
	_, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-2", States: []fleet.State{fleet.InProgress}}, page)
	require.NoError(t, err)
	require.Equal(t, len(many)-1, total)
}

func testClaim(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	ops := begin(t, s, "o-1", 3)
	admit(t, s, ops[0].ID)
	admit(t, s, ops[1].ID)
	clock.Advance(time.Minute)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		got, err := tx.Claim(ctx, []fleet.Claim{
			{OperationID: ops[0].ID, Attempt: 1, Lease: 45 * time.Second},
			{OperationID: ops[1].ID, Attempt: 2, Lease: time.Second},
			{OperationID: ops[2].ID, Attempt: 0, Lease: time.Second},
			{OperationID: "unknown", Attempt: 1, Lease: time.Second},
		})
		require.NoError(t, err)
		require.Equal(t, []string{ops[0].ID}, ids(got), "neither another attempt nor a pending operation")
		require.Equal(t, int64(2), got[0].Fence)
		require.Equal(t, 1, got[0].Attempt)
		require.Equal(t, tx.Now().Add(45*time.Second), got[0].LeaseUntil)
		require.Equal(t, start, got[0].StartedAt)
		stored, err := tx.Operations(ctx, []string{ops[0].ID})
		require.Empty(t, cmp.Diff(got, stored), "what is returned is what is stored")
		return err
	})
	// The holder before finds its fence outdated.
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		stale := ops[0]
		putInProgress(tx.Now(), &stale)
		stale.Description = "from a process that was thought dead"
		fenced, err := tx.SaveOperations(ctx, []fleet.OperationChange{{Operation: stale, IfFence: 1}})
		require.Equal(t, []string{ops[0].ID}, fenced)
		return err
	})
}

func testDeleteUnresolved(t *testing.T, open Open) {
	s := open(t, nil)
	begin(t, s, "o-1", 5)
	begin(t, s, "o-2", 2)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		require.NoError(t, tx.InsertLeftOut(ctx, []fleet.LeftOut{{OrchestrationID: "o-1", Position: 0, Reason: "r"}}))
		return nil
	})
	var removed []int
	for range 3 {
		update(t, s, func(ctx context.Context, tx fleet.Tx) error {
			n, err := tx.DeleteUnresolved(ctx, "o-1", 3)
			removed = append(removed, n)
			return err
		})
	}
	require.Equal(t, []int{3, 2, 0}, removed)
	_, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-2"}, page)
	require.NoError(t, err)
	require.Equal(t, 2, total)
	_, total, err = s.ListLeftOut(t.Context(), "o-1", page)
	require.NoError(t, err)
	require.Zero(t, total)

	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		o, err := tx.LockOrchestration(ctx, "o-2")
		require.NoError(t, err)
		o.ResolvedAt = tx.Now()
		require.NoError(t, tx.SaveOrchestration(ctx, &o))
		_, err = tx.DeleteUnresolved(ctx, "o-2", 3)
		return err
	})
	require.ErrorIs(t, err, fleet.ErrConflict)
}

func testLeftOut(t *testing.T, open Open) {
	s := open(t, nil)
	var rows []fleet.LeftOut
	for i := range 5 {
		rows = append(rows, fleet.LeftOut{
			OrchestrationID: "o-1", Position: 4 - i, ShootName: fmt.Sprintf("c-%d", i), RuntimeID: "rt", InstanceID: "i", Reason: "suspended", Description: "text",
		})
	}
	insert(t, s, newOrchestration("o-1"))
	insert(t, s, newOrchestration("o-2"))
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		require.NoError(t, tx.InsertLeftOut(ctx, []fleet.LeftOut{{OrchestrationID: "o-2", Position: 4}}))
		return tx.InsertLeftOut(ctx, rows)
	})
	slices.Reverse(rows)
	got, total, err := s.ListLeftOut(t.Context(), "o-1", fleet.Page{Number: 2, Size: 2})
	require.NoError(t, err)
	require.Equal(t, 5, total)
	require.Equal(t, rows[2:4], got)
	got, total, err = s.ListLeftOut(t.Context(), "o-1", fleet.Page{Number: 4, Size: 2})
	require.NoError(t, err)
	require.Equal(t, 5, total)
	require.Empty(t, got)
}

func testGuards(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	op := newOperation("o-1", 0, 1)
	op.UsesWindow, op.WindowBegin, op.WindowEnd = true, start, start.Add(time.Hour)
	insert(t, s, newOrchestration("o-1"), op)
	admit(t, s, op.ID)
	clock.Advance(time.Second)
	other := newOperation("o-2", 0, 2)
	insert(t, s, newOrchestration("o-2"), other)
	got, err := s.Guards(t.Context(), []string{other.ID, op.ID, "unknown", op.ID})
	require.NoError(t, err)
	require.Equal(t, map[string]fleet.GuardView{
		op.ID: {
			Now: clock.Now(), State: fleet.InProgress, Fence: 1, OrchestrationState: fleet.Pending,
			UsesWindow: true, WindowBegin: start, WindowEnd: start.Add(time.Hour),
		},
		other.ID: {Now: clock.Now(), State: fleet.Pending, OrchestrationState: fleet.Pending},
	}, got)
	got, err = s.Guards(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func testInFlight(t *testing.T, open Open) {
	s := open(t, nil)
	ops := begin(t, s, "o-1", 3)
	change(t, s, ops[1].ID, func(now time.Time, op *fleet.Operation) {
		putInProgress(now, op)
		op.JobID = 77
	})
	got, err := s.InFlight(t.Context())
	require.NoError(t, err)
	require.Equal(t, []fleet.InFlight{{
		OperationID: ops[1].ID, OrchestrationID: "o-1", Type: orchestration.UpgradeClusterOrchestration, RuntimeID: "rt-2", ShootName: "c-2", JobID: 77,
	}}, got)
}
