package executortest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Run checks the promises of an executor. newHarness is called once for each subtest; the harnesses must not share anything.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	t.Helper()
	tests := []struct {
		name string
		run  func(t *testing.T, h Harness)
	}{
		{"upgrades once and ends", testUpgrades},
		{"observing changes nothing", testObserveOnly},
		{"asks the guard before it writes and returns its error", testGuard},
		{"a restart between call and record does not start twice", testRestartAfterStart},
		{"a dry run changes nothing", testDryRun},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, newHarness(t))
		})
	}
	optional := []struct {
		name string
		has  func(h Harness) bool
		run  func(t *testing.T, h Harness)
	}{
		{"a failure of the backend is refused with a reason", func(h Harness) bool { return h.Break != nil }, testBreak},
		{"a runtime that went away is gone", func(h Harness) bool { return h.Remove != nil }, testRemove},
		{"an outage is a passing fault", func(h Harness) bool { return h.SetOutage != nil }, testOutage},
		{"a lost answer does not start twice", func(h Harness) bool { return h.LoseNextAnswer != nil }, testLostAnswer},
		{"a conflict is observed again", func(h Harness) bool { return h.ConflictNextWrite != nil }, testConflict},
		{"what cannot be upgraded is refused before anything is sent", func(h Harness) bool { return h.NewRefusedTask != nil }, testRefused},
		{"nothing is sent to a runtime that has what is wanted", func(h Harness) bool { return h.NewFinishedTask != nil }, testFinished},
	}
	probe := newHarness(t)
	for _, test := range optional {
		if !test.has(probe) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, newHarness(t))
		})
	}
}

func testUpgrades(t *testing.T, h Harness) {
	d := newDriver(t, h, h.NewTask(t))
	d.untilStarted(t.Context(), t, h)
	require.True(t, d.task.Sent, "the executor did not say that it sent something")
	result, err := d.step(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Again, result.Outcome, "ended before the backend had completed the upgrade: %+v", result)

	h.Complete(t, d.task)
	result, err = d.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Done, result.Outcome, "%+v", result)
	require.Equal(t, 1, h.Starts(t, d.task))
	require.Positive(t, d.guarded, "the guard was not asked")

	d.restart(t, h)
	result, err = d.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Done, result.Outcome, "a repeated look at a finished upgrade: %+v", result)
	require.Equal(t, 1, h.Starts(t, d.task))
}

func testObserveOnly(t *testing.T, h Harness) {
	task := h.NewTask(t)
	for range 3 {
		result, err := h.NewExecutor(t).Observe(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, fleet.NeedsStart, result.Outcome, "%+v", result)
	}
	require.Zero(t, h.Starts(t, task))
}

func testGuard(t *testing.T, h Harness) {
	for _, refusal := range []error{fleet.ErrFenced, fleet.ErrCanceled, fleet.ErrWindowClosed, errors.New("the store does not answer")} {
		d := newDriver(t, h, h.NewTask(t))
		d.guard = func(context.Context) error { return refusal }
		_, err := d.toEnd(t.Context())
		require.Equal(t, refusal, err, "the guard's error has to come back as it is")
		require.Zero(t, h.Starts(t, d.task), "the backend was asked although the guard refused")
	}
}

func testRestartAfterStart(t *testing.T, h Harness) {
	d := newDriver(t, h, h.NewTask(t))
	before := d.task
	d.untilStarted(t.Context(), t, h)

	d.task = before // nothing of what the steps told was stored
	d.restart(t, h)
	for range 3 {
		result, err := d.step(t.Context())
		require.NoError(t, err)
		require.Equal(t, fleet.Again, result.Outcome, "%+v", result)
	}
	h.Complete(t, d.task)
	result, err := d.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Done, result.Outcome, "%+v", result)
	require.Equal(t, 1, h.Starts(t, d.task))
}

func testDryRun(t *testing.T, h Harness) {
	task := h.NewTask(t)
	task.DryRun = true
	d := newDriver(t, h, task)
	result, err := d.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Done, result.Outcome, "%+v", result)
	require.Zero(t, h.Starts(t, task))

	task.DryRun = false
	result, err = h.NewExecutor(t).Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.NeedsStart, result.Outcome, "the dry run left something behind: %+v", result)
}
