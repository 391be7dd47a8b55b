package provisioner_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

func TestKeepsThePromisesOfAnExecutor(t *testing.T) {
	t.Parallel()
	for kind, version := range map[orchestration.Type]string{
		orchestration.UpgradeKymaOrchestration: "2.20.5", orchestration.UpgradeClusterOrchestration: "1.34.7",
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			executortest.Run(t, func(t *testing.T) executortest.Harness {
				t.Helper()
				return harness(t, kind, version)
			})
		})
	}
}

func harness(t *testing.T, kind orchestration.Type, version string) executortest.Harness {
	t.Helper()
	b := newBackend(t)
	var numbers atomic.Int64
	newTask := func(testing.TB) fleet.Task {
		task := b.task(fmt.Sprintf("rt-%d", numbers.Add(1)))
		task.Parameters.Version = version
		return task
	}
	return executortest.Harness{
		NewExecutor: func(t testing.TB) fleet.Executor {
			t.Helper()
			return b.executor(t, kind)
		},
		NewTask:   newTask,
		Complete:  func(_ testing.TB, task fleet.Task) { b.end(task.RuntimeID, gqlschema.OperationStateSucceeded, nil) },
		Starts:    func(_ testing.TB, task fleet.Task) int { return b.starts(task.RuntimeID) },
		Break:     func(_ testing.TB, task fleet.Task) { b.end(task.RuntimeID, gqlschema.OperationStateFailed, nil) },
		Remove:    func(_ testing.TB, task fleet.Task) { b.remove(task.RuntimeID) },
		SetOutage: func(_ testing.TB, on bool) { b.setOutage(on) },
		LoseNextAnswer: func(testing.TB, fleet.Task) {
			b.loseNext()
		},
		NewRefusedTask: func(t testing.TB) fleet.Task {
			t.Helper()
			task := newTask(t)
			task.GlobalAccountID = ""
			return task
		},
		NewFinishedTask: func(t testing.TB) fleet.Task {
			t.Helper()
			task := newTask(t)
			task.Parameters.Version = map[orchestration.Type]string{
				orchestration.UpgradeKymaOrchestration: "2.20.4", orchestration.UpgradeClusterOrchestration: "1.33.9",
			}[kind]
			return task
		},
	}
}
