package inventory_test

import (
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/inventory"
	"github.com/swell-fleet/swell/orchestration"
)

func TestTheSourceTellsWhichShootARuntimeHas(t *testing.T) {
	t.Parallel()
	clock := newClock()
	infrastructure := newShoot(3, func(s *gardencorev1beta1.Shoot) {
		s.Annotations = map[string]string{orchestration.InfrastructureManagerRuntimeIDAnnotation: "rt-3"}
	})
	nameless := newShoot(4, func(s *gardencorev1beta1.Shoot) { s.Annotations = nil })
	shoots := newCache(t, clock.Now, newShoot(1), newShoot(2, deleted), infrastructure, nameless)
	source := inventory.NewGardenerSource(shoots.Shoots, openSQLite(t, clock.Now), silent)
	for runtimeID, want := range map[string]string{"rt-1": "c-1", "rt-2": "c-2", "rt-3": "c-3", "rt-4": "", "c-1": ""} {
		got, err := source.ShootOf(t.Context(), runtimeID)
		require.NoError(t, err)
		require.Equal(t, want, got, runtimeID)
	}
	shoots.set(t, map[int]*gardencorev1beta1.Shoot{1: nil})
	got, err := source.ShootOf(t.Context(), "rt-1")
	require.NoError(t, err)
	require.Empty(t, got)
}

// A cache that has never been filled does not know what is missing.
func TestNobodyKnowsWhatIsGoneWithoutThePicture(t *testing.T) {
	t.Parallel()
	clock := newClock()
	shoots, err := inventory.NewShoots(newCache(t, clock.Now).client, testNamespace, silent, clock.Now)
	require.NoError(t, err)
	_, err = inventory.NewGardenerSource(shoots, openSQLite(t, clock.Now), silent).ShootOf(t.Context(), "rt-1")
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	require.ErrorContains(t, err, "the Shoots are not followed")
}

// All Shoots together tell which runtimes have none.
func TestTheCacheTellsWhichRuntimesHaveAShoot(t *testing.T) {
	t.Parallel()
	clock := newClock()
	shoots := newCache(t, clock.Now, newShoot(1), newShoot(2, deleted), newShoot(4, func(s *gardencorev1beta1.Shoot) { s.Annotations = nil }))
	seen, err := shoots.RuntimeIDs(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"rt-1": true, "rt-2": true}, seen, "one that is being deleted is still there")

	// Without a single runtime it looks like a wrong namespace or role, and before it was filled it knows nothing.
	shoots.set(t, map[int]*gardencorev1beta1.Shoot{1: nil, 2: nil})
	_, err = shoots.RuntimeIDs(t.Context())
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	require.ErrorContains(t, err, "as if the namespace or the role were wrong")
	empty, err := inventory.NewShoots(shoots.client, testNamespace, silent, clock.Now)
	require.NoError(t, err)
	_, err = empty.RuntimeIDs(t.Context())
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	require.ErrorContains(t, err, "the Shoots are not followed")
}
