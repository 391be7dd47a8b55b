package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// Engine carries orchestrations out. It is safe for concurrent use; New makes one.
type Engine struct {
	store    fleet.Store
	queue    fleet.Queue
	resolver fleet.Resolver
	// sightings: see Options.Sightings.
	sightings fleet.Sightings
	log       *slog.Logger
	clock     func() time.Time
	limits    Limits
	metrics   *metrics
	bindings  map[orchestration.Type]*binding
	// exclusive: see Options.Exclusive.
	exclusive bool

	claims  *claimer
	guards  *guards
	lanes   []*lane
	running *running
	flights *flights
	cache   *parameterCache
	// resolving holds the orchestrations whose targets this process resolves at the moment.
	resolving sync.Map
	// quietUntil has the big orchestrations that the sweep leaves alone for a while; only the sweep uses it.
	quietUntil map[string]time.Time
	// resolvers bounds how many orchestrations the sweep lets be resolved at the same time.
	resolvers chan struct{}

	// background holds everything that Start started; stop ends it.
	background sync.WaitGroup
	// finished is closed when the background work has ended.
	finished chan struct{}
	mu       sync.Mutex
	ctx      context.Context //nolint:containedctx // The life of the background work, from Start to Stop.
	stop     context.CancelFunc
	state    lifeState
}

type lifeState uint8

const (
	notStarted lifeState = iota
	started
	stopping
	stopped
)

// binding is an executor with the guards of its backend.
type binding struct {
	ExecutorBinding

	limiter *rate.Limiter
	breaker *breaker
}

var (
	_ fleet.Commands = (*Engine)(nil)
	_ fleet.Handler  = (*Engine)(nil)
)

// New returns an engine that answers commands at once and carries out jobs from Start on. The error names every option that is missing.
func New(o Options) (*Engine, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		store: o.Store, queue: o.Queue, resolver: o.Resolver, sightings: o.Sightings, log: o.Logger, clock: o.Clock, limits: o.Limits.withDefaults(), metrics: m,
		exclusive: o.Exclusive, bindings: map[orchestration.Type]*binding{}, running: newRunning(o.Clock), flights: newFlights(), cache: &parameterCache{},
		resolvers: make(chan struct{}, sweptResolvers), quietUntil: map[string]time.Time{}, finished: make(chan struct{}),
	}
	for t, b := range o.Executors {
		e.bindings[t] = newBinding(b, o.Clock)
	}
	e.claims = &claimer{engine: e, inbox: newInbox[*claimRequest]()}
	e.guards = &guards{engine: e, inbox: newInbox[*guardRequest]()}
	for range e.limits.Lanes {
		e.lanes = append(e.lanes, &lane{engine: e, inbox: newInbox[*settleRequest]()})
	}
	return e, nil
}

func newBinding(b ExecutorBinding, clock func() time.Time) *binding {
	limit := rate.Inf
	if b.RequestsPerSecond > 0 {
		limit = rate.Limit(b.RequestsPerSecond)
	}
	if b.Burst == 0 {
		b.Burst = max(1, int(b.RequestsPerSecond))
	}
	if b.BreakerFailures == 0 {
		b.BreakerFailures = 5
	}
	if b.BreakerPause == 0 {
		b.BreakerPause = 10 * time.Second
	}
	return &binding{ExecutorBinding: b, limiter: rate.NewLimiter(limit, b.Burst), breaker: newBreaker(clock, b.BreakerFailures, b.BreakerPause)}
}

// Start begins to carry out what is stored. It must be called before the queue delivers jobs, once. The engine goes on after ctx has ended,
// until Stop.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state != notStarted {
		return errors.New("engine: started twice")
	}
	e.state = started
	e.ctx, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	if e.exclusive {
		if err := e.takeOverAll(ctx); err != nil {
			e.log.WarnContext(ctx, "operations in progress are taken over later", "error", err)
		}
	}
	e.spawn(e.claims.run)
	e.spawn(e.guards.run)
	for _, l := range e.lanes {
		e.spawn(l.run)
	}
	e.spawn(e.keepLeases)
	e.spawn(e.sweepForEver)
	e.spawn(e.deliverWakes)
	for t, b := range e.bindings {
		for _, watch := range e.watches(t, b.Executor) {
			e.spawn(func(ctx context.Context) { e.watch(ctx, b.Backend, watch) })
		}
	}
	return nil
}

func (e *Engine) spawn(f func(ctx context.Context)) {
	ctx := e.ctx
	e.background.Go(func() { f(ctx) })
}

// Stop lets no further step begin, waits until the running ones have ended or ctx does, and ends the background work. Steps that
// still run then are cut off and handed back, so that another process takes them up at once. Stop the queue's workers
// before: a job that comes during Stop is put back.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	if e.state != started {
		e.state = stopped
		e.mu.Unlock()
		return nil
	}
	e.state = stopping
	e.mu.Unlock()
	err := e.running.wait(ctx)
	if err != nil {
		e.running.cutOff()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackFor)
		err = e.running.wait(grace)
		cancel()
	}
	e.stop()
	e.background.Wait()
	close(e.finished)
	e.mu.Lock()
	e.state = stopped
	e.mu.Unlock()
	if err != nil {
		return fmt.Errorf("hand running steps back: %w", err)
	}
	return nil
}

// handBackFor is how long steps that were cut off have for writing that they were.
const handBackFor = 5 * time.Second

// putBack is after what time a job that came while the engine stops is looked at again.
const putBack = time.Millisecond

// BackendDown reports whether no operation of a type starts because its backend does not answer, or is not configured any more.
func (e *Engine) BackendDown(t orchestration.Type) bool {
	b, ok := e.bindings[t]
	return !ok || b.breaker.down()
}

// BackendHealth returns nil while operations of a type may start as far as their backend is concerned. Its error, of KindUnavailable, says since when they
// may not and whether the backend is away or refuses access; what it said is the cause.
func (e *Engine) BackendHealth(t orchestration.Type) error {
	b, ok := e.bindings[t]
	if !ok {
		return nil
	}
	since, fault := b.breaker.fault()
	if fault == nil {
		return nil
	}
	what := "does not answer"
	if errors.Is(fault, fleet.ErrNoAccess) {
		what = "refuses access"
	}
	return fleet.Unavailable(fmt.Sprintf("no %s starts since %s: %s %s", t, since.UTC().Format(time.RFC3339), b.Backend, what), fault)
}

// Handle carries out one job; it is fleet.Handler.
func (e *Engine) Handle(ctx context.Context, job fleet.Job) (time.Duration, error) {
	e.mu.Lock()
	accepting := e.state == started
	e.mu.Unlock()
	if !accepting {
		return time.Second, nil
	}
	switch job.Kind {
	case fleet.JobStart:
		return e.resolve(ctx, job.OrchestrationID)
	case fleet.JobAdvance:
		_, err := e.advance(ctx, job.OrchestrationID)
		return 0, err
	case fleet.JobStep:
		return e.step(ctx, job)
	default:
		return 0, fmt.Errorf("unknown job %q", job.Kind)
	}
}

// admitting reports whether further operations may start in this process.
func (e *Engine) admitting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state == started
}
