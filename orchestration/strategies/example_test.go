package strategies_test

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/orchestration/strategies"
)

// upgrade is an executor whose operations need three steps each, and of which one fails.
type upgrade struct {
	steps map[string]int
}

func (u *upgrade) Execute(operationID string) (time.Duration, error) {
	u.steps[operationID]++
	switch {
	case operationID == "op-2":
		return 0, errors.New("shoot is being deleted")
	case u.steps[operationID] < 3:
		fmt.Println(operationID, "in progress, look again")
		return time.Millisecond, nil
	}
	fmt.Println(operationID, "succeeded")
	return 0, nil
}

// Run three operations one after the other and wait for their end.
func ExampleNewParallelOrchestrationStrategy() {
	log := logrus.New()
	log.SetOutput(io.Discard)
	strategy := strategies.NewParallelOrchestrationStrategy(&upgrade{steps: map[string]int{}}, log)

	operations := []orchestration.RuntimeOperation{{ID: "op-1"}, {ID: "op-2"}, {ID: "op-3"}}
	id, err := strategy.Execute(operations, orchestration.StrategySpec{
		Type:     orchestration.ParallelStrategy,
		Schedule: orchestration.Immediate,
		Parallel: orchestration.ParallelStrategySpec{Workers: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	strategy.Wait(id)

	// Output:
	// op-1 in progress, look again
	// op-1 in progress, look again
	// op-1 succeeded
	// op-3 in progress, look again
	// op-3 in progress, look again
	// op-3 succeeded
}

// In a run by maintenance windows each operation starts inside its own window; one that has none ends without a call.
func ExampleNewParallelOrchestrationStrategy_maintenanceWindow() {
	executor := strategies.ExecutorFunc(func(operationID string) (time.Duration, error) {
		fmt.Println("start", operationID)
		return 0, nil
	})
	strategy := strategies.NewParallelOrchestrationStrategy(executor, nil)

	soon := orchestration.RuntimeOperation{ID: "opens soon"}
	soon.MaintenanceWindowBegin = time.Now().Add(10 * time.Millisecond)
	soon.MaintenanceWindowEnd = soon.MaintenanceWindowBegin.Add(time.Hour)
	open := orchestration.RuntimeOperation{ID: "is open"}
	open.MaintenanceWindowBegin = time.Now().Add(-time.Hour)
	open.MaintenanceWindowEnd = time.Now().Add(time.Hour)
	without := orchestration.RuntimeOperation{ID: "has no window"}

	id, err := strategy.Execute([]orchestration.RuntimeOperation{soon, open, without}, orchestration.StrategySpec{
		Schedule: orchestration.MaintenanceWindow,
		Parallel: orchestration.ParallelStrategySpec{Workers: 5},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	strategy.Wait(id)

	// Output:
	// start is open
	// start opens soon
}

// Cancel lets nothing more begin; Wait then waits for the calls that are running.
func ExampleNewParallelOrchestrationStrategy_cancel() {
	started := make(chan struct{})
	executor := strategies.ExecutorFunc(func(operationID string) (time.Duration, error) {
		fmt.Println("start", operationID)
		close(started)
		return time.Hour, nil
	})
	strategy := strategies.NewParallelOrchestrationStrategy(executor, nil)
	id, err := strategy.Execute([]orchestration.RuntimeOperation{{ID: "op-1"}, {ID: "op-2"}}, orchestration.StrategySpec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-started
	strategy.Cancel(id)
	strategy.Wait(id)
	fmt.Println("canceled")

	// Output:
	// start op-1
	// canceled
}
