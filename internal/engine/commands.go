package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// CreateOrchestration records a request to upgrade and answers once it is committed. The same idempotency key of the same user with the same body
// gives the orchestration of the first request; with another body it is a conflict.
func (e *Engine) CreateOrchestration(ctx context.Context, actor fleet.Actor, req fleet.CreateRequest) (fleet.Orchestration, error) {
	normal, notBefore, err := e.accept(ctx, req.Type, req.Parameters)
	if err != nil {
		return fleet.Orchestration{}, err
	}
	req.Parameters = normal
	var o fleet.Orchestration
	insert := func(ctx context.Context, tx fleet.Tx) (err error) {
		o, err = e.insert(ctx, tx, actor, req, notBefore)
		return err
	}
	err = e.store.Update(ctx, insert)
	if errors.Is(err, fleet.ErrConflict) && req.IdempotencyKey != "" {
		// Another request with the same key may have been committed in between; now it is found.
		err = e.store.Update(ctx, insert)
	}
	if err != nil {
		return fleet.Orchestration{}, fmt.Errorf("create orchestration: %w", err)
	}
	e.queue.Nudge()
	return o, nil
}

// accept brings the parameters of a request into their one stored form, or says why the request is refused.
func (e *Engine) accept(ctx context.Context, t orchestration.Type, asked orchestration.Parameters) (normal orchestration.Parameters, notBefore time.Time, err error) {
	normal, notBefore, err = fleet.NormalizeParameters(t, asked, fleet.ParameterOptions{
		MaxWorkers: e.limits.MaxWorkers, DefaultKymaVersion: e.limits.DefaultKymaVersion,
	})
	if err != nil {
		return orchestration.Parameters{}, time.Time{}, err
	}
	if err := e.validate(ctx, t, normal); err != nil {
		return orchestration.Parameters{}, time.Time{}, err
	}
	return normal, notBefore, nil
}

// validate asks the executor whether the request can be carried out at all. What it cannot tell now is found out later.
func (e *Engine) validate(ctx context.Context, t orchestration.Type, p orchestration.Parameters) error {
	b, ok := e.bindings[t]
	if !ok {
		return fleet.Invalidf("type", "no executor is configured for %s", t)
	}
	v, ok := b.Executor.(fleet.Validator)
	if !ok {
		return nil
	}
	err := v.Validate(ctx, p)
	if err != nil && !errors.Is(err, fleet.ErrInvalid) {
		e.log.WarnContext(ctx, "a request was accepted that could not be checked", "type", t, "error", err)
		return nil
	}
	return err
}

func (e *Engine) insert(ctx context.Context, tx fleet.Tx, actor fleet.Actor, req fleet.CreateRequest, notBefore time.Time) (fleet.Orchestration, error) {
	if req.IdempotencyKey != "" {
		found, err := tx.OrchestrationByKey(ctx, actor.User, req.IdempotencyKey)
		switch {
		case err == nil && found.BodyHash == req.BodyHash && found.Type == req.Type:
			return found, nil
		case err == nil:
			return fleet.Orchestration{}, fleet.Conflictf("the idempotency key was used for another request")
		case !errors.Is(err, fleet.ErrNotFound):
			return fleet.Orchestration{}, err
		}
	}
	now := tx.Now()
	o := fleet.Orchestration{
		ID: uuid.NewString(), Type: req.Type, State: fleet.Pending, Parameters: req.Parameters, NotBefore: notBefore, CreatedAt: now, UpdatedAt: now,
		CreatedBy: actor.User, IdempotencyKey: req.IdempotencyKey, BodyHash: req.BodyHash,
	}
	o.Description = fleet.Describe(&o)
	if err := tx.InsertOrchestration(ctx, &o); err != nil {
		return fleet.Orchestration{}, err
	}
	created := o.Event(now, fleet.EventCreated, fleet.LevelInfo, "", askedToCreate(&o))
	created.Actor = actor
	if err := tx.AppendEvents(ctx, []fleet.Event{created}); err != nil {
		return fleet.Orchestration{}, err
	}
	job := fleet.Job{Kind: fleet.JobStart, OrchestrationID: o.ID}
	if o.NotBefore.After(now) {
		job.At = o.NotBefore
	}
	if _, err := e.queue.Insert(ctx, tx, []fleet.Job{job}); err != nil {
		return fleet.Orchestration{}, fmt.Errorf("enqueue the start: %w", err)
	}
	return o, nil
}

// CancelOrchestration lets no further operation start once it has answered; those in progress run to their end. On a canceling or ended
// orchestration nothing changes.
func (e *Engine) CancelOrchestration(ctx context.Context, actor fleet.Actor, id string) (fleet.Orchestration, error) {
	var o fleet.Orchestration
	err := e.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) (err error) {
		if o, err = tx.LockOrchestration(ctx, id); err != nil {
			return err
		}
		events, changed := fleet.RequestCancel(&o, tx.Now(), actor)
		if !changed {
			return nil
		}
		if err := e.enqueueAdvance(ctx, tx, id); err != nil {
			return err
		}
		return saveWithEvents(ctx, tx, &o, events)
	})
	if err != nil {
		return fleet.Orchestration{}, fmt.Errorf("cancel orchestration: %w", err)
	}
	e.queue.Nudge()
	return o, nil
}

func (e *Engine) enqueueAdvance(ctx context.Context, tx fleet.Tx, orchestrationID string) error {
	if _, err := e.queue.Insert(ctx, tx, []fleet.Job{{Kind: fleet.JobAdvance, OrchestrationID: orchestrationID}}); err != nil {
		return fmt.Errorf("enqueue the next step of the orchestration: %w", err)
	}
	return nil
}

// RetryOrchestration makes new operations for those that failed or were canceled, and answers once they are committed.
func (e *Engine) RetryOrchestration(ctx context.Context, actor fleet.Actor, req fleet.RetryRequest) (fleet.RetryResult, error) {
	var result fleet.RetryResult
	repeat := func(ctx context.Context, tx fleet.Tx) error {
		o, err := tx.LockOrchestration(ctx, req.OrchestrationID)
		if err != nil {
			return err
		}
		var known bool
		if result, known, err = knownRetry(ctx, tx, actor, req); err != nil || known {
			return err
		}
		if o.Unreadable != "" {
			return fleet.Conflictf("the stored parameters of the orchestration cannot be read")
		}
		plan, from, err := e.planRetry(ctx, tx, &o, req)
		if err != nil {
			return err
		}
		result = plan.Result
		if len(plan.New) > 0 {
			if err := e.storeRetry(ctx, tx, &o, from, actor, plan, askedToRetry(req, plan.Result.Message)); err != nil {
				return err
			}
		}
		if req.IdempotencyKey == "" {
			return nil
		}
		return tx.KeepRetry(ctx, actor.User, req.IdempotencyKey, fleet.KeptRetry{BodyHash: req.Hash(), Result: result})
	}
	err := e.store.Update(ctx, repeat)
	if err != nil {
		return fleet.RetryResult{}, fmt.Errorf("retry orchestration: %w", err)
	}
	e.queue.Nudge()
	return result, nil
}

// knownRetry returns the answer that the same request with the same idempotency key got before.
func knownRetry(ctx context.Context, tx fleet.Tx, actor fleet.Actor, req fleet.RetryRequest) (fleet.RetryResult, bool, error) {
	if req.IdempotencyKey == "" {
		return fleet.RetryResult{}, false, nil
	}
	kept, err := tx.RetryByKey(ctx, actor.User, req.IdempotencyKey)
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		return fleet.RetryResult{}, false, nil
	case err != nil:
		return fleet.RetryResult{}, false, err
	case kept.BodyHash != req.Hash():
		return fleet.RetryResult{}, false, fleet.Conflictf("the idempotency key was used for another request")
	default:
		return kept.Result, true, nil
	}
}

func (e *Engine) planRetry(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration, req fleet.RetryRequest) (fleet.RetryPlan, fleet.State, error) {
	from := o.State
	ops, unknown, err := retried(ctx, tx, req)
	if err != nil {
		return fleet.RetryPlan{}, from, err
	}
	runtimeIDs := make([]string, 0, len(ops))
	for _, op := range ops {
		runtimeIDs = append(runtimeIDs, op.RuntimeID)
	}
	newest, err := tx.NewestOnRuntimes(ctx, o.Type, runtimeIDs)
	if err != nil {
		return fleet.RetryPlan{}, from, fmt.Errorf("look for newer operations: %w", err)
	}
	plan, err := fleet.PlanRetry(o, req, ops, unknown, newest, uuid.NewString, tx.Now())
	return plan, from, err
}

// retried returns the operations that a request means, in its order, and the IDs that are none of the orchestration.
func retried(ctx context.Context, tx fleet.Tx, req fleet.RetryRequest) (ops []fleet.Operation, unknown []string, err error) {
	if len(req.OperationIDs) == 0 {
		ops, err = tx.RetryCandidates(ctx, req.OrchestrationID)
		return ops, nil, err
	}
	found, err := tx.Operations(ctx, req.OperationIDs)
	if err != nil {
		return nil, nil, err
	}
	byID := make(map[string]fleet.Operation, len(found))
	for _, op := range found {
		byID[op.ID] = op
	}
	for _, id := range req.OperationIDs {
		if op, ok := byID[id]; ok && op.OrchestrationID == req.OrchestrationID {
			ops = append(ops, op)
		} else {
			unknown = append(unknown, id)
		}
	}
	return ops, unknown, nil
}

func (e *Engine) storeRetry(ctx context.Context, tx fleet.Tx, o *fleet.Orchestration, from fleet.State, actor fleet.Actor, plan fleet.RetryPlan, asked string) error {
	requested := o.Event(tx.Now(), fleet.EventRetry, fleet.LevelInfo, from, asked)
	requested.Actor = actor
	events := []fleet.Event{requested}
	writes := make([]fleet.OperationChange, 0, len(plan.Superseded))
	for _, c := range plan.Superseded {
		writes = append(writes, c.OperationChange)
		events = append(events, c.Events...)
	}
	fenced, err := tx.SaveOperations(ctx, sorted(writes))
	if err != nil {
		return fmt.Errorf("save operations: %w", err)
	}
	if len(fenced) > 0 {
		return fmt.Errorf("save operations %v: %w", fenced, fleet.ErrFenced)
	}
	if err := tx.InsertOperations(ctx, plan.New); err != nil {
		return fmt.Errorf("add operations: %w", err)
	}
	events = append(events, fleet.Settle(o, tx.Now())...)
	if err := e.enqueueAdvance(ctx, tx, o.ID); err != nil {
		return err
	}
	return saveWithEvents(ctx, tx, o, events)
}

// ImportRuntimes merges documents by instance ID.
func (e *Engine) ImportRuntimes(ctx context.Context, actor fleet.Actor, source string, docs []runtime.RuntimeDTO) (fleet.ImportResult, error) {
	var result fleet.ImportResult
	err := e.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) (err error) {
		if result, err = tx.PutRuntimes(ctx, source, docs); err != nil {
			return err
		}
		if result.Imported+result.Updated == 0 {
			return nil
		}
		events := make([]fleet.Event, 0, len(result.Changes)+1)
		for i := range result.Changes {
			events = append(events, result.Changes[i].Event(source, actor, tx.Now()))
		}
		return tx.AppendEvents(ctx, append(events, fleet.Event{
			At: tx.Now(), Kind: fleet.EventImported, Level: fleet.LevelInfo, Actor: actor,
			Message: fmt.Sprintf("%s: runtimes: %d added, %d changed, %d unchanged", source, result.Imported, result.Updated, result.Unchanged),
		}))
	})
	if err != nil {
		return fleet.ImportResult{}, fmt.Errorf("import runtimes: %w", err)
	}
	return result, nil
}
