package fleet

import (
	"time"

	"github.com/swell-fleet/swell/internal/quantity"
)

// RetryPlan is what a request to repeat operations comes to.
type RetryPlan struct {
	// New are the operations to be added, in the order of the requested ones.
	New []Operation
	// Superseded are the operations that they repeat.
	Superseded []Change
	// Result is the answer to the caller.
	Result RetryResult
}

// PlanRetry decides which operations are repeated. ops are the operations that the request means, in its order; of those that it names and that the
// store does not know, or knows in another orchestration, the IDs are in unknown. newest has for each runtime ID the newest operation of the same type in
// any orchestration. An operation that was repeated already, or whose runtime a newer orchestration took care of, is old; one that
// did not fail and was not canceled is invalid.
//
// The orchestration, which is locked, goes back in progress when at least one operation is repeated. One that is canceling is a conflict.
func PlanRetry(o *Orchestration, req RetryRequest, ops []Operation, unknown []string, newest map[string]Operation, newID func() string, now time.Time) (RetryPlan, error) {
	plan := RetryPlan{Result: RetryResult{OrchestrationID: o.ID, InvalidOperations: unknown}}
	if o.State == Canceling {
		return RetryPlan{}, Conflictf("the orchestration is being canceled; repeat its operations once it is canceled")
	}
	open := o.State == Failed || o.State == Canceled || o.State == InProgress
	planned := map[string]bool{}
	for _, op := range ops {
		switch later, ok := newest[op.RuntimeID]; {
		case planned[op.ID] || planned[op.RuntimeID]:
			continue
		case !open || (op.State != Failed && op.State != Canceled):
			plan.Result.InvalidOperations = append(plan.Result.InvalidOperations, op.ID)
		case op.Superseded, ok && later.OrchestrationID != o.ID && later.CreatedAt.After(op.CreatedAt):
			plan.Result.OldOperations = append(plan.Result.OldOperations, op.ID)
		default:
			planned[op.RuntimeID] = true
			plan.repeat(o, op, newID(), req.Immediate, now)
		}
		planned[op.ID] = true
	}
	if len(plan.New) == 0 {
		plan.Result.Message = "no operation can be repeated"
		if o.State == Canceled && o.Counts.Total() == 0 {
			plan.Result.Message = "the orchestration was canceled before its targets were resolved, so there is no operation to repeat; start a new one"
		}
		return plan, nil
	}
	plan.Result.Message = quantity.Of(len(plan.New), "operation") + quantity.Pick(len(plan.New), " is", " are") + " repeated"
	if o.State != InProgress {
		o.State = InProgress
		o.FinishedAt = time.Time{}
	}
	o.Description = Describe(o)
	return plan, nil
}

func (p *RetryPlan) repeat(o *Orchestration, old Operation, id string, immediate bool, now time.Time) {
	n := Operation{
		ID: id, OrchestrationID: old.OrchestrationID, Type: old.Type, Position: old.Position,
		RuntimeID: old.RuntimeID, InstanceID: old.InstanceID, GlobalAccountID: old.GlobalAccountID, SubAccountID: old.SubAccountID,
		ShootName: old.ShootName, Region: old.Region, ServicePlanID: old.ServicePlanID, ServicePlanName: old.ServicePlanName,
		DryRun: old.DryRun, State: Pending, Description: waitingForTurn,
		UsesWindow: o.UsesWindows() && !immediate, WindowRule: old.WindowRule,
		RetryOf: old.ID, CreatedAt: now, UpdatedAt: now,
	}
	c := changeOf(old)
	c.Operation.Fence++
	c.Operation.Superseded = true
	c.event(now, EventRetry, LevelInfo, "repeated by operation "+id)
	if n.UsesWindow {
		if n.WindowRule.IsZero() {
			n.WindowBegin, n.WindowEnd = old.WindowBegin, old.WindowEnd
		}
		placeInWindow(&n, now)
	}
	if n.State == Canceled {
		skipped := Change{OperationChange: OperationChange{Operation: n}, From: Pending}
		skipped.event(now, EventSkipped, LevelInfo, n.Description)
		c.Events = append(c.Events, skipped.Events...)
	}
	o.Counts.Move(old.State, n.State)
	p.New = append(p.New, n)
	p.Superseded = append(p.Superseded, c)
	p.Result.RetryShoots = append(p.Result.RetryShoots, old.ShootName)
}
