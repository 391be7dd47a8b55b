package gardener

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/gardener/gardener/pkg/client/core/clientset/versioned/fake"
	informers "github.com/gardener/gardener/pkg/client/core/informers/externalversions/core/v1beta1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/orchestration"
)

// informed is an executor with an informer over a fake client.
type informed struct {
	*Executor

	client   *fake.Clientset
	informer cache.SharedIndexInformer
}

func newInformed(t *testing.T, objects ...runtime.Object) *informed {
	t.Helper()
	client := fake.NewSimpleClientset(objects...)
	informer := informers.NewShootInformer(client, testNamespace, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	e, err := New(Options{Client: client.CoreV1beta1(), Namespace: testNamespace, Informer: informer})
	require.NoError(t, err)
	return &informed{Executor: e, client: client, informer: informer}
}

// run runs the informer until the end of the test.
func (i *informed) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { i.informer.RunWithContext(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	require.True(t, cache.WaitForCacheSync(ctx.Done(), i.informer.HasSynced))
}

// gets returns how often Gardener was asked for a Shoot.
func (i *informed) gets() (n int) {
	for _, action := range i.client.Actions() {
		if action.Matches("get", "shoots") {
			n++
		}
	}
	return n
}

// Checks read from the cache; Gardener itself is asked while it is not filled, from time to time, and whenever the cache says something that
// only an old picture could say.
func TestChecksAskTheCache(t *testing.T) {
	t.Parallel()
	shoot := newShoot(kubernetes("1.34.7"), generations(8, 8), reconcile(processingState, now))
	i := newInformed(t, shoot)
	task := newTask("1.34.7", written("1.34.7", 8))
	look := func() fleet.Result {
		got, err := i.Check(t.Context(), task, pass)
		require.NoError(t, err)
		if got.Memo != nil {
			task.Memo = got.Memo
		}
		return got
	}
	require.Equal(t, fleet.Again, look().Outcome)
	require.Equal(t, 1, i.gets(), "the cache is not filled")

	i.run(t)
	for range 3 {
		require.Equal(t, fleet.Again, look().Outcome)
	}
	require.Equal(t, 1, i.gets())
	task.Now = now.Add(119 * time.Second)
	look()
	require.Equal(t, 1, i.gets())
	task.Now = now.Add(120 * time.Second)
	look()
	look()
	require.Equal(t, 2, i.gets())
	task.Now = now.Add(-time.Second)
	look()
	require.Equal(t, 3, i.gets(), "the clock went back")

	stale := func(s *gardencorev1beta1.Shoot) {
		t.Helper()
		require.NoError(t, i.informer.GetStore().Update(s))
		got := look()
		require.Equal(t, fleet.Again, got.Outcome, "%+v", got)
		require.True(t, got.NextObserve)
	}
	stale(newShoot())
	stale(newShoot(annotated(orchestration.RuntimeIDAnnotation, "rt-2")))
	stale(newShoot(func(s *gardencorev1beta1.Shoot) { s.DeletionTimestamp = &metav1.Time{Time: now} }))
	stale(newShoot(kubernetes("1.34.7"), generations(8, 8), reconcile(failedState, now)))
	require.Equal(t, 3, i.gets())

	require.NoError(t, i.informer.GetStore().Delete(shoot))
	require.Equal(t, fleet.Again, look().Outcome)
	require.Equal(t, 4, i.gets(), "not in the cache")
}

// While the API is away, checks go on as long as the cache is recent enough, and are passing faults after that.
func TestChecksWithoutTheAPI(t *testing.T) {
	t.Parallel()
	i := newInformed(t, newShoot(kubernetes("1.34.7"), generations(8, 8), reconcile(processingState, now)))
	i.run(t)
	away := errors.New("connection refused")
	i.client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, away })
	task := newTask("1.34.7", written("1.34.7", 8))
	got, err := i.Check(t.Context(), task, pass)
	require.NoError(t, err)
	require.Equal(t, fleet.Again, got.Outcome)
	task.Now = now.Add(3 * time.Minute)
	_, err = i.Check(t.Context(), task, pass)
	require.ErrorIs(t, err, away)
}

// What the executor can do something with wakes its operations, and nothing else does.
func TestWatch(t *testing.T) {
	t.Parallel()
	i := newInformed(t, newShoot(), newShoot(func(s *gardencorev1beta1.Shoot) { s.Name = "c-other" }))
	i.run(t)
	woken := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- i.Watch(ctx, func(name string) { woken <- name }) }()
	shoots := i.client.CoreV1beta1().Shoots(testNamespace)
	shoot := newShoot()
	version := 100
	update := func(change func(*gardencorev1beta1.Shoot)) {
		t.Helper()
		version++
		change(shoot)
		_, err := shoots.Update(t.Context(), shoot, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	// The handler is registered some time after Watch was called.
	await.That(t, "the watch", func() error {
		update(func(s *gardencorev1beta1.Shoot) { s.Generation++ })
		select {
		case <-woken:
			return nil
		case <-time.After(50 * time.Millisecond):
			return errors.New("not woken")
		}
	})
	update(func(s *gardencorev1beta1.Shoot) { s.Generation = 1000 })
	drain(t, woken, i, shoots)

	for name, change := range map[string]func(*gardencorev1beta1.Shoot){
		"generation":          func(s *gardencorev1beta1.Shoot) { s.Generation++ },
		"observed generation": func(s *gardencorev1beta1.Shoot) { s.Status.ObservedGeneration++ },
		"version":             kubernetes("1.34.7"),
		"state":               reconcile(processingState, now),
		"type":                status(gardencorev1beta1.LastOperationTypeCreate, processingState, now),
		"progress":            func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation.Progress = 77 },
		"no operation":        func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation = nil },
		"annotation":          annotated(constants.GardenerOperation, "retry"),
		"ignored":             annotated(constants.ShootIgnore, "true"),
		"runtime":             annotated(orchestration.RuntimeIDAnnotation, "rt-9"),
		"deletion":            func(s *gardencorev1beta1.Shoot) { s.DeletionTimestamp = &metav1.Time{Time: now} },
	} {
		was, is := newShoot(), newShoot(change)
		if name == "type" {
			was = newShoot(reconcile(processingState, now))
		}
		require.True(t, matters(was, is), name)
		require.True(t, matters(is, was), name)
	}
	for name, change := range map[string]func(*gardencorev1beta1.Shoot){
		"nothing":    func(*gardencorev1beta1.Shoot) {},
		"label":      func(s *gardencorev1beta1.Shoot) { s.Labels = map[string]string{"a": "b"} },
		"conditions": func(s *gardencorev1beta1.Shoot) { s.Status.Conditions = []gardencorev1beta1.Condition{{Type: "x"}} },
		"time":       func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation.LastUpdateTime = metav1.NewTime(now) },
	} {
		require.False(t, matters(newShoot(), newShoot(change)), name)
	}

	require.NoError(t, shoots.Delete(t.Context(), "c-other", metav1.DeleteOptions{}))
	require.Equal(t, "c-other", <-woken)
	cancel()
	require.NoError(t, <-done)

	without, err := New(Options{Client: i.client.CoreV1beta1(), Namespace: testNamespace})
	require.NoError(t, err)
	require.NoError(t, without.Watch(ctx, func(string) {}))
}

// drain takes the wakes of the changes so far: that of the last one comes last.
func drain(t *testing.T, woken chan string, i *informed, shoots interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*gardencorev1beta1.Shoot, error)
}) {
	t.Helper()
	last, err := shoots.Get(t.Context(), "c-aa11", metav1.GetOptions{})
	require.NoError(t, err)
	await.That(t, "the last change in the cache", func() error {
		item, _, err := i.informer.GetStore().GetByKey(testNamespace + "/c-aa11")
		if err != nil {
			return err
		}
		if shoot, ok := item.(*gardencorev1beta1.Shoot); !ok || shoot.Generation != last.Generation {
			return errors.New("not yet")
		}
		return nil
	})
	require.Equal(t, "c-aa11", <-woken)
	for len(woken) > 0 {
		<-woken
	}
}
