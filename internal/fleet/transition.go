package fleet

import (
	"time"
)

// Change is one move of an operation: the record as it is to be written, the fence that the stored one must still have, and what the history
// says about it.
type Change struct {
	OperationChange
	// From is the state before.
	From State
	// Events are to be appended in the same transaction; they are without ID.
	Events []Event
}

func changeOf(op Operation) Change {
	return Change{OperationChange: OperationChange{Operation: op, IfFence: op.Fence}, From: op.State}
}

func (c *Change) event(now time.Time, kind EventKind, level Level, message string) {
	op := &c.Operation
	e := Event{
		At: now, Kind: kind, Level: level, Message: Line(message),
		OrchestrationID: op.OrchestrationID, OperationID: op.ID, RuntimeID: op.RuntimeID, InstanceID: op.InstanceID,
	}
	if op.State != c.From {
		e.From, e.To = c.From, op.State
	}
	c.Events = append(c.Events, e)
}

// NewOperation makes the record of a target at a place in the resolver's order. In a window run it gets its next window, or is skipped:
// canceled from the start, with the reason, and with an event.
func NewOperation(o *Orchestration, id string, position int, t Target, now time.Time) (Operation, []Event) {
	op := Operation{
		ID: id, OrchestrationID: o.ID, Type: o.Type, Position: position,
		RuntimeID: t.RuntimeID, InstanceID: t.InstanceID, GlobalAccountID: t.GlobalAccountID, SubAccountID: t.SubAccountID,
		ShootName: t.ShootName, Region: t.Region, ServicePlanID: t.ServicePlanID, ServicePlanName: t.ServicePlanName,
		DryRun: o.Parameters.DryRun, State: Pending, Description: waitingForTurn,
		UsesWindow: o.UsesWindows(), WindowRule: t.Window, CreatedAt: now, UpdatedAt: now,
	}
	if !op.UsesWindow {
		return op, nil
	}
	placeInWindow(&op, now)
	if op.State != Canceled {
		return op, nil
	}
	c := Change{OperationChange: OperationChange{Operation: op}, From: Pending}
	c.event(now, EventSkipped, LevelInfo, op.Description)
	return op, c.Events
}

const waitingForTurn = "waiting for its turn"

// admit puts a pending operation in progress. Until lease from now somebody has to take it up.
func admit(op Operation, now time.Time, lease time.Duration) Change {
	c := changeOf(op)
	n := &c.Operation
	n.State, n.Description, n.Reason = InProgress, "started", ""
	n.Attempt++
	n.Fence++
	n.StartedAt, n.TimeLimitFrom = now, now
	n.CheckAt, n.LeaseUntil = now, now.Add(lease)
	n.Following, n.Sent, n.Uncertain, n.Failures, n.Memo = false, false, false, 0, nil
	c.event(now, EventAdmitted, LevelInfo, "started")
	return c
}

// TakeOver gives an operation in progress whose holder is dead to the next one, who observes first.
func TakeOver(op Operation, now time.Time, lease time.Duration) Change {
	c := changeOf(op)
	n := &c.Operation
	n.Attempt++
	n.Fence++
	n.CheckAt, n.LeaseUntil = now, now.Add(lease)
	n.Following = false
	n.Uncertain = true
	c.event(now, EventTakenOver, LevelInfo, "taken over from a process that does not answer any more")
	return c
}

// CancelPending ends a pending operation because its orchestration was canceled.
func CancelPending(op Operation, now time.Time) Change {
	c := changeOf(op)
	c.end(now, Canceled, "the orchestration was canceled before this operation started")
	return c
}

// end ends the operation in a state, with the reason for it; succeeded operations have none.
func (c *Change) end(now time.Time, state State, reason string) {
	n := &c.Operation
	n.State = state
	n.Fence++
	n.LeaseUntil, n.CheckAt, n.JobID = time.Time{}, time.Time{}, 0
	n.FinishedAt = now
	n.Failures = 0
	n.Reason = Line(reason)
	switch state {
	case Succeeded:
		c.event(now, EventFinished, LevelInfo, n.Description)
	case Failed:
		n.Description = "failed: " + n.Reason
		c.event(now, EventFinished, LevelError, n.Description)
	case Canceled:
		n.Description = "canceled: " + n.Reason
		c.event(now, EventFinished, LevelInfo, n.Description)
	case Pending, InProgress, Canceling:
	}
}

// giveBack puts an operation that has sent nothing back to pending, with its next window, as if it had never started.
func (c *Change) giveBack(now time.Time) {
	n := &c.Operation
	n.State = Pending
	n.Fence++
	n.LeaseUntil, n.CheckAt, n.JobID = time.Time{}, time.Time{}, 0
	n.StartedAt, n.TimeLimitFrom = time.Time{}, time.Time{}
	n.Following, n.Failures, n.Memo = false, 0, nil
	placeInWindow(n, now)
	if n.State == Canceled {
		c.event(now, EventSkipped, LevelInfo, n.Description)
		return
	}
	c.event(now, EventReturned, LevelInfo, "the maintenance window closed before anything was sent; "+n.Description)
}
