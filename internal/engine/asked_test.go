package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

func TestTheHistorySaysWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	o := fleet.Orchestration{Type: orchestration.UpgradeClusterOrchestration}
	o.Parameters.Targets.Include = []orchestration.RuntimeTarget{{Target: orchestration.TargetAll}}
	o.Parameters.Strategy.Parallel.Workers = 1
	require.Equal(t, `created: upgradeCluster of {"target":"all"} by 1 worker`, askedToCreate(&o))

	shoot := orchestration.RuntimeTarget{Shoot: "c-1"}
	o.Parameters.Targets = orchestration.TargetSpec{
		Include: []orchestration.RuntimeTarget{shoot, shoot, shoot, shoot, shoot}, Exclude: []orchestration.RuntimeTarget{{PlanName: "trial"}},
	}
	o.Parameters.Version, o.Parameters.DryRun, o.Parameters.Strategy.Parallel.Workers = "1.34.1", true, 5
	o.Parameters.Strategy.Schedule = orchestration.MaintenanceWindow
	o.NotBefore = time.Date(2030, 1, 2, 22, 0, 0, 0, time.FixedZone("", 3600))
	require.Equal(t, `created: upgradeCluster to 1.34.1 of {"shoot":"c-1"} {"shoot":"c-1"} {"shoot":"c-1"} and 2 more except {"planName":"trial"} `+
		`by 5 workers in maintenance windows not before 2030-01-02T21:00:00Z as a dry run`, askedToCreate(&o))

	require.Equal(t, "asked to repeat all that failed or were canceled: x", askedToRetry(fleet.RetryRequest{}, "x"))
	require.Equal(t, "asked to repeat 2 operations, without waiting for windows: x",
		askedToRetry(fleet.RetryRequest{OperationIDs: []string{"a", "b"}, Immediate: true}, "x"))
}
