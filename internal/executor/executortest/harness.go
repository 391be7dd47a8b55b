package executortest

import (
	"testing"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Harness is an executor together with a backend that the suite can steer. Functions that are not marked as optional must be set.
type Harness struct {
	// NewExecutor returns an executor that knows nothing yet, as after a restart of the process. All of them talk to the same backend.
	NewExecutor func(t testing.TB) fleet.Executor
	// NewTask returns the task of an upgrade that is needed and possible, on a runtime that no other task is about. The backend carries out
	// what it is asked to, but does not complete it before Complete is called.
	NewTask func(t testing.TB) fleet.Task
	// Complete lets the backend complete the upgrade that was asked for.
	Complete func(t testing.TB, task fleet.Task)
	// Starts returns how many upgrades of the task's runtime the backend has accepted, dry runs not counted.
	Starts func(t testing.TB, task fleet.Task) int

	// Break lets the backend fail the upgrade that was asked for, for good. Optional.
	Break func(t testing.TB, task fleet.Task)
	// Remove takes the task's runtime away. Optional.
	Remove func(t testing.TB, task fleet.Task)
	// SetOutage makes every request to the backend fail with a passing fault, until it is called with false. Optional.
	SetOutage func(t testing.TB, on bool)
	// LoseNextAnswer makes the backend carry out the next request that changes something and lose the answer to it. Optional.
	LoseNextAnswer func(t testing.TB, task fleet.Task)
	// ConflictNextWrite lets someone else change the runtime just before the next request that changes something, so that the backend
	// refuses it. Optional: for backends that take a precondition.
	ConflictNextWrite func(t testing.TB, task fleet.Task)
	// NewRefusedTask returns a task that the executor has to refuse before it sends anything. Optional.
	NewRefusedTask func(t testing.TB) fleet.Task
	// NewFinishedTask returns a task whose runtime already has what is wanted. Optional.
	NewFinishedTask func(t testing.TB) fleet.Task
}
