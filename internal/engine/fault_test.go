package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

func TestAPanicFailsTheOperationAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	s.fake.Before = func(_ context.Context, call executortest.Call) error {
		if call.Task.RuntimeID == "rt-1" {
			panic("index out of range")
		}
		return nil
	}
	p := s.start(t)
	id := p.create(t, request(1, orchestration.Immediate))
	o := s.waitFor(t, id, inState(fleet.Failed))
	require.Equal(t, fleet.Counts{Succeeded: 2, Failed: 1}, o.Counts)
	require.Equal(t, "the executor panicked: index out of range", s.operations(t, id)["rt-1"].Reason)
}

// While the backend does not answer, operations say what they wait for, no further one starts, and all goes on by itself afterwards.
func TestAnOutageOfTheBackend(t *testing.T) {
	t.Parallel()
	s := newSite(t, 8)
	var down atomic.Bool
	down.Store(true)
	s.fake.Before = func(context.Context, executortest.Call) error {
		if down.Load() {
			return errors.New("connection\trefused")
		}
		return nil
	}
	registry := prometheus.NewRegistry()
	p := s.start(t, func(o *engine.Options) { o.Metrics = registry })
	id := p.create(t, request(2, orchestration.Immediate))
	require.Eventually(t, func() bool { return p.BackendDown(clusterType) }, patience, 10*time.Millisecond)
	op := s.waitForOperation(t, id, "rt-0", func(op fleet.Operation) bool { return op.Failures > 2 })
	require.Equal(t, "waiting for gardener: connection refused", op.Description)
	require.Equal(t, fleet.InProgress, op.State)

	second := p.create(t, request(8, orchestration.Immediate))
	s.waitFor(t, second, func(o fleet.Orchestration) bool { return o.State == fleet.InProgress })
	require.Never(t, func() bool {
		o, err := s.store.Orchestration(t.Context(), second)
		return err != nil || o.Counts.InProgress > 1
	}, 500*time.Millisecond, 20*time.Millisecond, "while the backend is down at most one operation tries it")

	down.Store(false)
	s.waitFor(t, id, inState(fleet.Succeeded))
	s.waitFor(t, second, inState(fleet.Succeeded))
	require.False(t, p.BackendDown(clusterType))
	value := func(name string) float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		sum := 0.0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == name {
					sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
		return sum
	}
	// What is stored is counted right afterwards.
	require.Eventually(t, func() bool { return value("swell_engine_operations_finished_total") >= 16 }, patience, 10*time.Millisecond)
	require.InDelta(t, 16, value("swell_engine_operations_finished_total"), 0)
	require.InDelta(t, 0, value("swell_engine_backend_down"), 0)
}

// A right that goes away on the way fails nothing: operations wait, also longer than their time limit and although everything can still be read, and go on
// by themselves.
func TestARightThatIsMissingForAWhile(t *testing.T) {
	t.Parallel()
	s := newSite(t, 8)
	var denied atomic.Bool
	s.fake.Checks = 1 << 30
	s.fake.After = 10 * time.Millisecond
	s.fake.Deny = func(task fleet.Task) error {
		if denied.Load() {
			return fmt.Errorf("write the Shoot: %w: a right is missing: cannot patch %s", fleet.ErrNoAccess, task.ShootName)
		}
		return nil
	}
	p := s.start(t)
	id := p.create(t, request(3, orchestration.Immediate))
	s.waitFor(t, id, func(fleet.Orchestration) bool { return len(s.starts()) == 3 })
	require.NoError(t, p.BackendHealth(clusterType))

	denied.Store(true)
	s.fake.Complete("rt-0")
	s.fake.Complete("rt-1")
	require.Eventually(t, func() bool { return p.BackendDown(clusterType) }, patience, 10*time.Millisecond)
	op := s.waitForOperation(t, id, "rt-3", func(op fleet.Operation) bool { return op.Failures > 2 })
	require.Equal(t, "waiting for gardener: write the Shoot: access is refused: a right is missing: cannot patch c-3", op.Description)
	require.False(t, op.Sent || op.Uncertain)
	checks := s.checks()
	require.Eventually(t, func() bool { return s.checks() > checks+2 }, patience, 10*time.Millisecond, "what was started is followed")
	health := p.BackendHealth(clusterType)
	require.ErrorIs(t, health, fleet.ErrUnavailable)
	require.ErrorIs(t, health, fleet.ErrNoAccess)
	require.Regexp(t, `^no upgradeCluster starts since \S+Z: gardener refuses access: write`, health.Error())

	s.fake.Complete("rt-2")
	s.waitFor(t, id, func(o fleet.Orchestration) bool { return o.Counts.Succeeded == 3 })
	s.clock.Advance(4 * time.Hour)
	later := s.clock.Now()
	require.Eventually(t, func() bool {
		for _, op := range s.operations(t, id) {
			if op.State == fleet.InProgress && op.TimeLimitFrom.Before(later) {
				return false
			}
		}
		return true
	}, patience, 10*time.Millisecond, "waiting for a right takes nothing of the time that an operation has")

	denied.Store(false)
	o := s.waitFor(t, id, func(o fleet.Orchestration) bool {
		for runtimeID := range s.starts() {
			s.fake.Complete(runtimeID)
		}
		return o.State.Ended()
	})
	require.Equal(t, fleet.Counts{Succeeded: 8}, o.Counts)
	require.Equal(t, once(8), s.starts())
	require.NoError(t, p.BackendHealth(clusterType))
}

// checks counts how often started upgrades were looked at.
func (s *site) checks() int {
	n := 0
	for _, call := range s.fake.Calls() {
		if call.Method == executortest.Check {
			n++
		}
	}
	return n
}

// Whoever cancels while a right is missing need not wait for it.
func TestCancelWhileARightIsMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 4)
	s.fake.Deny = func(fleet.Task) error { return fleet.ErrNoAccess }
	p := s.start(t)
	id := p.create(t, request(2, orchestration.Immediate))
	require.Eventually(t, func() bool { return p.BackendDown(clusterType) }, patience, 10*time.Millisecond)
	_, err := p.CancelOrchestration(t.Context(), someone, id)
	require.NoError(t, err)
	o := s.waitFor(t, id, inState(fleet.Canceled))
	require.Equal(t, fleet.Counts{Canceled: 4}, o.Counts)
	require.Empty(t, s.starts())
}

// An operation that does not come to its end is failed when its time is over, with the last that was known, however often it was updated.
func TestTheTimeLimit(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.fake.Checks = 1 << 30
	s.fake.Before = func(_ context.Context, call executortest.Call) error {
		if call.Task.RuntimeID == "rt-1" {
			return errors.New("connection refused")
		}
		return nil
	}
	p := s.start(t, func(o *engine.Options) { o.Limits.OperationTimeLimit = time.Second })
	id := p.create(t, request(2, orchestration.Immediate))
	s.waitFor(t, id, inState(fleet.Failed))
	ops := s.operations(t, id)
	require.Contains(t, ops["rt-0"].Reason, "not finished within 1s: look ")
	require.Equal(t, "not finished within 1s: connection refused", ops["rt-1"].Reason)
	require.WithinDuration(t, ops["rt-0"].StartedAt.Add(time.Second), ops["rt-0"].FinishedAt, 20*time.Second)
}

// A step that hangs is ended and repeated.
func TestAStepThatHangs(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	var first atomic.Bool
	s.fake.Before = func(ctx context.Context, _ executortest.Call) error {
		if first.CompareAndSwap(false, true) {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	p := s.start(t, func(o *engine.Options) { o.Limits.StepTimeout = time.Second })
	id := p.create(t, request(1, orchestration.Immediate))
	s.waitFor(t, id, inState(fleet.Succeeded))
	require.Equal(t, 1, s.operations(t, id)["rt-0"].Attempt)
}

// A step that never returns does not keep its operation for ever.
func TestAStepThatNeverReturns(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	h := newHold(func(call executortest.Call) bool { return call.Method == executortest.Observe })
	s.fake.Before = h.before
	p := s.start(t, shortLived, func(o *engine.Options) { o.Limits.StepTimeout = time.Second })
	id := p.create(t, request(1, orchestration.Immediate))
	<-h.entered
	s.waitFor(t, id, inState(fleet.Succeeded))
	require.Greater(t, s.operations(t, id)["rt-0"].Attempt, 1)
	require.Equal(t, once(1), s.starts())
	close(h.release)
	p.end(t)
	require.Equal(t, once(1), s.starts())
}

// A resolver that panics ends neither the process nor the orchestration.
func TestAResolverThatPanics(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	var first atomic.Bool
	s.targets.resolve = func(context.Context) error {
		if first.CompareAndSwap(false, true) {
			panic("nil map")
		}
		return nil
	}
	p := s.start(t)
	id := p.create(t, request(1, orchestration.Immediate))
	s.waitFor(t, id, func(o fleet.Orchestration) bool {
		return o.Description == "waiting until the targets can be resolved: resolve targets: the resolver panicked: nil map"
	})
	s.clock.Advance(time.Minute)
	s.waitFor(t, id, inState(fleet.Succeeded))
}

// A step that takes longer than a lease keeps its operation as long as its process lives.
func TestALongStepKeepsItsLease(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	h := newHold(func(call executortest.Call) bool { return call.Method == executortest.Start })
	s.fake.Before = h.before
	p := s.start(t, shortLived)
	id := p.create(t, request(1, orchestration.Immediate))
	<-h.entered
	first := s.operations(t, id)["rt-0"].LeaseUntil
	s.waitForOperation(t, id, "rt-0", func(op fleet.Operation) bool { return op.LeaseUntil.After(first.Add(3 * time.Second)) })
	close(h.release)
	s.waitFor(t, id, inState(fleet.Succeeded))
	require.Equal(t, once(1), s.starts())
}

// A runtime that went away or was suspended since the targets were resolved is not upgraded, and does not fail the orchestration.
func TestRuntimesThatWentAway(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	s.targets.answer.Runtimes = append(s.targets.answer.Runtimes, target(99))
	suspended := document(target(1), "succeeded")
	suspended.Status.Suspension = suspension(suspended)
	s.put(t, suspended)
	p := s.start(t)
	id := p.create(t, request(1, orchestration.Immediate))
	o := s.waitFor(t, id, inState(fleet.Succeeded))
	require.Equal(t, fleet.Counts{Succeeded: 2, Canceled: 2}, o.Counts)
	ops := s.operations(t, id)
	require.Equal(t, "canceled: the runtime is suspended", ops["rt-1"].Description)
	require.Equal(t, "canceled: the runtime is not known any more", ops["rt-99"].Description)
	require.Equal(t, map[string]int{"rt-0": 1, "rt-2": 1}, s.starts())
}

// Targets that cannot be resolved for now are resolved later, by whoever is there; targets that never can be end the orchestration.
func TestTargetsThatCannotBeResolved(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.targets.err = fleet.Invalidf("targets.include[0].region", "is not a pattern")
	p := s.start(t)
	id := p.create(t, request(1, orchestration.Immediate))
	o := s.waitFor(t, id, inState(fleet.Failed))
	require.Contains(t, o.Description, "targets.include[0].region: is not a pattern")

	s.targets.mu.Lock()
	s.targets.err = errors.New("Gardener does not answer")
	s.targets.mu.Unlock()
	id = p.create(t, request(1, orchestration.Immediate))
	s.waitFor(t, id, func(o fleet.Orchestration) bool {
		return o.Description == "waiting until the targets can be resolved: resolve targets: Gardener does not answer"
	})
	s.targets.mu.Lock()
	s.targets.err = nil
	s.targets.mu.Unlock()
	s.clock.Advance(time.Minute)
	s.waitFor(t, id, inState(fleet.Succeeded))
}

// Somebody who resolves targets and stops answering is replaced, and cannot freeze the targets afterwards.
func TestTheResolverIsReplaced(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 3)
			entered, release := make(chan struct{}), make(chan struct{})
			var first atomic.Bool
			s.targets.resolve = func(context.Context) error {
				if first.CompareAndSwap(false, true) {
					close(entered)
					<-release
				}
				return nil
			}
			zombie := s.start(t, shortLived)
			id := zombie.create(t, request(3, orchestration.Immediate))
			<-entered
			thaw := zombie.freeze(t)
			s.start(t, shortLived)
			s.waitFor(t, id, inState(fleet.Succeeded))
			close(release)
			thaw()
			zombie.end(t)
			require.Len(t, s.operations(t, id), 3)
			require.Equal(t, once(3), s.starts())
		})
	}
}

// What an earlier process had stored of the operations before it was killed is removed before the targets are resolved again.
func TestACutShortResolutionLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	s.stored(t, fleet.Orchestration{ID: "o-1", State: fleet.Pending})
	s.update(t, func(ctx context.Context, tx fleet.Tx) error {
		return tx.InsertOperations(ctx, []fleet.Operation{{ID: "left", OrchestrationID: "o-1", Type: clusterType, RuntimeID: "rt-0", State: fleet.Pending}})
	})
	s.start(t)
	o := s.waitFor(t, "o-1", inState(fleet.Succeeded))
	require.Equal(t, fleet.Counts{Succeeded: 3}, o.Counts)
	require.Len(t, s.operations(t, "o-1"), 3)
	require.Equal(t, once(3), s.starts())
}
