package strategies

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/window"
)

// In a bubble the clock starts at 2000-01-01T00:00:00Z, a Saturday.

// A time of day straight from the resolver is resolved to its next window, in its own offset and on the allowed days.
func TestTimesOfDayAreResolved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(string, int) (time.Duration, error) { return 0, nil })
		s := NewParallelOrchestrationStrategy(r, nil)
		began := time.Now()
		operations := operationsNamed("evening", "over midnight", "east", "on Monday")
		for i, clock := range [][2]string{{"200000+0000", "210000+0000"}, {"230000+0000", "010000+0000"}, {"093000+0530", "103000+0530"}, {"120000+0000", "130000+0000"}} {
			operations[i].MaintenanceWindowBegin, operations[i].MaintenanceWindowEnd = clockTime(t, clock[0]), clockTime(t, clock[1])
		}
		operations[3].MaintenanceDays = []string{"monday"}
		id, err := s.Execute(operations, inWindows(4))
		require.NoError(t, err)
		s.Wait(id)
		require.Equal(t, []string{"over midnight", "east", "evening", "on Monday"}, r.order())
		for i, want := range []time.Duration{0, 4 * time.Hour, 20 * time.Hour, 60 * time.Hour} {
			require.Equal(t, want, r.calls[i].begin.Sub(began))
		}
	})
}

// A window that has begun the day before is open; one that closes before a worker is free is followed by the next one.
func TestWindowClosesBeforeAWorkerIsFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(id string, n int) (time.Duration, error) {
			if id == "long" && n == 0 {
				return 3 * time.Hour, nil
			}
			return 0, nil
		})
		s := NewParallelOrchestrationStrategy(r, nil)
		began := time.Now()
		operations := operationsNamed("missed", "long", "still open")
		for i, clock := range [][2]string{{"230000+0000", "020000+0000"}, {"230000+0000", "010000+0000"}, {"000000+0000", "040000+0000"}} {
			operations[i].MaintenanceWindowBegin, operations[i].MaintenanceWindowEnd = clockTime(t, clock[0]), clockTime(t, clock[1])
		}
		id, err := s.Execute(operations, inWindows(1))
		require.NoError(t, err)
		s.Wait(id)
		require.Equal(t, []string{"long", "long", "still open", "missed"}, r.order(), "the one that closes first is first")
		require.Equal(t, 3*time.Hour, r.calls[1].begin.Sub(began), "what was started goes on after its window")
		require.Equal(t, 3*time.Hour, r.calls[2].begin.Sub(began))
		require.Equal(t, 23*time.Hour, r.calls[3].begin.Sub(began))
	})
}

// Nothing starts at the very end of its window.
func TestWindowIsHalfOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(id string, _ int) (time.Duration, error) {
			if id == "first" {
				time.Sleep(time.Hour)
			}
			return 0, nil
		})
		s := NewParallelOrchestrationStrategy(r, nil)
		began := time.Now()
		operations := operationsNamed("first", "second")
		for i := range operations {
			operations[i].MaintenanceWindowBegin, operations[i].MaintenanceWindowEnd = clockTime(t, "000000+0000"), clockTime(t, "010000+0000")
		}
		id, err := s.Execute(operations, inWindows(1))
		require.NoError(t, err)
		s.Wait(id)
		require.Equal(t, 24*time.Hour, r.calls[1].begin.Sub(began))
	})
}

// A window with a date that passed days ago is never taken for an open one.
func TestDatedWindowMovesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(string, int) (time.Duration, error) { return 0, nil })
		s := NewParallelOrchestrationStrategy(r, nil)
		began := time.Now()
		operations := operationsNamed("op-1")
		operations[0].MaintenanceWindowBegin = time.Date(1999, 12, 20, 1, 0, 0, 0, time.UTC)
		operations[0].MaintenanceWindowEnd = time.Date(1999, 12, 20, 3, 0, 0, 0, time.UTC)
		id, err := s.Execute(operations, inWindows(1))
		require.NoError(t, err)
		s.Wait(id)
		require.Equal(t, time.Hour, r.calls[0].begin.Sub(began))
	})
}

func TestWindowWithoutEndStaysOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(string, int) (time.Duration, error) {
			time.Sleep(40 * time.Hour)
			return 0, nil
		})
		s := NewParallelOrchestrationStrategy(r, nil)
		began := time.Now()
		operations := operationsNamed("dated", "time of day", "begun")
		operations[0].MaintenanceWindowBegin = began.Add(time.Hour)
		operations[1].MaintenanceWindowBegin = clockTime(t, "020000+0000")
		operations[1].MaintenanceDays = []string{"Sat"}
		operations[2].MaintenanceWindowBegin = began.Add(-100 * time.Hour)
		id, err := s.Execute(operations, inWindows(1))
		require.NoError(t, err)
		s.Wait(id)
		require.Equal(t, []string{"begun", "dated", "time of day"}, r.order())
		require.Equal(t, 40*time.Hour, r.calls[1].begin.Sub(began))
		require.Equal(t, 80*time.Hour, r.calls[2].begin.Sub(began))
	})
}

// The window counts from the time on before which nothing starts.
func TestWindowAfterScheduleTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(string, int) (time.Duration, error) { return 0, nil })
		s := NewParallelOrchestrationStrategy(r, nil)
		began := time.Now()
		operations := operationsNamed("passed by then", "open then")
		operations[0].MaintenanceWindowBegin, operations[0].MaintenanceWindowEnd = clockTime(t, "000000+0000"), clockTime(t, "030000+0000")
		operations[1].MaintenanceWindowBegin, operations[1].MaintenanceWindowEnd = clockTime(t, "000000+0000"), clockTime(t, "060000+0000")
		spec := inWindows(2)
		at := began.Add(5 * time.Hour)
		spec.ScheduleTime = &at
		id, err := s.Execute(operations, spec)
		require.NoError(t, err)
		s.Wait(id)
		require.Equal(t, []string{"open then", "passed by then"}, r.order())
		require.Equal(t, 5*time.Hour, r.calls[0].begin.Sub(began))
		require.Equal(t, 24*time.Hour, r.calls[1].begin.Sub(began))
	})
}

// Without a usable window an operation ends without a call, and the log says which and why.
func TestNoUsableWindow(t *testing.T) {
	t.Parallel()
	for _, byFlag := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder(func(string, int) (time.Duration, error) { return 0, nil })
			log, hook := silentLog()
			s := NewParallelOrchestrationStrategy(r, log)
			operations := operationsNamed("none", "no begin", "bad day", "mixed", "good")
			operations[1].MaintenanceWindowEnd = clockTime(t, "020000+0000")
			operations[2].MaintenanceWindowBegin, operations[2].MaintenanceWindowEnd = clockTime(t, "000000+0000"), clockTime(t, "020000+0000")
			operations[2].MaintenanceDays = []string{"Samstag"}
			operations[3].MaintenanceWindowBegin, operations[3].MaintenanceWindowEnd = clockTime(t, "000000+0000"), time.Now().Add(time.Hour)
			operations[4].MaintenanceWindowBegin, operations[4].MaintenanceWindowEnd = clockTime(t, "000000+0000"), clockTime(t, "020000+0000")
			spec := inWindows(2)
			if byFlag {
				spec.Schedule, spec.MaintenanceWindow = "", true
			}
			id, err := s.Execute(operations, spec)
			require.NoError(t, err)
			s.Wait(id)
			require.Equal(t, []string{"good"}, r.order())

			reasons := map[any]error{}
			for _, entry := range hook.AllEntries() {
				if id, ok := entry.Data["operation_id"]; ok {
					reasons[id] = loggedError(t, entry)
				}
			}
			require.Len(t, reasons, 4)
			require.ErrorIs(t, reasons["none"], window.ErrNone)
			require.ErrorIs(t, reasons["no begin"], window.ErrNoBegin)
			require.ErrorContains(t, reasons["bad day"], "Samstag")
			require.ErrorContains(t, reasons["mixed"], "mixes")

			only, err := s.Execute(operations[:1], spec)
			require.NoError(t, err)
			s.Wait(only)
			forgotten(t, s)
		})
	}
}

// Immediate runs pay no attention to windows.
func TestImmediateIgnoresWindows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(string, int) (time.Duration, error) { return 0, nil })
		s := NewParallelOrchestrationStrategy(r, nil)
		began := time.Now()
		operations := operationsNamed("shut", "none", "bad")
		operations[0].MaintenanceWindowBegin, operations[0].MaintenanceWindowEnd = began.Add(time.Hour), began.Add(2*time.Hour)
		operations[2].MaintenanceDays = []string{"Samstag"}
		id, err := s.Execute(operations, workers(1))
		require.NoError(t, err)
		s.Wait(id)
		require.Equal(t, []string{"shut", "none", "bad"}, r.order())
		require.Equal(t, began, time.Now())
	})
}
