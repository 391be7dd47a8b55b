package engine

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// Options are what an engine needs. Store, Queue, Resolver, Logger and Clock must be set.
type Options struct {
	Store    fleet.Store
	Queue    fleet.Queue
	Resolver fleet.Resolver
	// Sightings are asked before a runtime is forgotten; nil means that there is no continuous source that could bring it back.
	Sightings fleet.Sightings
	// Executors carry out the operations of each type. A type without one is refused when it is asked for.
	Executors map[orchestration.Type]ExecutorBinding
	Logger    *slog.Logger
	// Clock is the time of this process. It serves timers and breakers only: what is stored is judged by the clock of the database.
	Clock func() time.Time
	// Metrics is where the engine's metrics are registered; nil means nowhere.
	Metrics prometheus.Registerer
	// Exclusive says that no other process works on the store, so that at the start every operation that was in somebody's hands is taken
	// over at once instead of after its lease.
	Exclusive bool
	Limits    Limits
}

// ExecutorBinding is an executor with the limits of its backend.
type ExecutorBinding struct {
	// Backend names what the executor speaks to, in messages and metrics.
	Backend fleet.Backend
	// Executor carries the operations out. If it also is a fleet.Watcher or a fleet.RuntimeWatcher, it wakes them; if a fleet.Validator, it is asked before anything is stored.
	Executor fleet.Executor
	// RequestsPerSecond is the number of steps per second that may call the executor in this process; 0 means no limit.
	RequestsPerSecond float64
	// Burst is the number of steps that may call it at the same instant. The default is the larger of 1 and RequestsPerSecond.
	Burst int
	// BreakerFailures is the number of passing faults in a row, over all operations, after which no further operation starts. The default is 5.
	BreakerFailures int
	// BreakerPause is how long after the last fault one operation is let through to try again; it doubles up to 8 times its value
	// while faults go on. The default is 10 s.
	BreakerPause time.Duration
}

// Limits bound what the engine does. The zero value of each field takes the default.
type Limits struct {
	// OperationTimeLimit is how long an operation may be in progress. The default is 3 h.
	OperationTimeLimit time.Duration
	// StepTimeout is how long one step may take. The default is 30 s.
	StepTimeout time.Duration
	// MaxWorkers is the highest number of workers that an orchestration may ask for. The default is 1,000.
	MaxWorkers int
	// DefaultKymaVersion is what an upgrade of Kyma without a version gets; without a default such a request is refused.
	DefaultKymaVersion string
	// LeaseFor is how long a process that does not answer keeps what it works on. The default is 16 s.
	LeaseFor time.Duration
	// SweepEvery is how often the rows are searched for what was missed. The default is 3 s.
	SweepEvery time.Duration
	// CheckEvery is how long after a step the next one is due when the executor does not say. The default is 10 s.
	CheckEvery time.Duration
	// BackoffFrom and BackoffTo are the shortest and the longest wait after a passing fault. The defaults are 1 s and 10 s: a backend that is
	// away altogether is the breaker's business, and one that answers most of the time should not keep an operation waiting for long.
	BackoffFrom, BackoffTo time.Duration
	// GroupFor is how long a finished step waits for others to be written together with. The default is 3 ms.
	GroupFor time.Duration
	// GroupSize is how many steps are written together at most. The default is 200.
	GroupSize int
	// Lanes is the number of groups that are written at the same time. The default is 1, which suits SQLite.
	Lanes int
	// InsertChunk is the number of operations that are inserted in one transaction. The default is 5,000.
	InsertChunk int
}

func (l Limits) withDefaults() Limits {
	l.OperationTimeLimit = cmp.Or(l.OperationTimeLimit, 3*time.Hour)
	l.StepTimeout = cmp.Or(l.StepTimeout, 30*time.Second)
	l.MaxWorkers = cmp.Or(l.MaxWorkers, 1000)
	l.LeaseFor = cmp.Or(l.LeaseFor, 16*time.Second)
	l.SweepEvery = cmp.Or(l.SweepEvery, 3*time.Second)
	l.CheckEvery = cmp.Or(l.CheckEvery, 10*time.Second)
	l.BackoffFrom = cmp.Or(l.BackoffFrom, time.Second)
	l.BackoffTo = cmp.Or(l.BackoffTo, 10*time.Second)
	l.GroupFor = cmp.Or(l.GroupFor, 3*time.Millisecond)
	l.GroupSize = cmp.Or(l.GroupSize, 200)
	l.Lanes = cmp.Or(l.Lanes, 1)
	l.InsertChunk = cmp.Or(l.InsertChunk, 5000)
	return l
}

func (o *Options) validate() error {
	var problems []error
	for _, required := range []struct {
		name string
		set  bool
	}{{"Store", o.Store != nil}, {"Queue", o.Queue != nil}, {"Resolver", o.Resolver != nil}, {"Logger", o.Logger != nil}, {"Clock", o.Clock != nil}} {
		if !required.set {
			problems = append(problems, errors.New("engine: "+required.name+" must be set"))
		}
	}
	for t, b := range o.Executors {
		if b.Executor == nil {
			problems = append(problems, errors.New("engine: the executor of "+string(t)+" must be set"))
		}
	}
	return errors.Join(problems...)
}
