package kyma_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/executor/kyma"
	"github.com/swell-fleet/swell/internal/feed"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/orchestration"
)

// door returns a client that comes to the Kymas of a fleet through its door.
func door(t testing.TB, f *landscape.Fleet) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", f.KymaKubeconfig)
	require.NoError(t, err)
	config.QPS = -1 // no limit
	connections, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(connections.Transport) })
	client, err := dynamic.NewForConfigAndClient(config, connections)
	require.NoError(t, err)
	return client
}

// real is an executor's harness over Kymas behind a real API server. Nothing moves before the fault plan lets it.
func real(t *testing.T) executortest.Harness {
	t.Helper()
	const hold, outage = "kyma: {stuck: 1}", "api: [{action: status, code: 503, resources: [kymas]}]"
	f := landscape.New(t, landscape.Options{Shoots: 6, Kymas: true, ReconcileTime: time.Millisecond, Faults: hold})
	client := door(t, f)
	runtimes := f.Runtimes(t).Data
	var next atomic.Int64
	newTask := func(t testing.TB) fleet.Task {
		t.Helper()
		r := runtimes[next.Add(1)-1]
		return fleet.Task{
			OperationID: "op-" + r.RuntimeID, RuntimeID: r.RuntimeID, ShootName: r.ShootName, Attempt: 1, StartedAt: time.Now(), Now: time.Now(),
			Parameters: orchestration.Parameters{Version: "fast"},
		}
	}
	until := func(t testing.TB, task fleet.Task, state string) {
		t.Helper()
		require.Eventually(t, func() bool {
			k, ok := f.Kyma(t, task.RuntimeID)
			return ok && k.State == state
		}, patience, 5*time.Millisecond)
	}
	return executortest.Harness{
		NewExecutor: func(t testing.TB) fleet.Executor {
			t.Helper()
			e, err := kyma.New(kyma.Options{Client: client, Namespace: f.Namespace, Patience: -1})
			require.NoError(t, err)
			return e
		},
		NewTask: newTask,
		Complete: func(t testing.TB, task fleet.Task) {
			t.Helper()
			f.ClearFaults(t)
			until(t, task, "Ready")
		},
		Starts: func(t testing.TB, task fleet.Task) int {
			t.Helper()
			if k, ok := f.Kyma(t, task.RuntimeID); ok {
				return int(k.Generation - 1)
			}
			return 0
		},
		Break: func(t testing.TB, task fleet.Task) {
			t.Helper()
			f.SetFaults(t, "kyma: {fail: 1}")
			until(t, task, "Error")
		},
		Remove: func(t testing.TB, task fleet.Task) {
			t.Helper()
			f.RemoveKyma(t, task.RuntimeID)
		},
		SetOutage: func(t testing.TB, on bool) {
			t.Helper()
			if on {
				f.SetFaults(t, hold+"\n"+outage)
				return
			}
			f.SetFaults(t, hold)
		},
		LoseNextAnswer: func(t testing.TB, _ fleet.Task) {
			t.Helper()
			f.SetFaults(t, hold+"\napi: [{action: lose, resources: [kymas], verbs: [patch], times: 1}]")
		},
		NewFinishedTask: func(t testing.TB) fleet.Task {
			t.Helper()
			task := newTask(t)
			task.Parameters.Version = "regular"
			return task
		},
	}
}

func TestKeepsThePromisesOverARealAPIServer(t *testing.T) {
	t.Parallel()
	executortest.Run(t, real)
}

// Someone else's write between our look and our patch is refused by the API server, whatever it changed, and leads back to looking.
func TestRealConflict(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 1, Kymas: true, ReconcileTime: time.Millisecond})
	client := door(t, f)
	e, err := kyma.New(kyma.Options{Client: client, Namespace: f.Namespace})
	require.NoError(t, err)
	r := f.Runtimes(t).Data[0]
	task := fleet.Task{RuntimeID: r.RuntimeID, Now: time.Now(), Parameters: orchestration.Parameters{Version: "fast"}}
	got, err := e.Start(t.Context(), task, func(ctx context.Context) error {
		_, err := client.Resource(kyma.Resource).Namespace(f.Namespace).Patch(ctx, r.RuntimeID, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"touched":"true"}}}`), metav1.PatchOptions{})
		return err
	})
	require.NoError(t, err)
	require.Equal(t, fleet.Again, got.Outcome)
	require.True(t, got.NextObserve)
	require.False(t, got.Sent)
}

// The API server judges a dry run by its definition of Kymas: a channel that the configuration allows and the definition does not is refused.
func TestRealDryRun(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 1, Kymas: true, ReconcileTime: time.Millisecond})
	e, err := kyma.New(kyma.Options{Client: door(t, f), Namespace: f.Namespace})
	require.NoError(t, err)
	task := fleet.Task{RuntimeID: f.Runtimes(t).Data[0].RuntimeID, DryRun: true, Now: time.Now(), Parameters: orchestration.Parameters{Version: "fast"}}
	got, err := e.Start(t.Context(), task, allowed)
	require.NoError(t, err)
	require.Equal(t, fleet.Done, got.Outcome)
	require.Contains(t, got.Description, "accepts the channel fast instead of regular")
	k, _ := f.Kyma(t, task.RuntimeID)
	require.Equal(t, "regular", k.Channel)
	require.EqualValues(t, 1, k.Generation)
}

// A whole fleet moves, woken by the watch alone, through an outage of all watches.
func TestFleetIsWokenByTheWatch(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{
		Shoots: 20, Kymas: true, ReconcileTime: 50 * time.Millisecond,
		Faults: "kyma: {error: 0.3}\napi: [{action: closeWatches, every: 100ms}]",
	})
	client := door(t, f)
	informer, err := kyma.NewInformer(client, f.Namespace, feed.New("the Kymas", slog.New(slog.DiscardHandler), time.Now))
	require.NoError(t, err)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(t.Context())
	}()
	t.Cleanup(func() { <-stopped })
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
	e, err := kyma.New(kyma.Options{Client: client, Namespace: f.Namespace, Informer: informer})
	require.NoError(t, err)
	woken, ended := make(chan string, 4096), make(chan error, 1)
	go func() { ended <- e.WatchRuntimes(t.Context(), func(id string) { woken <- id }) }()
	t.Cleanup(func() { require.NoError(t, <-ended) })

	tasks := map[string]fleet.Task{}
	for _, r := range f.Runtimes(t).Data {
		task := fleet.Task{RuntimeID: r.RuntimeID, Now: time.Now(), Parameters: orchestration.Parameters{Version: "fast"}}
		got, err := e.Start(t.Context(), task, allowed)
		require.NoError(t, err)
		require.Equal(t, fleet.Again, got.Outcome, "%+v", got)
		keep(&task, got)
		tasks[r.RuntimeID] = task
	}
	require.NotEmpty(t, tasks)
	for len(tasks) > 0 {
		select {
		case id := <-woken:
			task, ok := tasks[id]
			if !ok {
				continue
			}
			task.Now = time.Now()
			got, err := e.Check(t.Context(), task, allowed)
			require.NoError(t, err)
			require.Contains(t, []fleet.Outcome{fleet.Again, fleet.Done}, got.Outcome, "%+v", got)
			if keep(&task, got); got.Outcome == fleet.Done {
				delete(tasks, id)
			} else {
				tasks[id] = task
			}
		case <-time.After(patience):
			require.FailNow(t, "nothing wakes the others", "%d are left", len(tasks))
		}
	}
	for _, k := range f.Kymas(t) {
		require.Equal(t, "fast", k.ActiveChannel)
		require.EqualValues(t, 2, k.Generation, "written once")
	}
}
