package kyma_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/executor/kyma"
	"github.com/swell-fleet/swell/internal/feed"
	"github.com/swell-fleet/swell/internal/fleet"
)

// patience bounds every wait; it is generous, for busy machines.
const patience = 30 * time.Second

// watched returns an executor over a running informer of the plane.
func watched(t *testing.T, p *plane) (*kyma.Executor, cache.SharedIndexInformer) {
	t.Helper()
	informer, err := kyma.NewInformer(p.client, "", feed.New("the Kymas", slog.New(slog.DiscardHandler), time.Now))
	require.NoError(t, err)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(t.Context())
	}()
	t.Cleanup(func() { <-stopped })
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
	return p.executor(t, func(o *kyma.Options) { o.Informer = informer }), informer
}

// waitFor waits until the cache shows a Kyma as wanted.
func waitFor(t *testing.T, informer cache.SharedIndexInformer, name string, wanted func(u *unstructured.Unstructured) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		item, ok, err := informer.GetStore().GetByKey(namespace + "/" + name)
		if err != nil || !ok {
			return wanted(nil)
		}
		return wanted(item.(*unstructured.Unstructured))
	}, patience, time.Millisecond)
}

func inState(state string) func(u *unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool {
		if u == nil {
			return false
		}
		got, _, _ := unstructured.NestedString(u.Object, "status", "state")
		return got == state
	}
}

// Progress and success come from the cache: the control plane is not asked, and need not even answer.
func TestChecksReadFromTheCache(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	e, informer := watched(t, p)
	task := p.start(t, e, "rt-1")
	p.change(t, "rt-1", func(u *unstructured.Unstructured) { report(u, "Processing", began.Add(time.Second)) })
	waitFor(t, informer, "rt-1", inState("Processing"))
	p.set(func() { p.outage = errors.New("away") })
	r, err := e.Check(t.Context(), task, allowed)
	require.NoError(t, err)
	require.Equal(t, fleet.Again, r.Outcome)
	require.True(t, r.Unasked)
	require.Contains(t, r.Description, "0 of 3 modules are ready")

	p.change(t, "rt-1", func(u *unstructured.Unstructured) { report(u, "Ready", began.Add(time.Minute)) })
	waitFor(t, informer, "rt-1", inState("Ready"))
	r, err = e.Check(t.Context(), task, allowed)
	require.NoError(t, err)
	require.Equal(t, fleet.Done, r.Outcome)
}

// A cache that is behind our own write, or that says something bad, is not believed.
func TestCacheIsNotBelievedBlindly(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	e, informer := watched(t, p)
	task := p.start(t, e, "rt-1")
	waitFor(t, informer, "rt-1", func(u *unstructured.Unstructured) bool { return u != nil && u.GetGeneration() == 2 })

	stale := task
	stale.Memo = []byte(`{"generation":3}`)
	r, err := e.Check(t.Context(), stale, allowed)
	require.NoError(t, err)
	require.Equal(t, fleet.Again, r.Outcome)
	require.True(t, r.Unasked)

	p.change(t, "rt-1", func(u *unstructured.Unstructured) { report(u, "Deleting", began) })
	waitFor(t, informer, "rt-1", inState("Deleting"))
	p.set(func() { p.outage = errors.New("away") })
	_, err = e.Check(t.Context(), task, allowed)
	require.Error(t, err, "the end of an operation has to be asked for")
	p.set(func() { p.outage = nil })
	r, err = e.Check(t.Context(), task, allowed)
	require.NoError(t, err)
	require.Equal(t, fleet.Gone, r.Outcome)
	require.False(t, r.Unasked)
}

// A cache that has lost its source shows an old picture, for ever perhaps: the control plane is asked instead.
func TestCacheThatDoesNotFollowIsNotBelieved(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	watched, informer := watched(t, p)
	task := p.start(t, watched, "rt-1")
	waitFor(t, informer, "rt-1", func(u *unstructured.Unstructured) bool { return u != nil && u.GetGeneration() == 2 })
	following := true
	e := p.executor(t, func(o *kyma.Options) { o.Informer, o.Following = informer, func() bool { return following } })
	r, err := e.Check(t.Context(), task, allowed)
	require.NoError(t, err)
	require.True(t, r.Unasked)
	following = false
	r, err = e.Check(t.Context(), task, allowed)
	require.NoError(t, err)
	require.Equal(t, fleet.Again, r.Outcome)
	require.False(t, r.Unasked)
}

// Several Kymas of one runtime are noticed although one of them has its name.
func TestCacheFindsDoubles(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	e, informer := watched(t, p)
	task := p.task(t, "rt-1")
	p.add(t, "other")
	p.change(t, "other", func(u *unstructured.Unstructured) { set(u, "rt-1", "metadata", "labels", kyma.RuntimeIDLabel) })
	waitFor(t, informer, "other", func(u *unstructured.Unstructured) bool {
		return u != nil && u.GetLabels()[kyma.RuntimeIDLabel] == "rt-1"
	})
	waitFor(t, informer, "rt-1", func(u *unstructured.Unstructured) bool { return u != nil })
	r, err := e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.Refused, r.Outcome)
	require.Contains(t, r.Reason, "other, rt-1")
}

// Changes that matter wake, by the runtime's ID; a new time alone does not.
func TestChangesWakeOperations(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	e, informer := watched(t, p)
	p.task(t, "rt-1")
	waitFor(t, informer, "rt-1", func(u *unstructured.Unstructured) bool { return u != nil })
	woken := make(chan string, 4096)
	ended := make(chan error, 1)
	go func() { ended <- e.WatchRuntimes(t.Context(), func(id string) { woken <- id }) }()
	t.Cleanup(func() { require.NoError(t, <-ended) })

	// Wakes come in the order of the changes, so what the marker wakes comes after all that was before.
	marks := 0
	mark := func() string {
		marks++
		name := fmt.Sprintf("marker-%d", marks)
		p.add(t, name)
		p.change(t, name, func(u *unstructured.Unstructured) { report(u, "Error", began) })
		return name
	}
	before := func() (ids []string) {
		marker := mark()
		for id := range woken {
			if id == marker {
				return ids
			}
			ids = append(ids, id)
		}
		return nil
	}
	// Until the handler is there, nothing wakes.
	require.Eventually(t, func() bool {
		mark()
		select {
		case <-woken:
			return true
		case <-time.After(10 * time.Millisecond):
			return false
		}
	}, patience, time.Millisecond)

	p.change(t, "rt-1", func(u *unstructured.Unstructured) { report(u, "Processing", began) })
	require.Contains(t, before(), "rt-1")
	p.change(t, "rt-1", func(u *unstructured.Unstructured) { finish(u, began) })
	require.Contains(t, before(), "rt-1")
	p.change(t, "rt-1", func(u *unstructured.Unstructured) { finish(u, began.Add(time.Hour)) })
	require.NotContains(t, before(), "rt-1", "only the time of the last look has changed")
	p.remove(t, "rt-1")
	require.Contains(t, before(), "rt-1")
}

func TestWithoutAnInformerNothingWakes(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	e := p.executor(t)
	ended := make(chan error, 1)
	go func() { ended <- e.WatchRuntimes(t.Context(), func(string) {}) }()
	t.Cleanup(func() { require.NoError(t, <-ended) })
	task := p.start(t, e, "rt-1")
	r, err := e.Check(t.Context(), task, allowed)
	require.NoError(t, err)
	require.False(t, r.Unasked)
}
