package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/inventory"
	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Shoots become runtimes, keep them in step, take their place below imported documents, and leave them in the history when they go. On both databases.
func TestGardenerSource(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB, func() time.Time) *counting{"SQLite": openSQLite, "PostgreSQL": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			s := open(t, clock.Now)
			nameless := newShoot(9, func(s *gardencorev1beta1.Shoot) { s.Annotations = nil })
			shoots := newCache(t, clock.Now, newShoot(1), newShoot(2), newShoot(3), nameless)
			source := inventory.NewGardenerSource(shoots.Shoots, s, silent)
			sync := func() map[string]fleet.Runtime {
				t.Helper()
				require.NoError(t, source.Sync(t.Context()))
				return list(t, s)
			}

			got := sync()
			require.Len(t, got, 3)
			require.Equal(t, "c-1", got["rt-1"].DTO.ShootName)
			require.Equal(t, runtime.StateSucceeded, got["rt-1"].State)
			require.Equal(t, fleet.SourceGardener, got["rt-1"].Source)

			// Without a change nothing is written, nor even asked for.
			writes := s.updates.Load()
			clock.Advance(time.Second)
			require.Equal(t, got, sync())
			require.Equal(t, writes, s.updates.Load())
			// Nor does the comparison with the store change anything.
			clock.Advance(5 * time.Minute)
			require.Equal(t, got, sync())
			require.Greater(t, s.updates.Load(), writes)

			// A document with the instance ID takes the place, and the source fills what it does not have.
			require.Equal(t, fleet.ImportResult{Imported: 1}, put(t, s, "import", newDocument(1)))
			doc := newDocument(2)
			doc.ShootName, doc.Provider, doc.ProviderRegion, doc.SubAccountID = "other", "other", "other", "other"
			require.Equal(t, fleet.ImportResult{Imported: 1}, put(t, s, "import", doc))
			clock.Advance(5 * time.Minute)
			got = sync()
			require.Len(t, got, 3)
			require.Equal(t, "c-1", got["i-1"].DTO.ShootName)
			require.Equal(t, "eu-demo-1", got["i-1"].DTO.ProviderRegion)
			require.Equal(t, "plan-aws", got["i-1"].DTO.ServicePlanID)
			require.Equal(t, "other", got["i-2"].DTO.ShootName)
			require.Equal(t, "import", got["i-1"].Source)

			// Shoots change.
			moved := newShoot(3, func(s *gardencorev1beta1.Shoot) { s.Labels[orchestration.SubAccountLabel] = "sa-new" })
			shoots.set(t, map[int]*gardencorev1beta1.Shoot{3: moved, 4: newShoot(4)})
			writes = s.updates.Load()
			got = sync()
			require.Equal(t, writes+1, s.updates.Load())
			require.Equal(t, "sa-new", got["rt-3"].DTO.SubAccountID)
			require.Len(t, got, 4)

			// Shoots go: after a while that of the source is deprovisioned, and the imported one is left to its source.
			shoots.set(t, map[int]*gardencorev1beta1.Shoot{1: nil, 3: nil})
			gone := clock.Now()
			require.Equal(t, runtime.StateSucceeded, sync()["rt-3"].State)
			clock.Advance(59 * time.Second)
			require.Equal(t, runtime.StateSucceeded, sync()["rt-3"].State)
			clock.Advance(time.Second)
			got = sync()
			require.Equal(t, runtime.StateDeprovisioned, got["rt-3"].State)
			require.Equal(t, gone, *got["rt-3"].DTO.Status.DeletedAt)
			require.Equal(t, "c-3", got["rt-3"].DTO.ShootName)
			require.NotNil(t, got["rt-3"].DTO.Status.Provisioning)
			require.Equal(t, runtime.StateSucceeded, got["i-1"].State)
			events, _, err := s.ListEvents(t.Context(), fleet.EventFilter{InstanceIDs: []string{"rt-3"}}, fleet.Page{Number: 1, Size: 10})
			require.NoError(t, err)
			require.Len(t, events, 1)
			require.Equal(t, "the Shoot c-3 is gone; the runtime counts as deprovisioned", events[0].Message)
			writes = s.updates.Load()
			require.Equal(t, got, sync())
			require.Equal(t, writes, s.updates.Load())

			// It comes back.
			shoots.set(t, map[int]*gardencorev1beta1.Shoot{3: moved})
			got = sync()
			require.Equal(t, runtime.StateSucceeded, got["rt-3"].State)
			require.Nil(t, got["rt-3"].DTO.Status.DeletedAt)
		})
	}
}

// A cache without any runtime, or one that does not follow its source, makes nothing gone.
func TestNothingIsGoneForNoReason(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openSQLite(t, clock.Now)
	shoots := newCache(t, clock.Now, newShoot(1), newShoot(2))
	source := inventory.NewGardenerSource(shoots.Shoots, s, silent)
	require.NoError(t, source.Sync(t.Context()))
	shoots.set(t, map[int]*gardencorev1beta1.Shoot{1: nil, 2: nil})
	for range 3 {
		clock.Advance(10 * time.Minute)
		require.NoError(t, source.Sync(t.Context()))
	}
	for _, r := range list(t, s) {
		require.Equal(t, runtime.StateSucceeded, r.State)
	}
	// A Shoot that was away for a moment was never gone.
	shoots.set(t, map[int]*gardencorev1beta1.Shoot{1: newShoot(1)})
	require.NoError(t, source.Sync(t.Context()))
	shoots.set(t, map[int]*gardencorev1beta1.Shoot{2: newShoot(2)})
	clock.Advance(time.Hour)
	require.NoError(t, source.Sync(t.Context()))
	shoots.set(t, map[int]*gardencorev1beta1.Shoot{2: nil})
	clock.Advance(time.Hour)
	require.NoError(t, source.Sync(t.Context()))
	require.Equal(t, runtime.StateSucceeded, list(t, s)["rt-2"].State)
	clock.Advance(-30 * time.Minute)
	require.NoError(t, source.Sync(t.Context()))
	require.Equal(t, runtime.StateSucceeded, list(t, s)["rt-2"].State, "the clock went back")
	clock.Advance(time.Minute)
	require.NoError(t, source.Sync(t.Context()))
	require.Equal(t, runtime.StateDeprovisioned, list(t, s)["rt-2"].State)
}

// Many Shoots are written in several transactions; one that the store refuses does not keep the others out.
func TestManyShoots(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openSQLite(t, clock.Now)
	objects := make([]k8sruntime.Object, 0, 1201)
	for n := range 1200 {
		objects = append(objects, newShoot(n))
	}
	objects = append(objects, newShoot(5000, func(s *gardencorev1beta1.Shoot) {
		s.Annotations[orchestration.RuntimeIDAnnotation] = strings.Repeat("x", 1<<16)
	}))
	shoots := newCache(t, clock.Now, objects...)
	source := inventory.NewGardenerSource(shoots.Shoots, s, silent)
	err := source.Sync(t.Context())
	require.ErrorContains(t, err, `write the runtime of the Shoot "c-5000"`)
	require.Len(t, list(t, s), 1200)
	require.Greater(t, s.updates.Load(), int64(3))
	before := s.updates.Load()
	require.Error(t, source.Sync(t.Context()))
	require.Equal(t, before+1, s.updates.Load(), "only what is refused is tried again")
	require.ErrorIs(t, source.Healthy(t.Context()), fleet.ErrUnavailable)
	require.NoError(t, source.CaughtUp(), "all others are there")
}

// Of two Shoots with one runtime ID always the same one speaks, so that they do not write over each other.
func TestTwoShootsOfOneRuntime(t *testing.T) {
	t.Parallel()
	same := func(s *gardencorev1beta1.Shoot) { s.Annotations[orchestration.RuntimeIDAnnotation] = "rt-same" }
	sameTime := func(s *gardencorev1beta1.Shoot) { s.CreationTimestamp = metav1.NewTime(start) }
	for name, test := range map[string]struct {
		a, b *gardencorev1beta1.Shoot
	}{
		"the older one":            {newShoot(1, same), newShoot(2, same)},
		"the one that stays":       {newShoot(2, same), newShoot(1, same, deleted)},
		"by name":                  {newShoot(1, same, sameTime), newShoot(2, same, sameTime)},
		"by name, both go":         {newShoot(1, same, sameTime, deleted), newShoot(2, same, sameTime, deleted)},
		"the older one, both stay": {newShoot(3, same), newShoot(4, same)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			s := openSQLite(t, clock.Now)
			source := inventory.NewGardenerSource(newCache(t, clock.Now, test.a, test.b).Shoots, s, silent)
			for range 5 {
				require.NoError(t, source.Sync(t.Context()))
				got := list(t, s)
				require.Len(t, got, 1)
				require.Equal(t, test.a.Name, got["rt-same"].DTO.ShootName)
			}
			require.EqualValues(t, 1, s.updates.Load())
		})
	}
}

// A store that is away is told, leaves everything as it was, and is caught up with when it is back.
func TestSourceWithoutAStore(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openSQLite(t, clock.Now)
	shoots := newCache(t, clock.Now, newShoot(1))
	source := inventory.NewGardenerSource(shoots.Shoots, s, silent)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, source.Register(registry))
	require.Error(t, source.Register(registry))
	require.ErrorIs(t, source.Healthy(t.Context()), fleet.ErrUnavailable)
	require.ErrorIs(t, source.CaughtUp(), fleet.ErrUnavailable)

	away := errors.New("the disk is full")
	s.away.Store(&away)
	since := clock.Now()
	require.ErrorIs(t, source.Sync(t.Context()), away)
	clock.Advance(time.Minute)
	require.ErrorIs(t, source.Sync(t.Context()), away)
	require.ErrorIs(t, source.CaughtUp(), fleet.ErrUnavailable)
	require.ErrorContains(t, source.Healthy(t.Context()), "not taken over from the Shoots since "+since.Format(time.RFC3339))
	s.away.Store(nil)
	require.NoError(t, source.Sync(t.Context()))
	require.NoError(t, source.Healthy(t.Context()))
	require.NoError(t, source.CaughtUp())
	require.Len(t, list(t, s), 1)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(fmt.Sprintf(`
		# HELP swell_source_failures_total Attempts to take a source over that failed.
		# TYPE swell_source_failures_total counter
		swell_source_failures_total{source="gardener"} 2
		# HELP swell_source_last_success_timestamp_seconds When a source was last taken over completely.
		# TYPE swell_source_last_success_timestamp_seconds gauge
		swell_source_last_success_timestamp_seconds{source="gardener"} %d
		# HELP swell_source_runtimes Runtimes that a source knows.
		# TYPE swell_source_runtimes gauge
		swell_source_runtimes{source="gardener"} 1
	`, clock.Now().Unix()))))

	s.away.Store(&away)
	clock.Advance(time.Hour)
	require.ErrorIs(t, source.Sync(t.Context()), away)
	require.NoError(t, source.CaughtUp(), "what is known does not get unknown")
}

// Run follows the Shoots by itself, from the first list to the last change, through outages of Gardener and of the store.
func TestSourceRuns(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 5, Version: "1.34.5"})
	s := openSQLite(t, time.Now)
	shoots := runCache(t, clientFor(t, f), f.Namespace, time.Now)
	source := inventory.NewGardenerSource(shoots, s, silent)
	source.SetTimes(10*time.Millisecond, time.Hour, 100*time.Millisecond)
	away := errors.New("the database is locked")
	s.away.Store(&away)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	runInBackground(t, func(context.Context) { ended <- source.Run(ctx) })()

	await.That(t, "the failure", func() error {
		if source.Healthy(t.Context()) == nil {
			return errors.New("well")
		}
		return nil
	})
	s.away.Store(nil)
	count := func(want int) func() error {
		return func() error {
			if got := len(list(t, s)); got != want {
				return fmt.Errorf("%d runtimes", got)
			}
			return nil
		}
	}
	await.That(t, "all runtimes", count(5))
	await.That(t, "health", func() error { return source.Healthy(t.Context()) })

	name := f.Names(t)[0]
	id := ""
	for _, r := range list(t, s) {
		if r.DTO.ShootName == name {
			id = r.DTO.InstanceID
		}
	}
	f.SetFaults(t, "api: [{action: closeWatches, every: 50ms}, {action: refuse, for: 300ms}]\n")
	f.Patch(t, name, `{"metadata":{"labels":{"subaccount":"sa-new"}}}`)
	await.That(t, "the new label", func() error {
		if got := list(t, s)[id].DTO.SubAccountID; got != "sa-new" {
			return errors.New(got)
		}
		return nil
	})
	f.ClearFaults(t)
	writes := s.updates.Load()
	f.Patch(t, name, `{"spec":{"kubernetes":{"version":"`+landscape.Target+`"}}}`)
	await.That(t, "the upgrade", func() error {
		for _, shoot := range f.Shoots(t) {
			if shoot.Name == name && (shoot.State != "Succeeded" || shoot.ObservedGeneration != shoot.Generation) {
				return errors.New(shoot.State)
			}
		}
		return nil
	})
	require.Equal(t, writes, s.updates.Load(), "an upgrade changes nothing of what the source tells")
	f.Remove(t, name)
	await.That(t, "the end of the runtime", func() error {
		if got := list(t, s)[id].State; got != runtime.StateDeprovisioned {
			return errors.New(string(got))
		}
		return nil
	})
	cancel()
	require.NoError(t, <-ended)
}

// Run ends when it is told to before anything was read.
func TestSourceEndsBeforeTheFirstList(t *testing.T) {
	t.Parallel()
	shoots, err := inventory.NewShoots(fakeClient(), testNamespace, silent, time.Now)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, inventory.NewGardenerSource(shoots, openSQLite(t, time.Now), silent).Run(ctx))
}
