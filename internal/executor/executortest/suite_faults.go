package executortest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
)

func testBreak(t *testing.T, h Harness) {
	d := newDriver(t, h, h.NewTask(t))
	d.untilStarted(t.Context(), t, h)
	h.Break(t, d.task)
	result, err := d.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Refused, result.Outcome, "%+v", result)
	require.NotEmpty(t, result.Reason)
	require.Equal(t, 1, h.Starts(t, d.task))
}

func testRemove(t *testing.T, h Harness) {
	before := newDriver(t, h, h.NewTask(t))
	h.Remove(t, before.task)
	result, err := before.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Gone, result.Outcome, "removed before the start: %+v", result)
	require.NotEmpty(t, result.Reason)

	during := newDriver(t, h, h.NewTask(t))
	during.untilStarted(t.Context(), t, h)
	h.Remove(t, during.task)
	result, err = during.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Gone, result.Outcome, "removed after the start: %+v", result)
	require.NotEmpty(t, result.Reason)
}

func testOutage(t *testing.T, h Harness) {
	d := newDriver(t, h, h.NewTask(t))
	h.SetOutage(t, true)
	for range 3 {
		_, err := d.step(t.Context())
		require.Error(t, err, "an outage has to be an error, so that the step is repeated")
	}
	h.SetOutage(t, false)
	d.untilStarted(t.Context(), t, h)

	h.SetOutage(t, true)
	for range 3 {
		_, err := d.step(t.Context())
		require.Error(t, err, "an outage has to be an error, so that the step is repeated")
	}
	h.SetOutage(t, false)
	h.Complete(t, d.task)
	result, err := d.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Done, result.Outcome, "%+v", result)
	require.Equal(t, 1, h.Starts(t, d.task))
}

func testLostAnswer(t *testing.T, h Harness) {
	d := newDriver(t, h, h.NewTask(t))
	h.LoseNextAnswer(t, d.task)
	for range maxSteps {
		// The executor may tell the lost answer as an error or find out by itself.
		if _, err := d.step(t.Context()); err == nil && h.Starts(t, d.task) > 0 {
			break
		}
	}
	require.Equal(t, 1, h.Starts(t, d.task))
	h.Complete(t, d.task)
	result, err := d.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Done, result.Outcome, "%+v", result)
	require.Equal(t, 1, h.Starts(t, d.task))
}

func testConflict(t *testing.T, h Harness) {
	d := newDriver(t, h, h.NewTask(t))
	h.ConflictNextWrite(t, d.task)
	result, err := d.step(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Again, result.Outcome, "%+v", result)
	require.True(t, result.NextObserve, "after a conflict the runtime has to be looked at again: %+v", result)
	require.Zero(t, h.Starts(t, d.task), "wrote again blindly after a conflict")

	d.untilStarted(t.Context(), t, h)
	h.Complete(t, d.task)
	result, err = d.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Done, result.Outcome, "%+v", result)
	require.Equal(t, 1, h.Starts(t, d.task))
}

func testRefused(t *testing.T, h Harness) {
	d := newDriver(t, h, h.NewRefusedTask(t))
	result, err := d.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Refused, result.Outcome, "%+v", result)
	require.NotEmpty(t, result.Reason)
	require.Zero(t, h.Starts(t, d.task))
	require.False(t, d.task.Sent)
}

func testFinished(t *testing.T, h Harness) {
	d := newDriver(t, h, h.NewFinishedTask(t))
	result, err := d.toEnd(t.Context())
	require.NoError(t, err)
	require.Equal(t, fleet.Done, result.Outcome, "%+v", result)
	require.Zero(t, h.Starts(t, d.task))
}
