package provisioner_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/executor/provisioner"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/orchestration"
)

// The simulated Provisioner checks every request against the schema, so this also holds the generated client to it.
func TestKeepsThePromisesOverTheLandscape(t *testing.T) {
	t.Parallel()
	for kind, version := range map[orchestration.Type]string{kyma: "2.21.0", cluster: landscape.Target} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			executortest.Run(t, func(t *testing.T) executortest.Harness {
				t.Helper()
				return simulated(t, kind, version)
			})
		})
	}
}

// simulated is an executor's harness over a Provisioner of the landscape. Nothing ends before the fault plan lets it.
func simulated(t *testing.T, kind orchestration.Type, version string) executortest.Harness {
	t.Helper()
	const hold = "provisioner: {stuck: 1"
	f := landscape.New(t, landscape.Options{Shoots: 6, Version: "1.33.9", ReconcileTime: time.Millisecond, Faults: hold + "}"})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	runtimes := f.Runtimes(t).Data
	var next atomic.Int64
	newTask := func(t testing.TB) fleet.Task {
		t.Helper()
		r := runtimes[next.Add(1)-1]
		return fleet.Task{
			OperationID: "op-" + r.RuntimeID, RuntimeID: r.RuntimeID, GlobalAccountID: r.GlobalAccountID, SubAccountID: r.SubAccountID, Attempt: 1,
			Parameters: orchestration.Parameters{Version: version},
		}
	}
	return executortest.Harness{
		NewExecutor: func(t testing.TB) fleet.Executor {
			t.Helper()
			e, err := provisioner.New(provisioner.Options{URL: f.Provisioner, Client: client, Type: kind})
			require.NoError(t, err)
			return e
		},
		NewTask: newTask,
		Complete: func(t testing.TB, _ fleet.Task) {
			t.Helper()
			f.ClearFaults(t)
		},
		Starts: func(t testing.TB, task fleet.Task) int {
			t.Helper()
			return f.ProvisionerUpgrades(t)[task.RuntimeID]
		},
		Remove: func(t testing.TB, task fleet.Task) {
			t.Helper()
			f.RemoveProvisioned(t, task.RuntimeID)
		},
		SetOutage: func(t testing.TB, on bool) {
			t.Helper()
			if on {
				f.SetFaults(t, hold+", api: [{action: status, code: 502}]}")
				return
			}
			f.SetFaults(t, hold+"}")
		},
		LoseNextAnswer: func(t testing.TB, _ fleet.Task) {
			t.Helper()
			f.SetFaults(t, hold+", api: [{action: lose, resources: [upgradeRuntime, upgradeShoot], times: 1}]}")
		},
		NewRefusedTask: func(t testing.TB) fleet.Task {
			t.Helper()
			task := newTask(t)
			task.GlobalAccountID = "ga-somebody"
			return task
		},
	}
}
