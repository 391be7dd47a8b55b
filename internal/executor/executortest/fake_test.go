package executortest_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The fake keeps what executors promise, so tests with it say something about them.
func TestFakeKeepsThePromisesOfAnExecutor(t *testing.T) {
	t.Parallel()
	executortest.Run(t, func(*testing.T) executortest.Harness {
		fake := executortest.NewFake(1000, time.Second)
		var outage, lose atomic.Bool
		fake.Before = func(context.Context, executortest.Call) error {
			if outage.Load() {
				return errors.New("the backend does not answer")
			}
			return nil
		}
		fake.AfterStart = func(context.Context, fleet.Task) error {
			if lose.Swap(false) {
				return errors.New("the answer was lost")
			}
			return nil
		}
		tasks := 0
		return executortest.Harness{
			NewExecutor: func(testing.TB) fleet.Executor { return fake },
			NewTask: func(testing.TB) fleet.Task {
				tasks++
				return fleet.Task{OperationID: fmt.Sprintf("op-%d", tasks), RuntimeID: fmt.Sprintf("rt-%d", tasks), Attempt: 1}
			},
			Complete: func(_ testing.TB, task fleet.Task) { fake.Complete(task.RuntimeID) },
			Starts: func(_ testing.TB, task fleet.Task) int {
				starts := 0
				for _, accepted := range fake.Accepted() {
					if accepted.RuntimeID == task.RuntimeID {
						starts++
					}
				}
				return starts
			},
			SetOutage:      func(_ testing.TB, on bool) { outage.Store(on) },
			LoseNextAnswer: func(testing.TB, fleet.Task) { lose.Store(true) },
		}
	})
}
