package inventory_test

import (
	"testing"
	"time"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/inventory"
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
