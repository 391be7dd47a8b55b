package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

const (
	kymaType    = orchestration.UpgradeKymaOrchestration
	clusterType = orchestration.UpgradeClusterOrchestration

	// changeChunk is how many operations are rolled, canceled or admitted in one go, so that no transaction takes long.
	changeChunk = 500
)

// advance brings one orchestration on: it cancels what is pending when it is canceling, moves past windows on, admits, and ends it when
// nothing is open. It may be called at any time and does nothing when there is nothing to do; changed is false then.
func (e *Engine) advance(ctx context.Context, orchestrationID string) (changed bool, err error) {
	for {
		var a advanced
		err := e.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) (err error) {
			a, err = e.advanceOnce(ctx, tx, orchestrationID)
			return err
		})
		if err != nil {
			return changed, fmt.Errorf("advance orchestration %s: %w", orchestrationID, err)
		}
		e.admittedCommitted(a.admitted)
		changed = changed || a.changed
		if !a.more {
			return changed, nil
		}
	}
}

// advanced is what one transaction came to.
type advanced struct {
	admitted admitted
	// changed is true when something was written, more when there is more to do at once.
	changed, more bool
}

func (e *Engine) advanceOnce(ctx context.Context, tx fleet.Tx, orchestrationID string) (advanced, error) {
	o, err := tx.LockOrchestration(ctx, orchestrationID)
	if err != nil {
		return advanced{}, fmt.Errorf("lock orchestration: %w", err)
	}
	if o.State.Ended() || o.State == fleet.Pending || (o.Unreadable != "" && o.State != fleet.Canceling) {
		return advanced{}, nil
	}
	before := o
	var a advanced
	var events []fleet.Event
	if o.State == fleet.Canceling {
		a.more, events, err = cancelChunk(ctx, tx, &o)
	} else {
		a.more, events, err = rollChunk(ctx, tx, &o)
	}
	if err != nil {
		return advanced{}, err
	}
	if o.State == fleet.InProgress {
		if a.admitted, err = e.admit(ctx, tx, &o); err != nil {
			return advanced{}, err
		}
		events = append(events, a.admitted.events...)
	}
	if !a.more {
		events = append(events, fleet.Settle(&o, tx.Now())...)
	}
	if len(events) == 0 && o.Counts == before.Counts && o.State == before.State && o.Description == before.Description {
		return a, nil
	}
	a.changed = true
	return a, saveWithEvents(ctx, tx, &o, events)
}

// cancelChunk ends pending operations of a canceling orchestration.
func cancelChunk(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) (more bool, events []fleet.Event, err error) {
	if o.ResolvedAt.IsZero() {
		n, err := tx.DeleteUnresolved(ctx, o.ID, changeChunk)
		if err != nil {
			return false, nil, fmt.Errorf("remove unresolved operations: %w", err)
		}
		return n > 0, nil, nil
	}
	pending, err := tx.PendingOperations(ctx, o.ID, changeChunk)
	if err != nil {
		return false, nil, fmt.Errorf("list pending operations: %w", err)
	}
	changes := make([]fleet.Change, 0, len(pending))
	for _, op := range pending {
		changes = append(changes, fleet.CancelPending(op, tx.Now()))
	}
	events, err = saveChanges(ctx, tx, o, changes)
	return len(pending) == changeChunk, events, err
}

// rollChunk moves past windows on.
func rollChunk(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) (more bool, events []fleet.Event, err error) {
	past, err := tx.PastWindows(ctx, o.ID, changeChunk)
	if err != nil {
		return false, nil, fmt.Errorf("list past windows: %w", err)
	}
	changes := make([]fleet.Change, 0, len(past))
	for _, op := range past {
		if c, ok := fleet.RollWindow(op, tx.Now()); ok {
			changes = append(changes, c)
		}
	}
	events, err = saveChanges(ctx, tx, o, changes)
	// Rows that do not move would be found again and again.
	return len(past) == changeChunk && len(changes) > 0, events, err
}

// admitted is what an admission came to.
type admitted struct {
	started []fleet.Operation
	events  []fleet.Event
}

// admit fills the free workers of a locked orchestration as far as the backend is up, and cancels what cannot start any more.
func (e *Engine) admit(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) (admitted, error) {
	var done admitted
	b, ok := e.bindings[o.Type]
	if !ok || o.State != fleet.InProgress || !e.admitting() {
		return done, nil
	}
	for o.Counts.Pending > 0 {
		free := min(b.breaker.admits(o.FreeWorkers(), o.Counts.InProgress), changeChunk)
		if free == 0 {
			return done, nil
		}
		candidates, err := tx.Candidates(ctx, o.ID, free)
		if err != nil {
			return done, fmt.Errorf("list candidates: %w", err)
		}
		a := fleet.Admit(o, candidates, tx.Now(), e.limits.LeaseFor)
		if len(a.Start) > free {
			a.Start = a.Start[:free]
		}
		if len(a.Start)+len(a.Cancel) == 0 {
			return done, nil
		}
		if err := e.enqueue(ctx, tx, a.Start); err != nil {
			return done, err
		}
		events, err := saveChanges(ctx, tx, o, slices.Concat(a.Start, a.Cancel))
		if err != nil {
			return done, err
		}
		done.events = append(done.events, events...)
		for _, c := range a.Start {
			done.started = append(done.started, c.Operation)
		}
		if len(candidates) < free {
			return done, nil
		}
	}
	return done, nil
}

// enqueue adds the jobs of the next steps and notes their numbers in the changes.
func (e *Engine) enqueue(ctx context.Context, tx fleet.Tx, changes []fleet.Change) error {
	if len(changes) == 0 {
		return nil
	}
	jobs := make([]fleet.Job, 0, len(changes))
	for _, c := range changes {
		jobs = append(jobs, fleet.Job{Kind: fleet.JobStep, OrchestrationID: c.Operation.OrchestrationID, OperationID: c.Operation.ID, Attempt: c.Operation.Attempt})
	}
	ids, err := e.queue.Insert(ctx, tx, jobs)
	if err != nil {
		return fmt.Errorf("enqueue steps: %w", err)
	}
	for i := range changes {
		changes[i].Operation.JobID = ids[i]
	}
	return nil
}

// admittedCommitted makes started operations known after the commit.
func (e *Engine) admittedCommitted(a admitted) {
	if len(a.started) == 0 {
		return
	}
	for _, op := range a.started {
		e.flights.add(fleet.InFlight{
			OperationID: op.ID, OrchestrationID: op.OrchestrationID, Type: op.Type, RuntimeID: op.RuntimeID, ShootName: op.ShootName, JobID: op.JobID,
		})
	}
	e.metrics.admitted.Add(float64(len(a.started)))
	e.queue.Nudge()
}

// saveChanges writes changes of operations of a locked orchestration, which nobody else can have changed meanwhile, and counts them.
func saveChanges(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration, changes []fleet.Change) ([]fleet.Event, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	writes := make([]fleet.OperationChange, 0, len(changes))
	var events []fleet.Event
	for _, c := range changes {
		writes = append(writes, c.OperationChange)
		events = append(events, c.Events...)
	}
	fenced, err := tx.SaveOperations(ctx, sorted(writes))
	if err != nil {
		return nil, fmt.Errorf("save operations: %w", err)
	}
	if len(fenced) > 0 {
		return nil, fmt.Errorf("save operations %v: %w", fenced, fleet.ErrFenced)
	}
	for _, c := range changes {
		if c.From != c.Operation.State {
			o.Counts.Move(c.From, c.Operation.State)
		}
	}
	return events, nil
}

// saveWithEvents writes the locked orchestration and the history.
func saveWithEvents(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration, events []fleet.Event) error {
	if err := tx.SaveOrchestration(ctx, o); err != nil {
		return fmt.Errorf("save orchestration: %w", err)
	}
	if len(events) == 0 {
		return nil
	}
	if err := tx.AppendEvents(ctx, events); err != nil {
		return fmt.Errorf("append events: %w", err)
	}
	return nil
}

// sorted puts writes in one order for all transactions, so that two of them do not wait for each other.
func sorted(writes []fleet.OperationChange) []fleet.OperationChange {
	slices.SortFunc(writes, func(a, b fleet.OperationChange) int { return strings.Compare(a.Operation.ID, b.Operation.ID) })
	return writes
}
