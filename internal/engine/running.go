package engine

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
)

var (
	// errCutOff is the cause of the context of a step that is cut off because the process stops.
	errCutOff = errors.New("the process stops")
	// errTimeout is the cause of the context of a step that takes too long.
	errTimeout = errors.New("the step took too long")
)

// running are the steps that this process carries out.
type running struct {
	clock func() time.Time

	mu    sync.Mutex
	steps map[string]*runningStep
	// total counts the steps, also those that hang and were given up.
	total int
	// ended has when the last step of an operation that goes on ended, for a little while.
	ended  map[string]time.Time
	pruned time.Time
	idle   chan struct{} // closed while nothing runs
}

// runningStep is one of them.
type runningStep struct {
	operation fleet.Operation
	begun     time.Time
	// claimed is true from when the operation is known to when its result is handed over to be written.
	claimed bool
	renewed time.Time
	cancel  context.CancelCauseFunc
	// again is true when a wake came while the step ran.
	again bool
}

func newRunning(clock func() time.Time) *running {
	idle := make(chan struct{})
	close(idle)
	return &running{clock: clock, steps: map[string]*runningStep{}, ended: map[string]time.Time{}, idle: idle}
}

// begin enters a step. An operation whose step runs already in this process gives false, unless that one hangs: it is older than a limit.
func (r *running) begin(operationID string, limit time.Duration, cancel context.CancelCauseFunc) (*runningStep, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.steps[operationID]; ok && r.clock().Sub(s.begun) < limit {
		return nil, false
	}
	if r.total == 0 {
		r.idle = make(chan struct{})
	}
	r.total++
	s := &runningStep{cancel: cancel, begun: r.clock()}
	r.steps[operationID] = s
	return s, true
}

// end removes a step, after which there is another one or not, and reports whether a wake came while it ran.
func (r *running) end(operationID string, s *runningStep, goesOn bool) (again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.steps[operationID] == s {
		delete(r.steps, operationID)
	}
	r.total--
	now := r.clock()
	if goesOn {
		r.ended[operationID] = now
	} else {
		delete(r.ended, operationID)
	}
	if now.Sub(r.pruned) > settleDown {
		r.pruned = now
		maps.DeleteFunc(r.ended, func(_ string, at time.Time) bool { return now.Sub(at) > settleDown })
	}
	if r.total == 0 {
		close(r.idle)
	}
	return s.again
}

// claimed makes the operation known, so that its lease is kept.
func (r *running) claimed(s *runningStep, op fleet.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.operation, s.claimed, s.renewed = op, true, r.clock()
}

// hand marks the step's result as handed over, then calls put. No renewal of the lease is put after it.
func (r *running) hand(s *runningStep, put func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.claimed = false
	put()
}

// renew calls put for every claimed operation whose lease was not renewed for a while and whose step does not hang.
func (r *running) renew(every, limit time.Duration, put func(op fleet.Operation)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	for _, s := range r.steps {
		if s.claimed && now.Sub(s.renewed) >= every && now.Sub(s.begun) < limit {
			s.renewed = now
			put(s.operation)
		}
	}
}

// fenced cuts a step short whose operation has another holder by now.
func (r *running) fenced(operationID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.steps[operationID]; ok {
		s.cancel(fleet.ErrFenced)
	}
}

// alive reports whether a step of the operation runs here and is not older than a limit.
func (r *running) alive(operationID string, limit time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.steps[operationID]
	return ok && r.clock().Sub(s.begun) < limit
}

// wake remembers that a running step has to be followed by another one. It returns false when no step of the operation runs here.
func (r *running) wake(operationID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.steps[operationID]
	if ok {
		s.again = true
	}
	return ok
}

// justEnded reports whether a step of the operation ended here so short ago that its job may not be back in the queue yet.
func (r *running) justEnded(operationID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.ended[operationID]
	return ok && r.clock().Sub(at) < settleDown
}

// settleDown is how long the queue may take to put a job back whose handler has returned. It writes many at a time, and may have to wait for
// the database.
const settleDown = 15 * time.Second

// wait waits until nothing runs.
func (r *running) wait(ctx context.Context) error {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
		return nil
	default:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cutOff ends the contexts of all steps.
func (r *running) cutOff() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.steps {
		s.cancel(errCutOff)
	}
}

// keepLeases renews the leases of steps that take long, as long as the process lives.
func (e *Engine) keepLeases(ctx context.Context) {
	ticker := time.NewTicker(e.limits.LeaseFor / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			e.running.renew(e.limits.LeaseFor/4, e.hangsAfter(), func(op fleet.Operation) {
				e.laneOf(op.OrchestrationID).inbox.put(&settleRequest{operation: op, renew: true})
			})
		}
	}
}
