package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

func TestForgettingEndsWhatIsPending(t *testing.T) {
	t.Parallel()
	r := &fleet.Runtime{
		DTO: runtime.RuntimeDTO{InstanceID: "in-1", RuntimeID: "rt-1", ShootName: "c-1\n2030 forged"}, Source: "import", State: runtime.StateSucceeded,
	}
	actor := fleet.Actor{User: "ann", Roles: []string{"admin"}, RequestID: "r-1", RemoteAddr: "192.0.2.1"}
	open := []fleet.Operation{
		{ID: "op-1", OrchestrationID: "o-1", RuntimeID: "rt-1", InstanceID: "in-1", State: fleet.Pending, Fence: 3},
		{ID: "op-2", OrchestrationID: "o-2", RuntimeID: "rt-1", InstanceID: "in-1", State: fleet.Pending},
	}
	f, err := fleet.Forget(r, "", open, noon, actor)
	require.NoError(t, err)
	require.Equal(t, "op-1 op-2", ids(f.Cancel))
	first := f.Cancel[0]
	require.Equal(t, int64(3), first.IfFence)
	require.Equal(t, fleet.Canceled, first.Operation.State)
	require.Equal(t, "canceled: the runtime was forgotten", first.Operation.Description)
	require.Equal(t, noon, first.Operation.FinishedAt)
	require.Equal(t, fleet.Event{
		At: noon, Kind: fleet.EventForgotten, Level: fleet.LevelInfo, RuntimeID: "rt-1", InstanceID: "in-1", ShootName: "c-1\n2030 forged", Actor: actor,
		Message: "forgotten, with its Shoot c-1 2030 forged; source import, state succeeded, 2 pending operations canceled",
	}, f.Event)

	f, err = fleet.Forget(&fleet.Runtime{Source: "import", State: runtime.StateFailed}, "", nil, noon, actor)
	require.NoError(t, err)
	require.Empty(t, f.Cancel)
	require.Equal(t, "forgotten; source import, state failed, 0 pending operations canceled", f.Event.Message)
	f, err = fleet.Forget(&fleet.Runtime{Source: "import", State: runtime.StateFailed}, "", open[:1], noon, actor)
	require.NoError(t, err)
	require.Equal(t, "forgotten; source import, state failed, 1 pending operation canceled", f.Event.Message)
}

func TestWhatIsNotForgotten(t *testing.T) {
	t.Parallel()
	_, err := fleet.Forget(&fleet.Runtime{}, "c-1", nil, noon, fleet.Actor{})
	require.ErrorIs(t, err, fleet.ErrConflict)
	require.ErrorContains(t, err, `it would come back, because the Shoot "c-1" has its runtime ID`)
	_, err = fleet.Forget(&fleet.Runtime{}, "", []fleet.Operation{{ID: "op-1", State: fleet.Pending}, {ID: "op-2", OrchestrationID: "o-1", State: fleet.InProgress}}, noon, fleet.Actor{})
	require.ErrorIs(t, err, fleet.ErrConflict)
	require.ErrorContains(t, err, "the operation op-2 of the orchestration o-1 is in progress")
}
