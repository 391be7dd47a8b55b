package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// testOpenOperations: what is open on a runtime of an instance, of whatever orchestration.
func testOpenOperations(t *testing.T, open Open) {
	s := open(t, nil)
	put(t, s, "import", newRuntime(1), newRuntime(2))
	begin(t, s, "o-2", 2)
	begin(t, s, "o-1", 2)
	begin(t, s, "o-3", 1)
	admit(t, s, "o-1-op-000")
	admit(t, s, "o-2-op-001")
	finish(t, s, "o-2-op-001", fleet.Succeeded)
	find := func(instanceID, runtimeID string) (got []string) {
		update(t, s, func(ctx context.Context, tx fleet.Tx) error {
			ops, err := tx.OpenOperations(ctx, instanceID, runtimeID)
			got = ids(ops)
			return err
		})
		return got
	}
	require.Equal(t, []string{"o-1-op-000", "o-2-op-000", "o-3-op-000"}, find("i-1", "rt-1"))
	require.Equal(t, []string{"o-1-op-001"}, find("i-2", "rt-2"))
	require.Empty(t, find("i-1", "rt-2"))
	require.Empty(t, find("i-9", "rt-9"))
	require.Empty(t, find("", ""))
}

// testDeleteRuntime: a record goes, what happened to the runtime stays, and counts again when the runtime comes back.
func testDeleteRuntime(t *testing.T, open Open) {
	s := open(t, nil)
	put(t, s, "import", newRuntime(1), newRuntime(2))
	begin(t, s, "o-1", 2)
	admit(t, s, "o-1-op-000")
	finish(t, s, "o-1-op-000", fleet.Failed)
	before := runtimeOf(t, s, "i-1")
	require.Equal(t, runtime.StateError, before.State)

	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		locked, err := tx.LockRuntime(ctx, "i-1")
		require.NoError(t, err)
		require.Equal(t, before.DTO, locked.DTO)
		require.Equal(t, "import", locked.Source)
		require.Equal(t, before.State, locked.State)
		if err := tx.DeleteRuntime(ctx, "i-1"); err != nil {
			return err
		}
		_, err = tx.LockRuntime(ctx, "i-1")
		require.ErrorIs(t, err, fleet.ErrNotFound)
		require.ErrorIs(t, tx.DeleteRuntime(ctx, "i-1"), fleet.ErrNotFound)
		return tx.AppendEvents(ctx, []fleet.Event{{Kind: fleet.EventForgotten, InstanceID: "i-1", Message: "forgotten"}})
	})
	all := fleet.RuntimeFilter{States: []runtime.State{runtime.AllState}}
	require.Equal(t, []string{"i-2"}, listed(t, s, all, 10), "the total is right too")
	require.Empty(t, listed(t, s, fleet.RuntimeFilter{States: []runtime.State{runtime.StateError}}, 10))
	_, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-1"}, page)
	require.NoError(t, err)
	require.Equal(t, 2, total)
	require.Equal(t, []string{"forgotten"}, events(t, s, fleet.EventFilter{InstanceIDs: []string{"i-1"}}))

	// Operations that are open go on without the record.
	admit(t, s, "o-1-op-001")
	update(t, s, func(ctx context.Context, tx fleet.Tx) error { return tx.DeleteRuntime(ctx, "i-2") })
	finish(t, s, "o-1-op-001", fleet.Succeeded)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		return tx.SetRuntimeVersions(ctx, []fleet.RuntimeVersion{{InstanceID: "i-2", KymaVersion: "1"}})
	})
	require.Empty(t, listed(t, s, all, 10))

	require.Equal(t, fleet.ImportResult{Imported: 1}, put(t, s, "import", newRuntime(1)))
	require.Equal(t, runtime.StateError, runtimeOf(t, s, "i-1").State)
}
