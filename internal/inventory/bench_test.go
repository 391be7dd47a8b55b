package inventory_test

import (
	"testing"
	"time"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/inventory"
	"github.com/swell-fleet/swell/orchestration"
)

// BenchmarkGardenerSource measures what a fleet of 5,000 Shoots costs that does not change: the look after a change elsewhere, and the full
// comparison with the store, which comes every five minutes.
func BenchmarkGardenerSource(b *testing.B) {
	const size = 5000
	clock := newClock()
	s := openSQLite(b, clock.Now)
	objects := make([]k8sruntime.Object, size)
	for n := range objects {
		objects[n] = newShoot(n)
	}
	shoots := newCache(b, clock.Now, objects...)
	source := inventory.NewGardenerSource(shoots.Shoots, s, silent)
	require.NoError(b, source.Sync(b.Context()))
	for name, step := range map[string]time.Duration{"unchanged": 0, "compared": 5 * time.Minute} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				clock.Advance(step)
				if err := source.Sync(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPreview measures what a preview of a window run over 50,000 Shoots costs: reading the runtimes, resolving the targets, and foreseeing.
func BenchmarkPreview(b *testing.B) {
	const size = 50_000
	clock := newClock()
	s := openSQLite(b, clock.Now)
	objects := make([]k8sruntime.Object, size)
	for n := range objects {
		objects[n] = newShoot(n)
	}
	shoots := newCache(b, clock.Now, objects...)
	require.NoError(b, inventory.NewGardenerSource(shoots.Shoots, s, silent).Sync(b.Context()))
	targets := inventory.NewTargets(shoots.Shoots, s, nil, nil, nil)
	o := &fleet.Orchestration{Type: orchestration.UpgradeClusterOrchestration, State: fleet.Pending}
	o.Parameters.Strategy.Schedule = orchestration.MaintenanceWindow
	b.ReportAllocs()
	for b.Loop() {
		found, err := targets.ResolveTargets(b.Context(), everything)
		require.NoError(b, err)
		forecast := fleet.Foresee(o, found, clock.Now())
		runtimes, _ := forecast.Cut(fleet.Page{Number: 1, Size: 100})
		require.Equal(b, size, runtimes)
	}
}
