package fleet

import (
	"time"

	"github.com/swell-fleet/swell/runtime"
)

// Admission is what one look at the candidates of an orchestration came to.
type Admission struct {
	// Start are the operations that are put in progress.
	Start []Change
	// Cancel are the operations that end because their runtimes went away or may not be changed any more.
	Cancel []Change
}

// Admit decides which pending operations start now. It is a pure function of the locked orchestration, the candidates in the order in which they
// are to start, and the clock of the database: as many start as the orchestration has workers free, one for each runtime, inside their windows only, and
// none in an orchestration that is not in progress or not resolved. Candidates whose runtime went away or was suspended end as canceled
// and need no worker. Each started operation has to be taken up within lease.
func Admit(o *Orchestration, candidates []Candidate, now time.Time, lease time.Duration) Admission {
	var a Admission
	if o.State != InProgress || o.ResolvedAt.IsZero() || now.Before(o.NotBefore) {
		return a
	}
	free := o.FreeWorkers()
	busy := make(map[string]bool, min(free, len(candidates)))
	for _, candidate := range candidates {
		op := candidate.Operation
		switch {
		case op.State != Pending || op.OrchestrationID != o.ID || now.Before(op.NotBefore) || !op.WindowOpen(now) || busy[op.RuntimeID]:
			continue
		case !candidate.RuntimeKnown:
			a.Cancel = append(a.Cancel, gone(op, now, "the runtime is not known any more"))
		case unusable(candidate.RuntimeState) != "":
			a.Cancel = append(a.Cancel, gone(op, now, unusable(candidate.RuntimeState)))
		case len(a.Start) < free:
			busy[op.RuntimeID] = true
			a.Start = append(a.Start, admit(op, now, lease))
		}
	}
	return a
}

// FreeWorkers returns how many more operations may be in progress now.
func (o *Orchestration) FreeWorkers() int { return max(0, o.Workers()-o.Counts.InProgress) }

func gone(op Operation, now time.Time, reason string) Change {
	c := changeOf(op)
	c.end(now, Canceled, reason)
	return c
}

// unusable says why a runtime in a state may not be upgraded; empty when it may. The states are those of runtimes whose newest
// operation removes or creates the cluster and is not undone by a later one.
func unusable(state runtime.State) string {
	switch state {
	case runtime.StateSuspended:
		return "the runtime is suspended"
	case runtime.StateDeprovisioned, runtime.StateDeprovisionIncomplete:
		return "the runtime was removed"
	case runtime.StateDeprovisioning:
		return "the runtime is being removed or suspended"
	case runtime.StateProvisioning:
		return "the runtime is being created or woken up"
	case runtime.StateFailed:
		return "the runtime was not created, removed, suspended or woken up successfully"
	case runtime.StateSucceeded, runtime.StateError, runtime.StateUpgrading, runtime.StateUpdating, runtime.AllState:
		return ""
	default:
		return ""
	}
}
