package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/orchestration"
)

// A Shoot's success speaks about the generation that its status has observed: that of the change before is none.
func TestCase_E1(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 1, Version: "1.34.5"})
	name := f.Names(t)[0]
	s := startLocal(t, f, nil)
	before := f.Get(t, name).Generation
	last := func(kind, state string, progress int) map[string]any {
		return map[string]any{"type": kind, "state": state, "progress": progress, "description": "as told", "lastUpdateTime": time.Now().UTC().Format(time.RFC3339)}
	}
	succeeded := map[string]any{"observedGeneration": before, "lastOperation": last("Reconcile", "Succeeded", 100)}
	f.ForceStatus(t, name, succeeded)
	id := s.Upgrade(t, toTarget(1, all))
	await.That(t, "the version is written", func() error {
		if f.Upgrades(t)[name] == 0 {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	generation := f.Get(t, name).Generation
	require.Equal(t, before+1, generation)
	for step, status := range []map[string]any{
		succeeded,
		{"observedGeneration": generation, "lastOperation": nil},
		{"observedGeneration": generation, "lastOperation": last("Reconcile", "Processing", 40)},
	} {
		f.ForceStatus(t, name, status)
		checked := s.Metric(t, stepsFollowed)
		await.That(t, "the status is looked at", func() error {
			if now := s.Metric(t, stepsFollowed); now < checked+2 {
				return fmt.Errorf("%v of 2 times", now-checked)
			}
			return nil
		})
		op := s.Operations(t, id)[name]
		require.Equal(t, orchestration.InProgress, op.State, "after %d", step+1)
		if step == 2 {
			require.Contains(t, op.Description, "40 %")
		}
	}
	f.ForceStatus(t, name, map[string]any{"observedGeneration": generation, "lastOperation": last("Reconcile", "Succeeded", 100)})
	s.Ended(t, id, orchestration.Succeeded)
	require.Equal(t, map[string]int{name: 1}, f.Upgrades(t))
}

// stepsFollowed counts the steps after which an operation goes on.
const stepsFollowed = `swell_engine_steps_total{backend="gardener",outcome="again"}`
