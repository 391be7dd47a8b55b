package fleet

import (
	"time"

	"github.com/swell-fleet/swell/orchestration"
)

// Orchestration is the record of one request to upgrade a set of runtimes.
type Orchestration struct {
	ID   string
	Type orchestration.Type
	// State moves as OrchestrationMayMove says.
	State       State
	Description string
	// Parameters are the request in its one stored form: see NormalizeParameters.
	Parameters orchestration.Parameters
	// Unreadable says why the stored parameters cannot be read; empty when they can. Such an orchestration is listed and never runs.
	Unreadable string
	// NotBefore is when the orchestration starts at the earliest; zero means at once.
	NotBefore time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
	// ResolvedAt is when the targets were resolved and frozen; zero before that. Operations are complete from then on.
	ResolvedAt time.Time
	// FinishedAt is when the last operation ended; zero before that.
	FinishedAt time.Time
	// CreatedBy is the user of the request.
	CreatedBy string
	// IdempotencyKey is the key of the request, or empty. BodyHash tells whether a repeated request is the same one.
	IdempotencyKey string
	BodyHash       string
	// Fence is raised by everyone who takes up the resolution of the targets. LeaseUntil is when that holder counts as dead.
	Fence      int64
	LeaseUntil time.Time
	// Counts are the runtimes by the state of their newest operation, kept with every change of state in the same transaction.
	Counts Counts
	// LeftOut is the number of runtimes that the targets matched and that were left out with a reason.
	LeftOut int
	// LeftOutWhy sums up why, such as "2 suspended, 1 being deleted"; empty when nothing was left out.
	LeftOutWhy string
}

// Workers returns how many operations may be in progress at the same time: at least 1.
func (o *Orchestration) Workers() int { return max(1, o.Parameters.Strategy.Parallel.Workers) }

// UsesWindows reports whether the operations wait for the maintenance windows of their runtimes.
func (o *Orchestration) UsesWindows() bool {
	return o.Parameters.Strategy.Schedule == orchestration.MaintenanceWindow
}

// Counts are numbers of runtimes by the state of their newest operation in an orchestration.
type Counts struct {
	Pending    int
	InProgress int
	Succeeded  int
	Failed     int
	Canceled   int
}

// Total returns the number of runtimes.
func (c Counts) Total() int { return c.Pending + c.InProgress + c.Succeeded + c.Failed + c.Canceled }

// Open returns the number of runtimes whose newest operation has not ended.
func (c Counts) Open() int { return c.Pending + c.InProgress }

// Add changes the number of a state by n. Other words than the five states of operations are ignored.
func (c *Counts) Add(s State, n int) {
	switch s {
	case Pending:
		c.Pending += n
	case InProgress:
		c.InProgress += n
	case Succeeded:
		c.Succeeded += n
	case Failed:
		c.Failed += n
	case Canceled:
		c.Canceled += n
	case Canceling:
	}
}

// Move counts one runtime from one state to another.
func (c *Counts) Move(from, to State) {
	c.Add(from, -1)
	c.Add(to, 1)
}

// Stats returns the counts by state word, without the states that no runtime is in.
func (c Counts) Stats() map[string]int {
	m := make(map[string]int, 5)
	for s, n := range map[State]int{Pending: c.Pending, InProgress: c.InProgress, Succeeded: c.Succeeded, Failed: c.Failed, Canceled: c.Canceled} {
		if n != 0 {
			m[string(s)] = n
		}
	}
	return m
}

// LeftOut is a runtime or Shoot that the targets of an orchestration matched and that is not upgraded.
type LeftOut struct {
	OrchestrationID string
	// Position keeps the resolver's order.
	Position    int
	ShootName   string
	RuntimeID   string
	InstanceID  string
	Reason      string
	Description string
}
