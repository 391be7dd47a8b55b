package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// hold stops the first call that a condition holds for.
type hold struct {
	holds   func(call executortest.Call) bool
	once    atomic.Bool
	entered chan struct{}
	release chan struct{}
}

func newHold(holds func(call executortest.Call) bool) *hold {
	return &hold{holds: holds, entered: make(chan struct{}), release: make(chan struct{})}
}

func (h *hold) before(_ context.Context, call executortest.Call) error {
	if h.holds(call) && h.once.CompareAndSwap(false, true) {
		close(h.entered)
		<-h.release
	}
	return nil
}

// A process that stops between the answer of the backend and the record of it is replaced; its successor finds the upgrade, and what the
// first one writes when it wakes up changes nothing.
func TestAZombieThatHasStartedIsFenced(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1)
			entered, release := make(chan struct{}), make(chan struct{})
			var first atomic.Bool
			s.fake.Checks = 3
			s.fake.AfterStart = func(context.Context, fleet.Task) error {
				if first.CompareAndSwap(false, true) {
					close(entered)
					<-release
				}
				return nil
			}
			zombie := s.start(t, shortLived)
			id := zombie.create(t, request(1, orchestration.Immediate))
			<-entered
			thaw := zombie.freeze(t)
			s.start(t, shortLived)
			s.waitFor(t, id, inState(fleet.Succeeded))
			before := s.operations(t, id)["rt-0"]
			require.Equal(t, once(1), s.starts())
			require.GreaterOrEqual(t, before.Attempt, 2)

			close(release)
			thaw()
			zombie.end(t)
			require.Equal(t, before, s.operations(t, id)["rt-0"])
			require.Equal(t, once(1), s.starts())
			o, err := s.store.Orchestration(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, fleet.Counts{Succeeded: 1}, o.Counts)
		})
	}
}

// A process that stops just before it would ask the backend is replaced; when it wakes up it asks for nothing.
func TestAZombieThatWasAboutToStartSendsNothing(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1)
			h := newHold(func(call executortest.Call) bool { return call.Method == executortest.Start })
			s.fake.Before = h.before
			zombie := s.start(t, shortLived)
			id := zombie.create(t, request(1, orchestration.Immediate))
			<-h.entered
			thaw := zombie.freeze(t)
			s.start(t, shortLived)
			s.waitFor(t, id, inState(fleet.Succeeded))

			close(h.release)
			thaw()
			zombie.end(t)
			require.Equal(t, once(1), s.starts())
			require.Equal(t, fleet.Succeeded, s.operations(t, id)["rt-0"].State)
		})
	}
}

// A process that has the store to itself takes up at its start what an earlier one was doing, without waiting for a lease.
func TestAnExclusiveProcessResumesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, 4)
	h := newHold(func(call executortest.Call) bool {
		return call.Method == executortest.Start && call.Task.RuntimeID == "rt-2"
	})
	s.fake.Before = h.before
	long := func(o *engine.Options) { o.Limits.LeaseFor, o.Exclusive = time.Hour, true }
	killed := s.start(t, long)
	id := killed.create(t, request(4, orchestration.Immediate))
	<-h.entered
	thaw := killed.freeze(t)
	s.start(t, long)
	s.waitFor(t, id, inState(fleet.Succeeded))
	require.Equal(t, once(4), s.starts())
	close(h.release)
	thaw()
	killed.end(t)
	require.Equal(t, once(4), s.starts())
}

// The same holds for the resolution of targets.
func TestAnExclusiveProcessResolvesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	entered, release := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	s.targets.resolve = func(context.Context) error {
		if first.CompareAndSwap(false, true) {
			close(entered)
			<-release
		}
		return nil
	}
	long := func(o *engine.Options) { o.Limits.LeaseFor, o.Exclusive = time.Hour, true }
	killed := s.start(t, long)
	id := killed.create(t, request(2, orchestration.Immediate))
	<-entered
	thaw := killed.freeze(t)
	s.start(t, long)
	s.waitFor(t, id, inState(fleet.Succeeded))
	close(release)
	thaw()
	killed.end(t)
	require.Equal(t, once(2), s.starts())
	require.Len(t, s.operations(t, id), 2)
}

// A step that is cut off by a stop is handed back: another process goes on at once, long before the lease would have run out.
func TestAStopHandsBack(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1)
			entered := make(chan struct{})
			var first atomic.Bool
			s.fake.Before = func(ctx context.Context, call executortest.Call) error {
				if call.Method == executortest.Observe && first.CompareAndSwap(false, true) {
					close(entered)
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}
			long := func(o *engine.Options) { o.Limits.LeaseFor = time.Hour }
			stopped := s.start(t, long)
			id := stopped.create(t, request(1, orchestration.Immediate))
			<-entered
			now, cancel := context.WithCancel(t.Context())
			cancel()
			require.NoError(t, stopped.jobs.Stop(now))
			require.NoError(t, stopped.Stop(t.Context()))
			require.Equal(t, fleet.InProgress, s.operations(t, id)["rt-0"].State)

			s.start(t, long)
			s.waitFor(t, id, inState(fleet.Succeeded))
			require.Equal(t, once(1), s.starts())
		})
	}
}

// A stop with time enough waits for running steps and starts no other.
func TestAStopWaitsForRunningSteps(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	h := newHold(func(call executortest.Call) bool { return call.Method == executortest.Start })
	s.fake.Before = h.before
	p := s.start(t)
	id := p.create(t, request(1, orchestration.Immediate))
	<-h.entered
	stopped := make(chan error)
	go func() { stopped <- p.Stop(t.Context()) }()
	require.Never(t, func() bool {
		select {
		case <-stopped:
			return true
		default:
			return false
		}
	}, 200*time.Millisecond, 20*time.Millisecond)
	close(h.release)
	require.NoError(t, <-stopped)
	require.Len(t, s.fake.Accepted(), 1)
	o, err := s.store.Orchestration(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, fleet.Counts{Pending: 2, Succeeded: 1}, o.Counts)
}

// Processes die at random moments in the middle of their steps, again and again. Nothing is lost, nothing is started twice, and there are never
// more runtimes in flight than workers.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 60)
			const kills = 6
			var mu sync.Mutex
			var release []chan struct{}
			calls := 0
			hung := make(chan struct{}, 1000)
			dying := atomic.Bool{}
			hang := func() error {
				mu.Lock()
				calls++
				if !dying.Load() || calls%3 != 0 {
					mu.Unlock()
					return nil
				}
				wait := make(chan struct{})
				release = append(release, wait)
				mu.Unlock()
				hung <- struct{}{}
				<-wait
				return errors.New("the process was killed")
			}
			s.fake.Checks = 2
			s.fake.Before = func(context.Context, executortest.Call) error { return hang() }
			s.fake.AfterStart = func(context.Context, fleet.Task) error { return hang() }

			var id string
			var thaws []func()
			var dead []*process
			for kill := range kills {
				dying.Store(true)
				p := s.start(t, shortLived)
				if kill == 0 {
					id = p.create(t, request(8, orchestration.Immediate))
				}
				<-hung
				thaws = append(thaws, p.freeze(t))
				dead = append(dead, p)
				dying.Store(false)
			}
			s.start(t, shortLived)
			o := s.waitFor(t, id, inState(fleet.Succeeded))
			require.Equal(t, fleet.Counts{Succeeded: 60}, o.Counts)

			mu.Lock()
			for _, wait := range release {
				close(wait)
			}
			mu.Unlock()
			for i, p := range dead {
				thaws[i]()
				p.end(t)
			}
			require.Equal(t, once(60), s.starts())
			require.LessOrEqual(t, s.fake.Most(id), 8)
			o, err := s.store.Orchestration(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, fleet.Counts{Succeeded: 60}, o.Counts, "the dead change nothing afterwards")
		})
	}
}

// Two processes share one database and its work.
func TestTwoProcessesShareTheWork(t *testing.T) {
	t.Parallel()
	s := newPostgresSite(t, 40)
	s.fake.Checks = 3
	first, second := s.start(t), s.start(t)
	a, b := first.create(t, request(3, orchestration.Immediate)), second.create(t, request(5, orchestration.Immediate))
	s.waitFor(t, a, inState(fleet.Succeeded))
	s.waitFor(t, b, inState(fleet.Succeeded))
	require.LessOrEqual(t, s.fake.Most(a), 3)
	require.LessOrEqual(t, s.fake.Most(b), 5)
	for id, n := range s.starts() {
		require.Equal(t, 2, n, id)
	}
}
