package strategies

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/sirupsen/logrus"

	"github.com/swell-fleet/swell/internal/window"
	"github.com/swell-fleet/swell/orchestration"
)

// parallel implements orchestration.Strategy.
type parallel struct {
	executor Executor
	log      logrus.FieldLogger
	clock    func() time.Time

	mu         sync.Mutex
	executions map[string]*execution // those that have not finished
}

var _ orchestration.Strategy = (*parallel)(nil)

// NewParallelOrchestrationStrategy returns a strategy that has at most Workers operations of an execution started and not finished at the
// same time (see the package's documentation). It may be used by several goroutines at the same time.
//
// A nil executor makes every Execute fail. A nil logger discards what is logged.
func NewParallelOrchestrationStrategy(executor Executor, log logrus.FieldLogger) orchestration.Strategy {
	if isNil(log) {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		log = silent
	}
	return &parallel{
		executor:   executor,
		log:        log,
		clock:      time.Now, //nolint:forbidigo // the signature leaves no place for a clock; tests run in a synctest bubble
		executions: map[string]*execution{},
	}
}

// Execute starts to execute the operations and returns at once, with an ID for Wait and Cancel that is unique also for an empty list. The
// list may be changed afterwards.
//
// An empty type means parallel, an empty schedule means immediate, 0 workers mean 1. MaintenanceWindow makes every operation wait for its
// window, also beside the schedule immediate, which newer clients send together. Nothing starts before a ScheduleTime. Execute refuses an unknown type or
// schedule, negative workers, and a nil executor with an error; then nothing has been started.
func (p *parallel) Execute(operations []orchestration.RuntimeOperation, spec orchestration.StrategySpec) (string, error) {
	if p.executor == nil {
		return "", errors.New("execute operations: the executor is nil")
	}
	if len(operations) > math.MaxInt32 {
		return "", fmt.Errorf("execute operations: %d are too many", len(operations))
	}
	settings, err := settingsOf(spec)
	if err != nil {
		return "", fmt.Errorf("execute operations: %w", err)
	}

	id := uuid.NewString()
	log := p.log.WithField("execution_id", id)
	now := p.clock()
	e := &execution{
		id: id, executor: p.executor, log: log, clock: p.clock, forget: p.forget,
		workers: settings.workers, notBefore: nanoseconds(settings.notBefore), began: now,
		ids: make([]string, len(operations)), done: make(chan struct{}),
	}
	for i := range operations {
		e.ids[i] = operations[i].ID
	}
	if settings.inWindows {
		if settings.notBefore.After(now) {
			now = settings.notBefore
		}
		e.queue = windowsOf(operations, now, log)
	} else {
		e.queue = &listed{count: int32(len(operations))}
	}

	p.mu.Lock()
	p.executions[id] = e
	p.mu.Unlock()
	log.WithFields(logrus.Fields{"operations": e.queue.waiting(), "workers": e.workers}).Info("execution started")
	e.start()
	return id, nil
}

// Wait returns when the execution has ended: all its operations have, or it was canceled and the running calls of the executor have
// returned. It returns at once when the ID is unknown or that execution has ended before.
func (p *parallel) Wait(executionID string) {
	if e := p.find(executionID); e != nil {
		<-e.done
	}
}

// Cancel lets no further call of the executor begin, neither for operations that have not started nor for those that asked to be called
// again. It does not wait for calls that are running; one that is on its way into the executor at that very moment counts as running. It
// does nothing when the ID is unknown or that execution has ended.
func (p *parallel) Cancel(executionID string) {
	if e := p.find(executionID); e != nil {
		e.cancel()
	}
}

func (p *parallel) find(executionID string) *execution {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.executions[executionID]
}

func (p *parallel) forget(executionID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.executions, executionID)
}

// settings are what a StrategySpec asks for.
type settings struct {
	workers   int
	inWindows bool
	notBefore time.Time
}

func settingsOf(spec orchestration.StrategySpec) (settings, error) {
	s := settings{workers: spec.Parallel.Workers, inWindows: spec.MaintenanceWindow}
	switch spec.Type {
	case "", orchestration.ParallelStrategy:
	default:
		return settings{}, fmt.Errorf("unknown strategy type %q", spec.Type)
	}
	switch spec.Schedule {
	case "", orchestration.Immediate:
		// Beside MaintenanceWindow it says when the execution begins, and the flag that each operation waits for its window.
	case orchestration.MaintenanceWindow:
		s.inWindows = true
	default:
		return settings{}, fmt.Errorf("unknown schedule %q", spec.Schedule)
	}
	switch {
	case s.workers < 0:
		return settings{}, fmt.Errorf("workers must not be negative: %d", s.workers)
	case s.workers == 0:
		s.workers = 1
	}
	if spec.ScheduleTime != nil {
		s.notBefore = *spec.ScheduleTime
	}
	return s, nil
}

// windowsOf queues the operations for the first windows that have not ended at now, and leaves those out that have none.
func windowsOf(operations []orchestration.RuntimeOperation, now time.Time, log logrus.FieldLogger) queue {
	q := newWindowed(len(operations))
	for i := range operations {
		op := &operations[i]
		w, err := window.FromTimes(op.MaintenanceWindowBegin, op.MaintenanceWindowEnd, op.MaintenanceDays)
		if err == nil && !q.add(int32(i), w, now) {
			err = window.ErrNone
		}
		if err != nil {
			log.WithField("operation_id", op.ID).WithError(err).Warn("operation ended without a usable maintenance window")
		}
	}
	q.order()
	return q
}

// isNil says whether a logger is nil, also as a nil pointer to one of logrus' own types.
func isNil(log logrus.FieldLogger) bool {
	switch l := log.(type) {
	case nil:
		return true
	case *logrus.Logger:
		return l == nil
	case *logrus.Entry:
		return l == nil
	}
	return false
}
