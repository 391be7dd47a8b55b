package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// wakeAfter is how long after a step the next one runs when a wake came meanwhile.
const wakeAfter = 200 * time.Millisecond

// step carries out the next step of one operation: claim, call the executor, write the result.
func (e *Engine) step(ctx context.Context, job fleet.Job) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	current, ok := e.running.begin(job.OperationID, e.hangsAfter(), cancel)
	if !ok {
		// The holder in this process is about to end; the sweep finds out if it is not.
		return time.Second, nil
	}
	again, err := e.stepOf(ctx, job, current)
	if e.running.end(job.OperationID, current, again > 0) && again > wakeAfter {
		again = wakeAfter
	}
	return again, err
}

func (e *Engine) stepOf(ctx context.Context, job fleet.Job, current *runningStep) (time.Duration, error) {
	claim := e.claims.take(ctx, fleet.Claim{OperationID: job.OperationID, Attempt: job.Attempt, Lease: e.limits.LeaseFor})
	if claim.err != nil {
		return 0, claim.err
	}
	if !claim.taken {
		return 0, nil
	}
	op := claim.operation
	e.running.claimed(current, op)
	b := e.bindings[op.Type]
	rules := e.rulesOf(b)
	s := e.call(ctx, b, op, claim.now)
	request := &settleRequest{operation: op, step: s, rules: rules, answer: make(chan settleAnswer, 1)}
	e.running.hand(current, func() { e.laneOf(op.OrchestrationID).inbox.put(request) })
	// A result is worth waiting for even when the step was cut off; the lane answers as long as the engine is not stopped.
	select {
	case answer := <-request.answer:
		return answer.again, answer.err
	case <-e.finished:
		return 0, errCutOff
	}
}

// hangsAfter is the age from which on a step counts as one that will never return.
func (e *Engine) hangsAfter() time.Duration { return e.limits.StepTimeout + e.limits.LeaseFor }

func (e *Engine) rulesOf(b *binding) fleet.StepRules {
	rules := fleet.StepRules{
		TimeLimit: e.limits.OperationTimeLimit, DefaultAfter: e.limits.CheckEvery, Margin: e.limits.LeaseFor / 2,
		BackoffFrom: e.limits.BackoffFrom, BackoffTo: e.limits.BackoffTo,
	}
	if b != nil {
		rules.Backend = b.Backend
	}
	return rules
}

// call asks the executor and judges what comes back.
func (e *Engine) call(ctx context.Context, b *binding, op fleet.Operation, now time.Time) fleet.Step {
	if b == nil {
		return fleet.Step{Err: fmt.Errorf("no executor is configured for %s", op.Type)}
	}
	parameters, err := e.cache.get(ctx, e.store, op.OrchestrationID)
	if err != nil {
		return e.failed(ctx, err)
	}
	timed, cancel := context.WithTimeoutCause(ctx, e.limits.StepTimeout, errTimeout)
	defer cancel()
	if err := b.limiter.Wait(timed); err != nil {
		return e.failed(ctx, fmt.Errorf("wait for the request budget: %w", err))
	}
	g := &guarding{guards: e.guards, operation: op}
	begin := e.clock()
	result, err := e.callSafely(timed, b, taskOf(op, parameters, now), op.Following, g)
	s := fleet.Step{Result: result}
	if refusal := g.refusal(err); refusal != nil {
		s = fleet.Step{Err: refusal}
	} else if err != nil {
		if cause := context.Cause(timed); errors.Is(cause, errTimeout) {
			err = fmt.Errorf("%w: %w", errTimeout, err)
		}
		s = e.failed(ctx, err)
		// Where access was refused nothing was done, so nothing is uncertain.
		s.Passed = g.passed && !errors.Is(err, fleet.ErrNoAccess)
		s.Unstarted = g.unstarted && !s.Passed
		if e.canceledUnsent(ctx, op, s) {
			s = fleet.Step{Err: fleet.ErrCanceled}
		}
	}
	e.metrics.step(b.Backend, s, e.clock().Sub(begin))
	if s.HandBack || g.failed(err) || s.Result.Unasked {
		return s
	}
	if g.refusal(err) != nil {
		err = nil
	}
	if b.breaker.record(err, g.passed) {
		e.breakerChanged(ctx, op.Type, b)
	}
	s.ShutOut = errors.Is(s.Err, fleet.ErrNoAccess) && b.breaker.down()
	return s
}

// canceledUnsent reports whether a step that failed belongs to an orchestration that was canceled and to an operation of which certainly nothing was sent. It need
// not wait for its backend to answer again.
func (e *Engine) canceledUnsent(ctx context.Context, op fleet.Operation, s fleet.Step) bool {
	if s.HandBack || s.Passed || op.Sent || op.Uncertain && !s.Unstarted || errors.Is(s.Err, fleet.ErrFenced) {
		return false
	}
	view, err := e.guards.view(ctx, op.ID)
	return err == nil && errors.Is(fleet.CheckGuard(op, view), fleet.ErrCanceled)
}

func (e *Engine) breakerChanged(ctx context.Context, t orchestration.Type, b *binding) {
	value := 0.0
	if _, fault := b.breaker.fault(); fault != nil {
		value = 1
		e.log.WarnContext(ctx, "no operation starts while the backend does not answer or refuses access", "backend", b.Backend, "error", fault)
	} else {
		e.log.InfoContext(ctx, "operations start again", "backend", b.Backend)
		// Those in progress may still wait long for their next try.
		e.flights.wakeAll(t)
	}
	e.metrics.down.WithLabelValues(string(b.Backend)).Set(value)
}

// failed makes the step of an error: a hand-back when the process stops, ErrFenced when the operation was taken over, else a passing fault.
func (e *Engine) failed(ctx context.Context, err error) fleet.Step {
	switch {
	case errors.Is(context.Cause(ctx), fleet.ErrFenced):
		return fleet.Step{Err: fleet.ErrFenced}
	case errors.Is(ctx.Err(), context.Canceled):
		return fleet.Step{HandBack: true}
	default:
		return fleet.Step{Err: err}
	}
}

// callSafely makes one step: a check of what is known to run, else a look and, where it is needed, the start. A panic fails the operation.
func (e *Engine) callSafely(ctx context.Context, b *binding, task fleet.Task, following bool, g *guarding) (result fleet.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			e.log.ErrorContext(ctx, "an executor panicked", "backend", b.Backend, "operation_id", task.OperationID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			result, err = fleet.Result{Outcome: fleet.Refused, Reason: fmt.Sprintf("the executor panicked: %v", r), Sent: task.Sent || g.passed}, nil
		}
	}()
	if following {
		return b.Executor.Check(ctx, task, g.check)
	}
	seen, err := b.Executor.Observe(ctx, task)
	if err != nil || seen.Outcome != fleet.NeedsStart {
		return seen, err
	}
	if seen.Memo != nil {
		task.Memo = seen.Memo
	}
	if seen.Version != "" {
		task.Version = seen.Version
	}
	g.unstarted = true
	result, err = b.Executor.Start(ctx, task, g.check)
	if err != nil {
		return fleet.Result{}, err
	}
	return merge(seen, result), nil
}

// merge keeps what a look has shown where the start does not say something newer.
func merge(seen, started fleet.Result) fleet.Result {
	if started.Description == "" {
		started.Description = seen.Description
	}
	if started.Memo == nil {
		started.Memo = seen.Memo
	}
	if started.Version == "" {
		started.Version = seen.Version
	}
	if started.KymaConfig == nil {
		started.KymaConfig = seen.KymaConfig
	}
	if started.ClusterConfig == nil {
		started.ClusterConfig = seen.ClusterConfig
	}
	if started.TimeLimitFrom.IsZero() {
		started.TimeLimitFrom = seen.TimeLimitFrom
	}
	started.Sent = started.Sent || seen.Sent
	return started
}

func taskOf(op fleet.Operation, p orchestration.Parameters, now time.Time) fleet.Task {
	return fleet.Task{
		OperationID: op.ID, OrchestrationID: op.OrchestrationID, Attempt: op.Attempt, RuntimeID: op.RuntimeID, InstanceID: op.InstanceID,
		GlobalAccountID: op.GlobalAccountID, SubAccountID: op.SubAccountID, ShootName: op.ShootName, Parameters: p, Version: op.Version,
		DryRun: op.DryRun, Sent: op.Sent, Memo: op.Memo, StartedAt: op.StartedAt, Now: now,
	}
}

// guarding is the guard of one step.
type guarding struct {
	guards    *guards
	operation fleet.Operation
	// passed is true once a write was let through: from then on something may have been sent.
	passed bool
	// unstarted is true once a look has shown that nothing was started.
	unstarted bool
	last      error
}

func (g *guarding) check(ctx context.Context) error {
	view, err := g.guards.view(ctx, g.operation.ID)
	if err != nil {
		g.last = fmt.Errorf("ask whether the operation may still be sent: %w", err)
		return g.last
	}
	op := g.operation
	op.Sent = op.Sent || g.passed
	g.last = fleet.CheckGuard(op, view)
	g.passed = g.passed || g.last == nil
	return g.last
}

// refusal returns why the guard refused the step, also when the executor did not pass it on as it should.
func (g *guarding) refusal(err error) error {
	for _, refused := range []error{fleet.ErrFenced, fleet.ErrCanceled, fleet.ErrWindowClosed} {
		if errors.Is(err, refused) || (!g.passed && errors.Is(g.last, refused)) {
			return refused
		}
	}
	return nil
}

// failed reports whether the error is about the store that the guard asked, and says nothing about the backend.
func (g *guarding) failed(err error) bool {
	return err != nil && g.last != nil && errors.Is(err, g.last)
}

// parameterCache keeps the parameters of orchestrations, which never change.
type parameterCache struct {
	mu      sync.Mutex
	entries map[string]orchestration.Parameters
}

const cachedParameters = 1000

func (c *parameterCache) get(ctx context.Context, store fleet.Reader, orchestrationID string) (orchestration.Parameters, error) {
	c.mu.Lock()
	p, ok := c.entries[orchestrationID]
	c.mu.Unlock()
	if ok {
		return p, nil
	}
	o, err := store.Orchestration(ctx, orchestrationID)
	if err != nil {
		return orchestration.Parameters{}, fmt.Errorf("read orchestration: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || len(c.entries) >= cachedParameters {
		c.entries = map[string]orchestration.Parameters{}
	}
	c.entries[orchestrationID] = o.Parameters
	return o.Parameters, nil
}
