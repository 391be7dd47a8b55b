package fleet_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
)

func TestAGuardTravelsWithTheContext(t *testing.T) {
	t.Parallel()
	require.NoError(t, fleet.AskGuard(t.Context()), "without a guard everything may leave")
	answer := error(nil)
	ctx, refused := fleet.WithGuard(t.Context(), func(context.Context) error { return answer })
	require.NoError(t, refused())
	require.NoError(t, fleet.AskGuard(ctx))
	answer = fleet.ErrCanceled
	require.ErrorIs(t, fleet.AskGuard(ctx), fleet.ErrCanceled)
	require.Equal(t, fleet.ErrCanceled, refused())
}
