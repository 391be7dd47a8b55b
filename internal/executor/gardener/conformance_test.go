package gardener

import (
	"testing"
	"time"

	"github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	gardenclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	"github.com/stretchr/testify/require"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/orchestration"
)

// clientFor returns a client that leads through the fleet's door, as the server makes it.
func clientFor(t testing.TB, f *landscape.Fleet) versioned.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", f.Kubeconfig)
	require.NoError(t, err)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.QPS, config.Burst = 1000, 1000
	config.WarningHandlerWithContext = rest.NoWarnings{}
	connections, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(connections.Transport) })
	client, err := versioned.NewForConfigAndClient(config, connections)
	require.NoError(t, err)
	return client
}

// executorFor returns an executor over the fleet without an informer.
func executorFor(t testing.TB, client gardenclient.CoreV1beta1Interface, f *landscape.Fleet) *Executor {
	t.Helper()
	e, err := New(Options{Client: client, Namespace: f.Namespace})
	require.NoError(t, err)
	return e
}

// taskFor returns the task of an upgrade of a Shoot.
func taskFor(t testing.TB, f *landscape.Fleet, name, version string) fleet.Task {
	t.Helper()
	return fleet.Task{
		OperationID: "op-" + name, OrchestrationID: "o-1", Attempt: 1, RuntimeID: runtimeID(f.Get(t, name)), InstanceID: "i-" + name, ShootName: name,
		Parameters: orchestration.Parameters{Version: version}, StartedAt: time.Now(), Now: time.Now(),
	}
}

// hold makes the simulated gardenlet start on Shoots and never end, until it is told otherwise.
const hold = "gardenlet: {stuck: 1, times: 0}\n"

// What the executor promises, against Gardener's own API server.
func TestConformance(t *testing.T) {
	t.Parallel()
	executortest.Run(t, func(t *testing.T) executortest.Harness {
		t.Helper()
		f := landscape.New(t, landscape.Options{Shoots: 6, Version: "1.34.5", ReconcileTime: 20 * time.Millisecond, Faults: hold})
		client := clientFor(t, f).CoreV1beta1()
		names := f.Names(t)
		next := func() string {
			name := names[0]
			names = names[1:]
			return name
		}
		state := func(t testing.TB, name, want string) {
			t.Helper()
			await.That(t, "state "+want, func() error { return stateIs(t, f, name, want) })
		}
		return executortest.Harness{
			NewExecutor: func(t testing.TB) fleet.Executor {
				t.Helper()
				return executorFor(t, client, f)
			},
			NewTask: func(t testing.TB) fleet.Task {
				t.Helper()
				return taskFor(t, f, next(), landscape.Target)
			},
			Complete: func(t testing.TB, task fleet.Task) {
				t.Helper()
				f.ClearFaults(t)
				state(t, task.ShootName, "Succeeded")
			},
			Starts: func(t testing.TB, task fleet.Task) int {
				t.Helper()
				return f.Upgrades(t)[task.ShootName]
			},
			Break: func(t testing.TB, task fleet.Task) {
				t.Helper()
				f.SetFaults(t, "gardenlet: {fail: 1, times: 0}\n")
				state(t, task.ShootName, "Failed")
			},
			Remove: func(t testing.TB, task fleet.Task) {
				t.Helper()
				f.Remove(t, task.ShootName)
			},
			SetOutage: func(t testing.TB, on bool) {
				t.Helper()
				plan := hold
				if on {
					plan += "api: [{action: refuse}]\n"
				}
				f.SetFaults(t, plan)
			},
			LoseNextAnswer: func(t testing.TB, _ fleet.Task) {
				t.Helper()
				f.SetFaults(t, hold+"api: [{action: lose, verbs: [patch], resources: [shoots], dryRun: false, times: 1}]\n")
			},
			ConflictNextWrite: func(t testing.TB, _ fleet.Task) {
				t.Helper()
				f.SetFaults(t, hold+"api: [{action: status, code: 409, verbs: [patch], resources: [shoots], times: 1}]\n")
			},
			NewRefusedTask: func(t testing.TB) fleet.Task {
				t.Helper()
				return taskFor(t, f, next(), "1.33.11")
			},
			NewFinishedTask: func(t testing.TB) fleet.Task {
				t.Helper()
				return taskFor(t, f, next(), "1.34.5")
			},
		}
	})
}

// stateIs returns an error unless the last operation of a Shoot is in the state and speaks about its generation.
func stateIs(t testing.TB, f *landscape.Fleet, name, want string) error {
	t.Helper()
	for _, shoot := range f.Shoots(t) {
		if shoot.Name == name {
			if shoot.State != want || shoot.ObservedGeneration != shoot.Generation {
				return fmtShoot(shoot)
			}
			return nil
		}
	}
	return errNoShoot
}
