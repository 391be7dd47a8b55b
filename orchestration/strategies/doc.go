// Package strategies executes the operations of an orchestration in one process.
//
// # One way through
//
// An Executor knows how to do a step of an operation. NewParallelOrchestrationStrategy spreads the steps of many operations over time:
//
//	strategy := strategies.NewParallelOrchestrationStrategy(executor, log)
//	id, err := strategy.Execute(operations, orchestration.StrategySpec{
//		Schedule: orchestration.MaintenanceWindow,
//		Parallel: orchestration.ParallelStrategySpec{Workers: 10},
//	})
//	if err != nil {
//		return err
//	}
//	strategy.Wait(id)
//
// Execute returns at once. Wait returns when all operations have ended, Cancel lets no further step begin. Nothing outlives the process:
// whoever needs that keeps the state of the operations himself and hands in those that are left.
//
// # Workers
//
// Workers limits how many runtimes are being changed at the same time, not how many calls are running: an operation holds its worker from
// its first step until it is done or has failed, also while it waits to be called again. An operation that waits for its window has not
// begun and holds no worker. Waiting costs an entry in a list and no goroutine.
//
// # Windows
//
// With the schedule maintenanceWindow each operation starts inside the window of its runtime and never at or after its end; its later steps
// may come after the end. The window is read from the operation's Runtime: a time of day as the resolver returns it, on the days of
// MaintenanceDays, or a window with a date, which moves on to the next allowed day once it has ended. Of the operations whose windows are
// open the one whose window closes first starts first. A window that closes before a worker is free is followed by the next one. A window with
// a begin and no end stays open once it has opened. An operation that has no window, or one that cannot be read, ends without a call; that
// is logged as a warning with its operation_id.
//
// With the schedule immediate operations start in the order of the list, whatever their windows.
//
// # What goes wrong
//
// An error, a panic or a negative duration of the executor ends that operation, is logged with its operation_id, and frees its worker; the
// others go on.
package strategies
