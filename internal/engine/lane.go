package engine

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
)

// lane writes the results of steps, those of one orchestration in one transaction together with the admission of the next operations.
type lane struct {
	engine *Engine
	inbox  *inbox[*settleRequest]
}

// settleRequest is a result to be written, or a lease to be renewed.
type settleRequest struct {
	operation fleet.Operation
	step      fleet.Step
	rules     fleet.StepRules
	renew     bool
	answer    chan settleAnswer
}

type settleAnswer struct {
	// again is how long to wait for the next step; zero when there is none.
	again time.Duration
	// fenced is true when the operation had another holder.
	fenced bool
	err    error
}

// laneOf returns the lane of an orchestration. All writes about one go through one lane, in order.
func (e *Engine) laneOf(orchestrationID string) *lane {
	h := fnv.New32a()
	_, _ = h.Write([]byte(orchestrationID))
	return e.lanes[h.Sum32()%uint32(len(e.lanes))]
}

func (l *lane) run(ctx context.Context) {
	for {
		requests := l.inbox.take(ctx, l.engine.limits.GroupFor, l.engine.limits.GroupSize)
		if len(requests) == 0 && ctx.Err() != nil {
			return
		}
		groups := map[string][]*settleRequest{}
		for _, r := range requests {
			groups[r.operation.OrchestrationID] = append(groups[r.operation.OrchestrationID], r)
		}
		for id, group := range groups {
			l.settle(context.WithoutCancel(ctx), id, group)
		}
	}
}

// settle writes a group, again after short waits when the store does not take it at once.
func (l *lane) settle(ctx context.Context, orchestrationID string, group []*settleRequest) {
	e := l.engine
	e.metrics.groups.Observe(float64(len(group)))
	var s *settlement
	var err error
	for try := range settleTries {
		if try > 0 {
			<-time.After(settlePause << try)
		}
		attempt, cancel := context.WithTimeout(ctx, e.limits.StepTimeout)
		err = e.store.Update(attempt, func(ctx context.Context, tx fleet.Tx) error {
			s = newSettlement(e, tx, orchestrationID)
			return s.write(ctx, group)
		})
		cancel()
		if err == nil {
			s.committed()
			break
		}
	}
	if err != nil {
		e.log.ErrorContext(ctx, "results of steps were not written and are looked for again", "orchestration_id", orchestrationID, "steps", len(group), "error", err)
	}
	for _, r := range group {
		answer := settleAnswer{err: err}
		if err == nil {
			answer = s.answers[r]
		}
		if r.renew {
			if answer.fenced {
				e.running.fenced(r.operation.ID)
			}
			continue
		}
		r.answer <- answer
	}
}

const (
	settleTries = 4
	settlePause = 50 * time.Millisecond
)

// settlement is the writing of one group.
type settlement struct {
	engine          *Engine
	tx              fleet.Tx
	now             time.Time
	orchestrationID string

	answers  map[*settleRequest]settleAnswer
	versions []fleet.RuntimeVersion
	events   []fleet.Event
	ended    []fleet.Operation
	admitted admitted
}

func newSettlement(e *Engine, tx fleet.Tx, orchestrationID string) *settlement {
	return &settlement{engine: e, tx: tx, now: tx.Now(), orchestrationID: orchestrationID, answers: map[*settleRequest]settleAnswer{}}
}

func (s *settlement) write(ctx context.Context, group []*settleRequest) error {
	changes := map[string]fleet.Change{}
	order := make([]*settleRequest, 0, len(group))
	moves := false
	for _, r := range group {
		c, ok := s.change(r)
		if !ok {
			s.answers[r] = settleAnswer{fenced: true}
			continue
		}
		changes[r.operation.ID] = c
		order = append(order, r)
		moves = moves || c.From != c.Operation.State
	}
	var o fleet.Orchestration
	if moves {
		var err error
		if o, err = s.tx.LockOrchestration(ctx, s.orchestrationID); err != nil {
			return fmt.Errorf("lock orchestration: %w", err)
		}
	}
	// The last word about an operation counts: a result comes after the renewals of its lease.
	writes := make([]fleet.OperationChange, 0, len(changes))
	for _, c := range changes {
		writes = append(writes, c.OperationChange)
	}
	lost, err := s.tx.SaveOperations(ctx, sorted(writes))
	if err != nil {
		return fmt.Errorf("save operations: %w", err)
	}
	fenced := make(map[string]bool, len(lost))
	for _, id := range lost {
		fenced[id] = true
	}
	for _, r := range order {
		s.note(r, changes[r.operation.ID], fenced[r.operation.ID])
	}
	if !moves {
		return nil
	}
	for id, c := range changes {
		if !fenced[id] && c.From != c.Operation.State {
			o.Counts.Move(c.From, c.Operation.State)
			s.events = append(s.events, c.Events...)
			s.ended = append(s.ended, c.Operation)
			s.keepVersion(c.Operation)
		}
	}
	return s.finish(ctx, &o)
}

func (s *settlement) change(r *settleRequest) (fleet.Change, bool) {
	if r.renew {
		op := r.operation
		op.LeaseUntil = s.now.Add(s.engine.limits.LeaseFor)
		return fleet.Change{OperationChange: fleet.OperationChange{Operation: op, IfFence: op.Fence}, From: op.State}, true
	}
	return fleet.ApplyStep(r.operation, r.step, s.now, r.rules)
}

// note prepares the answer to one request.
func (s *settlement) note(r *settleRequest, c fleet.Change, fenced bool) {
	a := settleAnswer{fenced: fenced}
	if !fenced && c.Operation.State == fleet.InProgress {
		a.again = max(c.Operation.CheckAt.Sub(s.now), putBack)
	}
	s.answers[r] = a
}

func (s *settlement) keepVersion(op fleet.Operation) {
	if op.State != fleet.Succeeded || op.DryRun {
		return
	}
	v := fleet.RuntimeVersion{InstanceID: op.InstanceID, KymaConfig: op.KymaConfig, ClusterConfig: op.ClusterConfig}
	if op.Type == kymaType {
		v.KymaVersion = op.Version
	}
	if v.KymaVersion != "" || v.KymaConfig != nil || v.ClusterConfig != nil {
		s.versions = append(s.versions, v)
	}
}

// finish admits what takes the places, and writes the orchestration and the history.
func (s *settlement) finish(ctx context.Context, o *fleet.Orchestration) error {
	if len(s.versions) > 0 {
		if err := s.tx.SetRuntimeVersions(ctx, s.versions); err != nil {
			return fmt.Errorf("record versions of runtimes: %w", err)
		}
	}
	var err error
	if s.admitted, err = s.engine.admit(ctx, s.tx, o); err != nil {
		return err
	}
	s.events = append(s.events, s.admitted.events...)
	s.events = append(s.events, fleet.Settle(o, s.now)...)
	return saveWithEvents(ctx, s.tx, o, s.events)
}

// committed does what has to come after the commit.
func (s *settlement) committed() {
	e := s.engine
	for _, op := range s.ended {
		e.flights.remove(op.ID)
		if op.State.Ended() {
			e.metrics.finished.WithLabelValues(string(op.Type), string(op.State)).Inc()
		}
	}
	e.admittedCommitted(s.admitted)
}
