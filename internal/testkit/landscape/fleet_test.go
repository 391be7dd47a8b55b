package landscape_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
)

func TestEachTestHasAFleetOfItsOwn(t *testing.T) {
	t.Parallel()
	a := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.34.5", Window: "220000+0100/020000+0100"})
	b := landscape.New(t, landscape.Options{Shoots: 3, Seed: 2})
	require.Len(t, a.Names(t), 2)
	require.Len(t, b.Names(t), 3)
	require.Len(t, b.Runtimes(t).Data, 3)

	name := a.Names(t)[0]
	shoot := a.Get(t, name)
	require.Equal(t, "1.34.5", shoot.Spec.Kubernetes.Version)
	require.Equal(t, "220000+0100", shoot.Spec.Maintenance.TimeWindow.Begin)
	a.SetWindow(t, name, "010000+0530", "023000+0530")
	require.Equal(t, "010000+0530", a.Get(t, name).Spec.Maintenance.TimeWindow.Begin)

	a.Patch(t, name, `{"spec":{"kubernetes":{"version":"`+landscape.Target+`"}}}`)
	require.Equal(t, map[string]int{name: 1}, a.Upgrades(t))
	require.Empty(t, b.Upgrades(t))
	require.Empty(t, a.Audit(t).Requests, "what comes past the door is not in it")
}

func TestForcedStatusStays(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 1})
	f.SetClock(t, time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
	name := f.Names(t)[0]
	f.ForceStatus(t, name, map[string]any{"observedGeneration": 7})
	require.EqualValues(t, 7, f.Shoots(t)[0].ObservedGeneration)
	f.ReleaseStatus(t, name)
	f.Remove(t, name)
	await.That(t, "the removal", func() error { require.Empty(t, f.Names(t)); return nil })
}
