package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
)

// sweptResolvers is how many orchestrations are resolved at the same time without a job of their own; the rest waits for the next sweep.
const sweptResolvers = 4

// quietAtMost is how much later than it could an operation may start when its window opens.
const quietAtMost = 10 * time.Second

// takeOverChunk is how many operations are taken over in one transaction.
const takeOverChunk = 500

// sweepForEver searches the rows again and again for what no job has done, in every process.
func (e *Engine) sweepForEver(ctx context.Context) {
	ticker := time.NewTicker(e.limits.SweepEvery)
	defer ticker.Stop()
	for {
		if err := e.sweep(ctx); err == nil {
			e.metrics.sweeps.WithLabelValues("ok").Inc()
		} else if ctx.Err() == nil {
			e.metrics.sweeps.WithLabelValues("error").Inc()
			e.log.ErrorContext(ctx, "search for missed work", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sweep finds operations whose holder is dead and orchestrations that can go on. Doing it twice, or in several processes, changes nothing more.
func (e *Engine) sweep(ctx context.Context) error {
	e.flights.mark()
	inFlight, err := e.store.InFlight(ctx)
	if err != nil {
		return fmt.Errorf("list operations in progress: %w", err)
	}
	e.flights.replace(inFlight)
	for t, b := range e.bindings {
		if b.breaker.down() {
			// One of those in progress finds out whether the backend is back, however long they wait by themselves.
			e.flights.wakeSome(t, 1)
		}
	}
	var problems []error
	if len(inFlight) > 0 {
		problems = append(problems, e.takeOverExpired(ctx))
	}
	open, err := e.store.OpenOrchestrations(ctx)
	if err != nil {
		problems = append(problems, fmt.Errorf("list open orchestrations: %w", err))
	}
	if len(e.quietUntil) > len(open) {
		clear(e.quietUntil)
	}
	for i := range open {
		problems = append(problems, e.bringOn(ctx, &open[i]))
	}
	return errors.Join(problems...)
}

// bringOn lets an orchestration go on where something can be done.
func (e *Engine) bringOn(ctx context.Context, o *fleet.Orchestration) error {
	now := e.clock()
	switch {
	case o.State == fleet.Pending:
		if now.Before(o.NotBefore) || now.Before(o.LeaseUntil) {
			return nil
		}
		// Resolving may take long, and others must not wait for it.
		select {
		case e.resolvers <- struct{}{}:
		default:
			return nil
		}
		e.background.Go(func() {
			defer func() { <-e.resolvers }()
			if _, err := e.resolve(ctx, o.ID); err != nil && ctx.Err() == nil {
				e.log.ErrorContext(ctx, "resolve targets", "orchestration_id", o.ID, "error", err)
			}
		})
		return nil
	case o.State == fleet.Canceling, o.Counts.Open() == 0, o.Counts.Pending > 0 && (o.FreeWorkers() > 0 || o.UsesWindows()):
		if now.Before(e.quietUntil[o.ID]) && o.State != fleet.Canceling {
			return nil
		}
		delete(e.quietUntil, o.ID)
		changed, err := e.advance(ctx, o.ID)
		if !changed && o.UsesWindows() {
			// Looking through 100,000 operations that wait for their windows takes some 50 ms, which is not worth spending every few seconds.
			e.quietUntil[o.ID] = now.Add(min(time.Duration(o.Counts.Pending)*100*time.Microsecond, quietAtMost))
		}
		return err
	default:
		return nil
	}
}

// takeOverExpired gives operations whose lease has run out to the next holder. Those whose job only waits, for a free worker or for somebody
// who looks after due jobs, keep their attempt and are made due.
func (e *Engine) takeOverExpired(ctx context.Context) error {
	for {
		n := 0
		err := e.takeOver(ctx, func(ctx context.Context, tx fleet.Tx) ([]fleet.Operation, error) {
			ops, err := tx.ExpiredOperations(ctx, takeOverChunk)
			n = len(ops)
			return ops, err
		})
		if err != nil || n < takeOverChunk {
			return err
		}
	}
}

// takeOverAll takes over whatever was in the hands of an earlier process.
func (e *Engine) takeOverAll(ctx context.Context) error {
	if err := e.freeUnresolved(ctx); err != nil {
		return err
	}
	inFlight, err := e.store.InFlight(ctx)
	if err != nil {
		return fmt.Errorf("list operations in progress: %w", err)
	}
	for begin := 0; begin < len(inFlight); begin += takeOverChunk {
		var ids []string
		for _, f := range inFlight[begin:min(begin+takeOverChunk, len(inFlight))] {
			ids = append(ids, f.OperationID)
		}
		if err := e.takeOver(ctx, func(ctx context.Context, tx fleet.Tx) ([]fleet.Operation, error) { return tx.Operations(ctx, ids) }); err != nil {
			return err
		}
	}
	return nil
}

// freeUnresolved ends the leases of orchestrations whose targets an earlier process was resolving.
func (e *Engine) freeUnresolved(ctx context.Context) error {
	open, err := e.store.OpenOrchestrations(ctx)
	if err != nil {
		return fmt.Errorf("list open orchestrations: %w", err)
	}
	for _, o := range open {
		if o.State != fleet.Pending || o.LeaseUntil.IsZero() {
			continue
		}
		err := e.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) error {
			held, err := tx.LockOrchestration(ctx, o.ID)
			if err != nil || held.State != fleet.Pending {
				return err
			}
			held.Fence++
			held.LeaseUntil = time.Time{}
			return tx.SaveOrchestration(ctx, &held)
		})
		if err != nil {
			return fmt.Errorf("take the resolution of %s over: %w", o.ID, err)
		}
	}
	return nil
}

func (e *Engine) takeOver(ctx context.Context, find func(ctx context.Context, tx fleet.Tx) ([]fleet.Operation, error)) error {
	var due []int64
	var taken []fleet.Operation
	err := e.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) error {
		due, taken = nil, nil
		ops, err := find(ctx, tx)
		if err != nil || len(ops) == 0 {
			return err
		}
		waits, err := e.waiting(ctx, tx, ops)
		if err != nil {
			return err
		}
		var changes []fleet.Change
		var writes []fleet.OperationChange
		for _, op := range ops {
			if op.State != fleet.InProgress {
				continue
			}
			// With a slow store the lease of a step may run out although its process, this one, is well.
			here := e.running.alive(op.ID, e.hangsAfter())
			if !here && !waits[op.JobID] {
				changes = append(changes, fleet.TakeOver(op, tx.Now(), e.limits.LeaseFor))
				continue
			}
			if !here && op.CheckAt.Before(tx.Now()) {
				due = append(due, op.JobID)
			}
			kept := fleet.OperationChange{Operation: op, IfFence: op.Fence}
			kept.Operation.LeaseUntil = later(op.CheckAt, tx.Now()).Add(e.limits.LeaseFor)
			writes = append(writes, kept)
		}
		if err := e.enqueue(ctx, tx, changes); err != nil {
			return err
		}
		var events []fleet.Event
		for _, c := range changes {
			writes = append(writes, c.OperationChange)
			events = append(events, c.Events...)
			taken = append(taken, c.Operation)
		}
		if _, err := tx.SaveOperations(ctx, sorted(writes)); err != nil {
			return fmt.Errorf("save operations: %w", err)
		}
		if len(events) == 0 {
			return nil
		}
		return tx.AppendEvents(ctx, events)
	})
	if err != nil {
		return fmt.Errorf("take operations over: %w", err)
	}
	e.metrics.takeOvers.Add(float64(len(taken)))
	for _, op := range taken {
		e.log.InfoContext(ctx, "operation taken over", "operation_id", op.ID, "orchestration_id", op.OrchestrationID, "attempt", op.Attempt)
	}
	if len(due) > 0 {
		if _, err := e.queue.Wake(ctx, due); err != nil {
			return fmt.Errorf("wake due jobs: %w", err)
		}
	}
	if len(due)+len(taken) > 0 {
		e.queue.Nudge()
	}
	return nil
}

// waiting returns which jobs of the operations still wait.
func (e *Engine) waiting(ctx context.Context, tx fleet.Tx, ops []fleet.Operation) (map[int64]bool, error) {
	ids := make([]int64, 0, len(ops))
	for _, op := range ops {
		if op.JobID != 0 {
			ids = append(ids, op.JobID)
		}
	}
	found, err := e.queue.Waiting(ctx, tx, ids)
	if err != nil {
		return nil, fmt.Errorf("ask for waiting jobs: %w", err)
	}
	waits := make(map[int64]bool, len(found))
	for _, id := range found {
		waits[id] = true
	}
	return waits, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
