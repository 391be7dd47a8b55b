package orchestration_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// A runtime that was suspended and woken up again is a target like any other: only its newest operation decides. One that the lister no
// longer returns is none, although its Shoot is still there and an earlier call returned it.
func TestCase_R1(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(status *runtime.RuntimeStatus)
		reason orchestration.LeftOutReason
	}{
		{
			name: "woken up again, and its suspension listed as a deprovisioning too",
			change: func(status *runtime.RuntimeStatus) {
				suspension := operation("op-suspend", "succeeded", 11)
				status.Suspension = operations(suspension)
				status.Deprovisioning = &suspension
				status.Unsuspension = operations(operation("op-wake", "succeeded", 12))
			},
		},
		{
			name: "waking up failed",
			change: func(status *runtime.RuntimeStatus) {
				status.Suspension = operations(operation("op-suspend", "succeeded", 11))
				status.Unsuspension = operations(operation("op-wake", "failed", 12))
			},
			reason: orchestration.LeftOutNotProvisioned,
		},
		{
			name: "waking up",
			change: func(status *runtime.RuntimeStatus) {
				status.Suspension = operations(operation("op-suspend", "succeeded", 11))
				status.Unsuspension = operations(operation("op-wake", "in progress", 12))
			},
			reason: orchestration.LeftOutNotProvisioned,
		},
		{
			name: "being suspended",
			change: func(status *runtime.RuntimeStatus) {
				status.Suspension = operations(operation("op-suspend", "in progress", 11))
			},
			reason: orchestration.LeftOutSuspended,
		},
		{
			name: "upgrade failed",
			change: func(status *runtime.RuntimeStatus) {
				status.UpgradingCluster = operations(operation("op-upgrade", "failed", 11))
			},
		},
		{
			name: "being provisioned",
			change: func(status *runtime.RuntimeStatus) {
				status.Provisioning.State = "in progress"
			},
			reason: orchestration.LeftOutNotProvisioned,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			known := provisioned("rt-1")
			test.change(&known.Status)
			resolver := orchestration.NewGardenerRuntimeResolver(gardener(newShoot("c-aa11", "rt-1")), gardenNamespace, listing(known), nil)

			resolution, err := resolver.Preview(context.Background(), all())
			require.NoError(t, err)
			if test.reason == "" {
				require.Equal(t, []string{"rt-1"}, runtimeIDs(resolution.Runtimes))
				require.Empty(t, resolution.LeftOut)
				return
			}
			require.Empty(t, resolution.Runtimes)
			require.Equal(t, map[string]orchestration.LeftOutReason{"c-aa11": test.reason}, reasons(resolution.LeftOut))
		})
	}

	t.Run("gone from the lister between two calls", func(t *testing.T) {
		t.Parallel()
		lister := listing(provisioned("rt-1"))
		resolver := orchestration.NewGardenerRuntimeResolver(gardener(newShoot("c-aa11", "rt-1")), gardenNamespace, lister, nil)

		runtimes, err := resolver.Resolve(all())
		require.NoError(t, err)
		require.Equal(t, []string{"rt-1"}, runtimeIDs(runtimes))

		lister.set()
		resolution, err := resolver.Preview(context.Background(), all())
		require.NoError(t, err)
		require.Empty(t, resolution.Runtimes)
		require.Equal(t, map[string]orchestration.LeftOutReason{"c-aa11": orchestration.LeftOutUnknownToLister}, reasons(resolution.LeftOut))
	})
}

// A target that selects nothing by name is refused and never means everything; the fields of one entry all have to match.
func TestCase_R3(t *testing.T) {
	t.Parallel()
	trial := provisioned("rt-2")
	trial.ServicePlanName = "trial"
	resolver := orchestration.NewGardenerRuntimeResolver(
		gardener(newShoot("c-aa11", "rt-1"), newShoot("c-bb22", "rt-2")), gardenNamespace, listing(provisioned("rt-1"), trial), nil)

	refused := map[string]struct{ request, named string }{
		"an empty entry":                 {`{"targets":{"include":[{}]}}`, "targets.include[0]"},
		"an entry with a misspelt field": {`{"targets":{"include":[{"runtime":"rt-1"}]}}`, "targets.include[0]"},
		"an empty list":                  {`{"targets":{"include":[]}}`, "targets.include"},
		"a list that is null":            {`{"targets":{"include":null}}`, "targets.include"},
		"no targets at all":              {`{}`, "targets.include"},
		"an empty entry beside a good one": {
			`{"targets":{"include":[{"runtimeID":"rt-1"},{}]}}`, "targets.include[1]"},
		"an empty entry to exclude": {
			`{"targets":{"include":[{"target":"all"}],"exclude":[{}]}}`, "targets.exclude[0]"},
		"an unknown word":        {`{"targets":{"include":[{"target":"everything"}]}}`, `targets.include[0].target: "everything"`},
		"all in other letters":   {`{"targets":{"include":[{"target":"ALL"}]}}`, `targets.include[0].target: "ALL"`},
		"a value of white space": {`{"targets":{"include":[{"shoot":" \t"}]}}`, `targets.include[0].shoot: " \t"`},
		"a pattern cut in the middle": {
			`{"targets":{"include":[{"target":"all"},{"region":"eu-("}]}}`, `targets.include[1].region: "eu-("`},
		"a pattern of another dialect": {
			`{"targets":{"include":[{"target":"all"}],"exclude":[{"globalAccount":"ga-(?!blue)"}]}}`, `targets.exclude[0].globalAccount: "ga-(?!blue)"`},
	}
	for name, test := range refused {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parameters orchestration.Parameters
			require.NoError(t, json.Unmarshal([]byte(test.request), &parameters))

			runtimes, err := resolver.Resolve(parameters.Targets)
			require.Empty(t, runtimes)
			require.ErrorContains(t, err, test.named)
			var faults *orchestration.TargetsError
			require.ErrorAs(t, err, &faults)
			require.ErrorContains(t, parameters.Targets.Validate(), test.named)
		})
	}

	t.Run("the fields of an entry are joined by and", func(t *testing.T) {
		t.Parallel()
		for _, target := range []orchestration.RuntimeTarget{
			{RuntimeID: "rt-1", PlanName: "trial"},
			{Target: "all", RuntimeID: "rt-1", PlanName: "trial"},
			{Target: "all", Shoot: "c-aa11", InstanceID: "instance-rt-2"},
		} {
			runtimes, err := resolver.Resolve(including(target))
			require.NoError(t, err)
			require.Empty(t, runtimes)
		}
		runtimes, err := resolver.Resolve(including(orchestration.RuntimeTarget{Target: "all", PlanName: "trial"}))
		require.NoError(t, err)
		require.Equal(t, []string{"rt-2"}, runtimeIDs(runtimes))
	})
}
