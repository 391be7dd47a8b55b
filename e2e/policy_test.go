package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

// TestAMaintenancePolicyDecidesTheWindows: the Shoots' own windows are from 05:00 to 06:00; it is Wednesday noon.
func TestAMaintenancePolicyDecidesTheWindows(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 8, Version: "1.34.5", Window: "050000+0000/060000+0000"})
	page := f.Runtimes(t)
	for i := range page.Data {
		page.Data[i].ServicePlanName, page.Data[i].SubAccountRegion = "aws", "cf-us10"
	}
	page.Data[0].ServicePlanName = "trial"
	page.Data[1].SubAccountRegion = "cf-eu10"
	file := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
notOn: 2024-05-18
rules:
- match: {plan: "^trial$"}
  timeBegin: "110000+0000"
  timeEnd: "130000+0000"
- match: {platformRegion: "-eu10$"}
  days: [monday]
default:
  days: [Saturday, Sunday]
`), 0o600))
	now := time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)
	s := server.StartLocal(t, server.NewClock(now), with(settingsFor(t, f), "maintenance-policy", file))
	s.Ready(t)
	s.Import(t, page)

	p := toTarget(8, all)
	p.Strategy.MaintenanceWindow = true
	id := s.Upgrade(t, p)
	s.InState(t, id, page.Data[0].ShootName, orchestration.Succeeded)
	for name, op := range s.Operations(t, id) {
		switch name {
		case page.Data[0].ShootName:
			require.Equal(t, time.Date(2024, 5, 15, 11, 0, 0, 0, time.UTC), op.MaintenanceWindowBegin.UTC(), "the rule for trials is open now")
			continue
		case page.Data[1].ShootName:
			require.Equal(t, time.Date(2024, 5, 20, 5, 0, 0, 0, time.UTC), op.MaintenanceWindowBegin.UTC(), "the rule by region gives Mondays")
		default:
			require.Equal(t, time.Date(2024, 5, 19, 5, 0, 0, 0, time.UTC), op.MaintenanceWindowBegin.UTC(), "the default gives the weekend, of which Saturday is shut")
		}
		require.Equal(t, orchestration.Pending, op.State, name)
		require.Equal(t, orchestration.WaitWindow, op.WaitReason, name)
		require.Equal(t, op.MaintenanceWindowBegin.UTC(), op.WaitUntil.UTC(), name)
	}
	require.Len(t, f.Upgrades(t), 1, "nothing starts outside its window")
}

// TestAnOrchestrationThatWaitsForItsTimeHoldsNothing: it resolves its targets when it starts, and may be canceled before.
func TestAnOrchestrationThatWaitsForItsTimeHoldsNothing(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 3, Version: "1.34.5"})
	now := time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)
	clock := server.NewClock(now)
	s := startLocal(t, f, clock)
	later := now.Add(2 * time.Hour)
	p := toTarget(3, all)
	p.Strategy.ScheduleTime = &later
	id, other := s.Upgrade(t, p), s.Upgrade(t, p)
	require.NoError(t, s.CancelOrchestration(other))
	s.Ended(t, other, orchestration.Canceled)

	s.Swept(t)
	o := s.Orchestration(t, id)
	require.Equal(t, orchestration.Pending, o.State)
	require.NotNil(t, o.StartsAt)
	require.Equal(t, later, o.StartsAt.UTC())
	require.Empty(t, s.Operations(t, id), "the targets are not resolved yet")

	// A Shoot that goes before the time has come is no target any more.
	gone := f.Names(t)[0]
	f.Remove(t, gone)
	clock.Set(later)
	o = s.Ended(t, id, orchestration.Succeeded)
	require.Equal(t, map[string]int{orchestration.Succeeded: 2}, o.OperationStats)
	require.NotContains(t, s.Operations(t, id), gone)
	require.Len(t, f.Upgrades(t), 2)
}
