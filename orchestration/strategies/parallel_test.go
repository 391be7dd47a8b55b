package strategies

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/orchestration"
)

// The limit is about operations that were started and have not finished, and one that waits for its window does not count.
func TestCase_S3(t *testing.T) {
	t.Parallel()
	t.Run("asking to be called again keeps the worker", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder(func(_ string, n int) (time.Duration, error) {
				if n < 2 {
					return 100 * time.Millisecond, nil
				}
				return 0, nil
			})
			s := NewParallelOrchestrationStrategy(r, nil)
			began := time.Now()
			id, err := s.Execute(numbered(5), workers(2))
			require.NoError(t, err)
			s.Wait(id)
			require.Equal(t, 2, r.most)
			require.Equal(t, map[string]int{"op-1": 3, "op-2": 3, "op-3": 3, "op-4": 3, "op-5": 3}, r.count)
			require.Equal(t, 600*time.Millisecond, time.Since(began), "two, two and one of 200 ms each")
			forgotten(t, s)
		})
	})
	t.Run("waiting for a window does not take a worker", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder(func(string, int) (time.Duration, error) { return 0, nil })
			s := NewParallelOrchestrationStrategy(r, nil)
			began := time.Now()
			operations := operationsNamed("later", "open")
			operations[0].MaintenanceWindowBegin = began.Add(2 * time.Second)
			operations[0].MaintenanceWindowEnd = began.Add(time.Hour)
			operations[1].MaintenanceWindowBegin = began.Add(-time.Hour)
			operations[1].MaintenanceWindowEnd = began.Add(time.Hour)
			id, err := s.Execute(operations, inWindows(1))
			require.NoError(t, err)
			s.Wait(id)
			require.Equal(t, []string{"open", "later"}, r.order())
			require.Equal(t, began, r.calls[0].begin)
			require.Equal(t, began.Add(2*time.Second), r.calls[1].begin)
		})
	})
}

// After Cancel no call begins, for operations that wait to start and for those that wait to be called again; Wait waits for running calls.
func TestCancelStartsNothingMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(id string, _ int) (time.Duration, error) {
			if id == "long" {
				time.Sleep(time.Hour)
			}
			return time.Minute, nil
		})
		s := NewParallelOrchestrationStrategy(r, nil)
		began := time.Now()
		id, err := s.Execute(operationsNamed("again", "long", "pending"), workers(2))
		require.NoError(t, err)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"again", "long", "again"}, r.order())

		s.Cancel("unknown")
		s.Cancel(id)
		s.Cancel(id)
		require.Equal(t, 90*time.Second, time.Since(began), "Cancel does not wait")
		s.Wait(id)
		require.Equal(t, time.Hour, time.Since(began), "Wait does")
		time.Sleep(24 * time.Hour)
		require.Equal(t, []string{"again", "long", "again"}, r.order())
		forgotten(t, s)
		s.Cancel(id)
		s.Wait(id)
	})
}

func TestCancelWithNothingRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(string, int) (time.Duration, error) { return time.Hour, nil })
		s := NewParallelOrchestrationStrategy(r, nil)
		id, err := s.Execute(numbered(3), workers(1))
		require.NoError(t, err)
		synctest.Wait()
		began := time.Now()
		s.Cancel(id)
		s.Wait(id)
		require.Equal(t, began, time.Now())
		require.Equal(t, []string{"op-1"}, r.order())
	})
}

// An executor may cancel the execution that it is called from.
func TestCancelFromTheExecutor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s orchestration.Strategy
		id := make(chan string, 1)
		r := newRecorder(func(string, int) (time.Duration, error) {
			s.Cancel(<-id)
			return time.Second, nil
		})
		s = NewParallelOrchestrationStrategy(r, nil)
		execution, err := s.Execute(numbered(10), workers(1))
		require.NoError(t, err)
		id <- execution
		s.Wait(execution)
		require.Equal(t, []string{"op-1"}, r.order())
	})
}

// Cancel at any moment of a fast execution: Wait returns, and nothing is called after it.
func TestCancelInFullRun(t *testing.T) {
	t.Parallel()
	for range 50 {
		var calls atomic.Int64
		reached := make(chan struct{})
		s := NewParallelOrchestrationStrategy(ExecutorFunc(func(string) (time.Duration, error) {
			if calls.Add(1) == 1000 {
				close(reached)
			}
			return 0, nil
		}), nil)
		id, err := s.Execute(numbered(20_000), workers(100))
		require.NoError(t, err)
		<-reached
		s.Cancel(id)
		s.Wait(id)
		after := calls.Load()
		runtime.Gosched()
		require.Equal(t, after, calls.Load())
		forgotten(t, s)
	}
}

func TestExecuteRefuses(t *testing.T) {
	t.Parallel()
	noop := ExecutorFunc(func(string) (time.Duration, error) { return 0, nil })
	for name, c := range map[string]struct {
		executor Executor
		spec     orchestration.StrategySpec
		want     string
	}{
		"nil executor":     {nil, workers(1), "executor is nil"},
		"type":             {noop, orchestration.StrategySpec{Type: "serial"}, `"serial"`},
		"schedule":         {noop, orchestration.StrategySpec{Schedule: "tomorrow"}, `"tomorrow"`},
		"negative workers": {noop, workers(-1), "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewParallelOrchestrationStrategy(c.executor, nil)
			id, err := s.Execute(numbered(1), c.spec)
			require.ErrorContains(t, err, c.want)
			require.Empty(t, id)
			forgotten(t, s)
		})
	}
}

func TestExecuteDefaults(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]orchestration.StrategySpec{
		"nothing set": {},
		"all set":     {Type: orchestration.ParallelStrategy, Schedule: orchestration.Immediate, ScheduleTime: &time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder(func(string, int) (time.Duration, error) {
					time.Sleep(time.Second)
					return 0, nil
				})
				s := NewParallelOrchestrationStrategy(r, nil)
				began := time.Now()
				id, err := s.Execute(numbered(3), spec)
				require.NoError(t, err)
				s.Wait(id)
				require.Equal(t, []string{"op-1", "op-2", "op-3"}, r.order())
				require.Equal(t, 1, r.most, "0 workers mean 1")
				require.Equal(t, 3*time.Second, time.Since(began))
			})
		})
	}
}

func TestExecuteNothing(t *testing.T) {
	t.Parallel()
	s := NewParallelOrchestrationStrategy(ExecutorFunc(func(string) (time.Duration, error) { return 0, nil }), nil)
	seen := map[string]bool{}
	for range 100 {
		id, err := s.Execute(nil, orchestration.StrategySpec{})
		require.NoError(t, err)
		require.NotEmpty(t, id)
		require.False(t, seen[id], "IDs are unique")
		seen[id] = true
		s.Wait(id)
		forgotten(t, s)
	}
	s.Wait("unknown")
	s.Cancel("unknown")
}

// The list belongs to the caller again when Execute has returned.
func TestExecuteKeepsNoList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(string, int) (time.Duration, error) { return 0, nil })
		s := NewParallelOrchestrationStrategy(r, nil)
		operations := numbered(2)
		for i := range operations {
			operations[i].MaintenanceWindowBegin = time.Now().Add(time.Hour)
		}
		id, err := s.Execute(operations, inWindows(1))
		require.NoError(t, err)
		clear(operations)
		s.Wait(id)
		require.Equal(t, []string{"op-1", "op-2"}, r.order())
	})
}

func TestNothingStartsBeforeScheduleTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(string, int) (time.Duration, error) { return 0, nil })
		s := NewParallelOrchestrationStrategy(r, nil)
		at := time.Now().Add(90*time.Minute + 1)
		spec := workers(3)
		spec.ScheduleTime = &at
		id, err := s.Execute(numbered(3), spec)
		require.NoError(t, err)
		s.Wait(id)
		require.Len(t, r.calls, 3)
		for _, c := range r.calls {
			require.True(t, at.Equal(c.begin), c.begin)
		}
	})
}

// Whatever an executor does wrong ends that operation, is logged with its ID, and frees the worker for the others.
func TestExecutorGoesWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script func() (time.Duration, error)
		want   string
	}{
		"error":                    {func() (time.Duration, error) { return 0, errors.New("no route") }, "no route"},
		"error and a duration":     {func() (time.Duration, error) { return time.Hour, errors.New("no route") }, "no route"},
		"panic":                    {func() (time.Duration, error) { panic("broken") }, "executor panicked: broken"},
		"panic with nil":           {func() (time.Duration, error) { panic(nil) }, "executor panicked"}, //nolint:govet // that is the case
		"negative duration":        {func() (time.Duration, error) { return -time.Second, nil }, "negative duration: -1s"},
		"most negative duration":   {func() (time.Duration, error) { return math.MinInt64, nil }, "negative duration"},
		"end of its own goroutine": {func() (time.Duration, error) { runtime.Goexit(); return 0, nil }, "ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder(func(id string, _ int) (time.Duration, error) {
					if id == "op-2" {
						return c.script()
					}
					return 0, nil
				})
				log, hook := silentLog()
				s := NewParallelOrchestrationStrategy(r, log)
				id, err := s.Execute(numbered(4), workers(1))
				require.NoError(t, err)
				s.Wait(id)
				require.Equal(t, []string{"op-1", "op-2", "op-3", "op-4"}, r.order())

				var failures []*logrus.Entry
				for _, entry := range hook.AllEntries() {
					if entry.Level == logrus.ErrorLevel {
						failures = append(failures, entry)
					}
				}
				require.Len(t, failures, 1)
				require.Equal(t, "op-2", failures[0].Data["operation_id"])
				require.Equal(t, id, failures[0].Data["execution_id"])
				require.ErrorContains(t, loggedError(t, failures[0]), c.want)
				require.Equal(t, "execution ended", hook.LastEntry().Message)
				require.Equal(t, 4, hook.LastEntry().Data["finished"])
				require.Equal(t, 1, hook.LastEntry().Data["failed"])
				forgotten(t, s)
			})
		})
	}
}

func TestNilLoggers(t *testing.T) {
	t.Parallel()
	for _, log := range []logrus.FieldLogger{nil, (*logrus.Logger)(nil), (*logrus.Entry)(nil)} {
		s := NewParallelOrchestrationStrategy(ExecutorFunc(func(string) (time.Duration, error) { return 0, errors.New("logged") }), log)
		id, err := s.Execute(numbered(2), workers(2))
		require.NoError(t, err)
		s.Wait(id)
	}
}

// Calls that block run beside each other up to the number of workers, and the longest duration does not run over.
func TestBlockingCallsUseAllWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(string, int) (time.Duration, error) {
			time.Sleep(time.Second)
			return 0, nil
		})
		s := NewParallelOrchestrationStrategy(r, nil)
		began := time.Now()
		id, err := s.Execute(numbered(1000), workers(100))
		require.NoError(t, err)
		s.Wait(id)
		require.Equal(t, 100, r.most)
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}

func TestLongestDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(string, int) (time.Duration, error) { return math.MaxInt64, nil })
		s := NewParallelOrchestrationStrategy(r, nil)
		id, err := s.Execute(numbered(1), workers(1))
		require.NoError(t, err)
		time.Sleep(24 * time.Hour)
		require.Len(t, r.snapshot(), 1)
		s.Cancel(id)
		s.Wait(id)
	})
}

// Operations that wait, to be called again or for their window, hold no goroutine.
func TestWaitingHoldsNoGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		s := NewParallelOrchestrationStrategy(ExecutorFunc(func(string) (time.Duration, error) {
			calls.Add(1)
			return time.Hour, nil
		}), nil)
		operations := numbered(100_000)
		for i := range operations {
			if i >= 50_000 {
				operations[i].MaintenanceWindowBegin = time.Now().Add(time.Hour)
			} else {
				operations[i].MaintenanceWindowBegin = time.Now()
			}
		}
		before := runtime.NumGoroutine()
		id, err := s.Execute(operations, inWindows(50_000))
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, int64(50_000), calls.Load())
		// Other tests run beside this one; 50,000 would stand out.
		require.Less(t, runtime.NumGoroutine(), before+5_000)
		s.Cancel(id)
		s.Wait(id)
	})
}

// One strategy carries many executions that know nothing of each other.
func TestExecutionsBesideEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(_ string, n int) (time.Duration, error) {
			if n == 0 {
				return time.Second, nil
			}
			return 0, nil
		})
		s := NewParallelOrchestrationStrategy(r, nil)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				id, err := s.Execute(operationsNamed("a"+strconv.Itoa(i), "b"+strconv.Itoa(i), "c"+strconv.Itoa(i)), workers(1))
				if err != nil {
					panic(fmt.Sprintf("execute: %v", err))
				}
				if i%4 == 0 {
					s.Cancel(id)
				}
				s.Wait(id)
			})
		}
		began := time.Now()
		all.Wait()
		require.Equal(t, 3*time.Second, time.Since(began))
		for i := range 20 {
			want := 2
			if i%4 == 0 {
				want = 0
			}
			require.LessOrEqual(t, r.count["b"+strconv.Itoa(i)], want)
			if i%4 != 0 {
				require.Equal(t, want, r.count["c"+strconv.Itoa(i)])
			}
		}
		forgotten(t, s)
	})
}

// TestTheWindowFlagHoldsBesideImmediate pins that an operation without a window does not run at once because the schedule says immediate.
func TestTheWindowFlagHoldsBesideImmediate(t *testing.T) {
	t.Parallel()
	called := make(chan string, 1)
	s := NewParallelOrchestrationStrategy(ExecutorFunc(func(id string) (time.Duration, error) {
		called <- id
		return 0, nil
	}), nil)
	id, err := s.Execute(numbered(1), orchestration.StrategySpec{Schedule: orchestration.Immediate, MaintenanceWindow: true})
	require.NoError(t, err)
	s.Wait(id)
	require.Empty(t, called)
}
