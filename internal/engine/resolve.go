package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// resolveAgain is after what time the targets are resolved again when that failed for a reason that may pass.
const resolveAgain = 10 * time.Second

// resolution is the resolving of the targets of one orchestration by one holder.
type resolution struct {
	engine *Engine
	id     string
	// orchestration is the record as it was taken.
	orchestration fleet.Orchestration
}

// resolve turns the targets of a pending orchestration into operations once it is due. It returns when to come again.
func (e *Engine) resolve(ctx context.Context, orchestrationID string) (time.Duration, error) {
	if _, busy := e.resolving.LoadOrStore(orchestrationID, true); busy {
		return time.Second, nil
	}
	defer e.resolving.Delete(orchestrationID)
	r := &resolution{engine: e, id: orchestrationID}
	wait, taken, err := r.take(ctx)
	if err != nil || !taken {
		return wait, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		r.keepLease(ctx, cancel)
	}()
	err = r.carryOut(ctx)
	cancel(nil)
	<-kept
	if err == nil || errors.Is(err, fleet.ErrFenced) {
		return 0, nil
	}
	return r.giveUp(context.WithoutCancel(ctx), err)
}

// take makes this process the one that resolves the targets. Without that it returns how long to wait.
func (r *resolution) take(ctx context.Context) (wait time.Duration, taken bool, err error) {
	err = r.engine.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) error {
		wait, taken = 0, false
		o, err := tx.LockOrchestration(ctx, r.id)
		if err != nil {
			return fmt.Errorf("lock orchestration: %w", err)
		}
		now := tx.Now()
		switch {
		case o.State != fleet.Pending || !o.ResolvedAt.IsZero() || o.Unreadable != "":
			return nil
		case now.Before(o.NotBefore):
			wait = o.NotBefore.Sub(now)
			return nil
		case now.Before(o.LeaseUntil):
			wait = o.LeaseUntil.Sub(now) + time.Second
			return nil
		}
		o.Fence++
		o.LeaseUntil = now.Add(r.engine.limits.LeaseFor)
		o.Description = "resolving the targets"
		taken, r.orchestration = true, o
		return tx.SaveOrchestration(ctx, &o)
	})
	return wait, taken, err
}

// held runs f in a transaction in which this holder still has the orchestration; else it returns ErrFenced.
func (r *resolution) held(ctx context.Context, f func(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) error) error {
	return r.engine.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) error {
		o, err := tx.LockOrchestration(ctx, r.id)
		if err != nil {
			return fmt.Errorf("lock orchestration: %w", err)
		}
		if o.Fence != r.orchestration.Fence || o.State != fleet.Pending {
			return fleet.ErrFenced
		}
		return f(ctx, tx, &o)
	})
}

func (r *resolution) keepLease(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(r.engine.limits.LeaseFor / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := r.held(ctx, func(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) error {
			o.LeaseUntil = tx.Now().Add(r.engine.limits.LeaseFor)
			return tx.SaveOrchestration(ctx, o)
		})
		if errors.Is(err, fleet.ErrFenced) {
			cancel(fleet.ErrFenced)
			return
		}
	}
}

// carryOut removes what an earlier holder left, asks the resolver, and stores what it says.
func (r *resolution) carryOut(ctx context.Context) error {
	for {
		n := 0
		err := r.held(ctx, func(ctx context.Context, tx fleet.Tx, _ *fleet.Orchestration) (err error) {
			n, err = tx.DeleteUnresolved(ctx, r.id, r.engine.limits.InsertChunk)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove operations of an earlier try: %w", err)
		}
		if n == 0 {
			break
		}
	}
	found, err := r.engine.resolveTargets(ctx, r.orchestration.Parameters.Targets, "orchestration_id", r.id)
	if errors.Is(context.Cause(ctx), fleet.ErrFenced) {
		return fleet.ErrFenced
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("resolve targets: %w", err)
	}
	if err := r.insertLeftOut(ctx, found.LeftOut); err != nil {
		return err
	}
	counts, err := r.insertOperations(ctx, found.Runtimes)
	if err != nil {
		return err
	}
	return r.finish(ctx, counts, len(found.LeftOut), fleet.SumUp(found.LeftOut))
}

// resolveTargets asks the resolver, for orchestrations and for previews of them. A panic must not end the process, which would resolve the same
// targets again after its restart. The attributes are for the log.
func (e *Engine) resolveTargets(ctx context.Context, targets orchestration.TargetSpec, attributes ...any) (found fleet.Resolution, err error) {
	defer func() {
		if p := recover(); p != nil {
			attributes = append(attributes, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			e.log.ErrorContext(ctx, "the resolver panicked", attributes...)
			err = fmt.Errorf("the resolver panicked: %v", p)
		}
	}()
	return e.resolver.ResolveTargets(ctx, targets)
}

func (r *resolution) insertLeftOut(ctx context.Context, rows []fleet.LeftOut) error {
	chunk := r.engine.limits.InsertChunk
	for begin := 0; begin < len(rows); begin += chunk {
		part := make([]fleet.LeftOut, 0, chunk)
		for i, row := range rows[begin:min(begin+chunk, len(rows))] {
			row.OrchestrationID, row.Position = r.id, begin+i
			part = append(part, row)
		}
		err := r.held(ctx, func(ctx context.Context, tx fleet.Tx, _ *fleet.Orchestration) error {
			return tx.InsertLeftOut(ctx, part)
		})
		if err != nil {
			return fmt.Errorf("store what was left out: %w", err)
		}
	}
	return nil
}

func (r *resolution) insertOperations(ctx context.Context, targets []fleet.Target) (fleet.Counts, error) {
	var total fleet.Counts
	chunk := r.engine.limits.InsertChunk
	for begin := 0; begin < len(targets); begin += chunk {
		part := targets[begin:min(begin+chunk, len(targets))]
		var counts fleet.Counts
		err := r.held(ctx, func(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) error {
			counts = fleet.Counts{}
			ops := make([]fleet.Operation, 0, len(part))
			var events []fleet.Event
			for i, t := range part {
				op, skipped := fleet.NewOperation(o, uuid.NewString(), begin+i, t, tx.Now())
				counts.Add(op.State, 1)
				ops = append(ops, op)
				events = append(events, skipped...)
			}
			if err := tx.InsertOperations(ctx, ops); err != nil {
				return err
			}
			if len(events) > 0 {
				if err := tx.AppendEvents(ctx, events); err != nil {
					return err
				}
			}
			o.LeaseUntil = tx.Now().Add(r.engine.limits.LeaseFor)
			return tx.SaveOrchestration(ctx, o)
		})
		if err != nil {
			return fleet.Counts{}, fmt.Errorf("store operations: %w", err)
		}
		total.Pending += counts.Pending
		total.Canceled += counts.Canceled
	}
	return total, nil
}

// finish freezes the targets and lets the first operations start, in one transaction.
func (r *resolution) finish(ctx context.Context, counts fleet.Counts, leftOut int, why string) error {
	var a admitted
	err := r.held(ctx, func(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) (err error) {
		events := fleet.Resolve(o, counts, leftOut, why, tx.Now())
		if a, err = r.engine.admit(ctx, tx, o); err != nil {
			return err
		}
		events = append(events, a.events...)
		events = append(events, fleet.Settle(o, tx.Now())...)
		return saveWithEvents(ctx, tx, o, events)
	})
	if err != nil {
		return fmt.Errorf("freeze the targets: %w", err)
	}
	r.engine.admittedCommitted(a)
	return nil
}

// giveUp ends the orchestration when its targets can never be resolved, and else lets go of it so that it is tried again.
func (r *resolution) giveUp(ctx context.Context, reason error) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, handBackFor)
	defer cancel()
	forGood := errors.Is(reason, fleet.ErrInvalid)
	cutShort := errors.Is(reason, context.Canceled)
	again := resolveAgain
	err := r.held(ctx, func(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration) error {
		o.LeaseUntil = tx.Now()
		if cutShort {
			again = putBack
			return tx.SaveOrchestration(ctx, o)
		}
		var events []fleet.Event
		if forGood {
			again = 0
			events = fleet.RefuseTargets(o, reason, tx.Now())
		} else {
			o.Description = fleet.Line("waiting until the targets can be resolved: " + reason.Error())
			o.LeaseUntil = tx.Now().Add(resolveAgain)
		}
		return saveWithEvents(ctx, tx, o, events)
	})
	if errors.Is(err, fleet.ErrFenced) {
		return 0, nil
	}
	if !cutShort && !forGood {
		r.engine.log.WarnContext(ctx, "targets cannot be resolved yet", "orchestration_id", r.id, "error", reason)
	}
	return again, err
}
