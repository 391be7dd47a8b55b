package executortest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
)

// maxSteps ends a drive that does not come to an end by itself.
const maxSteps = 50

// errEndless is what a drive returns that did not end.
var errEndless = errors.New("the operation did not end")

// driver carries a task out with the calls of the engine, in its order.
type driver struct {
	executor fleet.Executor
	task     fleet.Task
	guard    fleet.Guard
	// following is true when the next step checks.
	following bool
	// guarded counts the calls of the guard.
	guarded int
}

func newDriver(t testing.TB, h Harness, task fleet.Task) *driver {
	t.Helper()
	return &driver{executor: h.NewExecutor(t), task: task, guard: func(context.Context) error { return nil }}
}

// restart forgets what the process knew and keeps what was stored.
func (d *driver) restart(t testing.TB, h Harness) {
	t.Helper()
	d.executor, d.following = h.NewExecutor(t), false
	d.task.Attempt++
}

// step makes one step and stores its result in the task.
func (d *driver) step(ctx context.Context) (fleet.Result, error) {
	guard := func(ctx context.Context) error {
		d.guarded++
		return d.guard(ctx)
	}
	result, err := fleet.Result{}, error(nil)
	if d.following {
		result, err = d.executor.Check(ctx, d.task, guard)
	} else {
		result, err = d.executor.Observe(ctx, d.task)
		if err == nil && result.Outcome == fleet.NeedsStart {
			d.store(result)
			result, err = d.executor.Start(ctx, d.task, guard)
			d.following = false
		}
	}
	if err != nil {
		return fleet.Result{}, err
	}
	d.store(result)
	d.following = result.Outcome == fleet.Again && !result.NextObserve
	return result, nil
}

// store does with a result what the engine does with it.
func (d *driver) store(r fleet.Result) {
	if r.Memo != nil {
		d.task.Memo = r.Memo
	}
	if r.Version != "" {
		d.task.Version = r.Version
	}
	d.task.Sent = d.task.Sent || r.Sent
}

// toEnd steps until the operation ends.
func (d *driver) toEnd(ctx context.Context) (fleet.Result, error) {
	for range maxSteps {
		result, err := d.step(ctx)
		if err != nil || result.Outcome != fleet.Again {
			return result, err
		}
	}
	return fleet.Result{}, errEndless
}

// untilStarted steps until the backend has accepted the upgrade.
func (d *driver) untilStarted(ctx context.Context, t testing.TB, h Harness) {
	t.Helper()
	for range maxSteps {
		if h.Starts(t, d.task) > 0 {
			return
		}
		result, err := d.step(ctx)
		require.NoError(t, err)
		require.Equal(t, fleet.Again, result.Outcome, "ended before anything was started: %+v", result)
	}
	require.FailNow(t, "the backend was never asked to upgrade")
}
