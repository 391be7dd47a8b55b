package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/engine/riverjobs"
	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/testkit/folder"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

const (
	clusterType = orchestration.UpgradeClusterOrchestration
	patience    = 90 * time.Second
)

var someone = fleet.Actor{User: "someone"}

// movedClock is the time of this machine, moved by an offset.
type movedClock struct {
	mu     sync.Mutex
	offset time.Duration
}

func clockAt(at time.Time) *movedClock { return &movedClock{offset: time.Until(at)} }

func (c *movedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *movedClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// site is a store with runtimes and a backend, on which processes come and go.
type site struct {
	store *store.Store
	clock *movedClock
	fake  *executortest.Fake
	// url is set on PostgreSQL.
	url     string
	targets *targets
}

// targets resolves every selector to the same runtimes.
type targets struct {
	mu      sync.Mutex
	answer  fleet.Resolution
	err     error
	resolve func(ctx context.Context) error
	calls   int
}

func (r *targets) ResolveTargets(ctx context.Context, _ orchestration.TargetSpec) (fleet.Resolution, error) {
	r.mu.Lock()
	r.calls++
	hook, answer, err := r.resolve, r.answer, r.err
	r.mu.Unlock()
	if hook != nil {
		if err := hook(ctx); err != nil {
			return fleet.Resolution{}, err
		}
	}
	return answer, err
}

func (r *targets) set(answer fleet.Resolution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func newSite(t testing.TB, runtimes int) *site {
	t.Helper()
	s := &site{clock: clockAt(time.Now()), fake: executortest.NewFake(0, time.Millisecond), targets: &targets{}}
	s.open(t, folder.InMemory(t))
	s.seed(t, runtimes)
	return s
}

func (s *site) open(t testing.TB, dir string) {
	t.Helper()
	opened, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: dir, Clock: s.clock.Now, AfterMigrate: riverjobs.MigrateSQLite})
	require.NoError(t, err)
	s.store = opened
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
}

func newPostgresSite(t testing.TB, runtimes int) *site {
	t.Helper()
	s := &site{clock: clockAt(time.Now()), fake: executortest.NewFake(0, time.Millisecond), targets: &targets{}, url: postgres.URL(t)}
	opened, err := store.OpenPostgres(t.Context(), store.PostgresOptions{URL: s.url, AfterMigrate: riverjobs.MigratePostgres})
	require.NoError(t, err)
	s.store = opened
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	s.seed(t, runtimes)
	return s
}

// stores open a site in each of the databases.
var stores = map[string]func(t testing.TB, runtimes int) *site{"sqlite": newSite, "postgres": newPostgresSite}

func target(i int) fleet.Target {
	return fleet.Target{
		RuntimeID: fmt.Sprintf("rt-%d", i), InstanceID: fmt.Sprintf("in-%d", i), ShootName: fmt.Sprintf("c-%d", i), GlobalAccountID: "ga-blue",
	}
}

// seed makes runtimes that are targets of every orchestration.
func (s *site) seed(t testing.TB, n int) {
	t.Helper()
	docs := make([]runtime.RuntimeDTO, 0, n)
	for i := range n {
		g := target(i)
		s.targets.answer.Runtimes = append(s.targets.answer.Runtimes, g)
		docs = append(docs, document(g, "succeeded"))
	}
	s.put(t, docs...)
}

// document describes a runtime whose provisioning has come to a state.
func document(g fleet.Target, state string) runtime.RuntimeDTO {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return runtime.RuntimeDTO{
		InstanceID: g.InstanceID, RuntimeID: g.RuntimeID, ShootName: g.ShootName, GlobalAccountID: g.GlobalAccountID,
		Status: runtime.RuntimeStatus{CreatedAt: created, Provisioning: &runtime.Operation{
			State: state, Type: runtime.Provision, CreatedAt: created, OperationID: "provision-" + g.InstanceID,
		}},
	}
}

func (s *site) put(t testing.TB, docs ...runtime.RuntimeDTO) {
	t.Helper()
	s.update(t, func(ctx context.Context, tx fleet.Tx) error {
		_, err := tx.PutRuntimes(ctx, "test", docs)
		return err
	})
}

func (s *site) update(t testing.TB, f func(ctx context.Context, tx fleet.Tx) error) {
	t.Helper()
	require.NoError(t, s.store.Update(t.Context(), f))
}

// process is a running server without its edges.
type process struct {
	*engine.Engine

	jobs  *riverjobs.Jobs
	store *freezer
	once  sync.Once
}

// quick are limits that keep tests short.
var quick = engine.Limits{
	LeaseFor: 30 * time.Second, SweepEvery: 100 * time.Millisecond, CheckEvery: 20 * time.Millisecond,
	BackoffFrom: 10 * time.Millisecond, BackoffTo: 100 * time.Millisecond,
}

// shortLived makes a process that is replaced soon after it stops answering.
func shortLived(o *engine.Options) { o.Limits.LeaseFor = 2 * time.Second }

// start runs a process on the site until the test ends.
func (s *site) start(t testing.TB, change ...func(o *engine.Options)) *process {
	t.Helper()
	p := s.prepare(t, change...)
	require.NoError(t, p.Start(t.Context()))
	require.NoError(t, p.jobs.Start(t.Context(), p.Engine))
	t.Cleanup(func() { p.end(t) })
	return p
}

func (s *site) prepare(t testing.TB, change ...func(o *engine.Options)) *process {
	t.Helper()
	p := &process{store: newFreezer(s.store)}
	jobOptions := riverjobs.Options{Logger: slog.New(slog.DiscardHandler), PollInterval: 50 * time.Millisecond}
	var err error
	if s.url == "" {
		p.jobs, err = riverjobs.NewSQLite(s.store.SQL(), jobOptions)
	} else {
		p.jobs, err = riverjobs.NewPostgres(t.Context(), s.store.SQL(), s.url, jobOptions)
	}
	require.NoError(t, err)
	o := engine.Options{
		Store: p.store, Queue: p.jobs, Resolver: s.targets, Logger: slog.New(slog.DiscardHandler), Clock: s.clock.Now, Limits: quick,
		Executors: map[orchestration.Type]engine.ExecutorBinding{clusterType: {Backend: fleet.BackendGardener, Executor: s.fake, BreakerPause: 100 * time.Millisecond}},
	}
	for _, f := range change {
		f(&o)
	}
	p.Engine, err = engine.New(o)
	require.NoError(t, err)
	return p
}

// end stops the process as a signal does.
func (p *process) end(t testing.TB) {
	t.Helper()
	p.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		require.NoError(t, p.jobs.Stop(ctx))
		require.NoError(t, p.Stop(ctx))
	})
}

// freeze keeps the process from reading or writing anything from now on, as if it were stopped or dead, and returns the way back.
func (p *process) freeze(t testing.TB) (thaw func()) {
	t.Helper()
	open := p.store.freeze()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Millisecond)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		defer cancel()
		// The steps of the frozen process do not end, so its workers do not stop either; they only fetch nothing any more.
		_ = p.jobs.Stop(ctx)
	}()
	thaw = sync.OnceFunc(func() {
		open()
		<-stopped
	})
	t.Cleanup(thaw)
	return thaw
}

// freezer is a store that can stop answering one process.
type freezer struct {
	fleet.Store

	mu     sync.Mutex
	frozen chan struct{}
}

func newFreezer(s fleet.Store) *freezer {
	open := make(chan struct{})
	close(open)
	return &freezer{Store: s, frozen: open}
}

func (f *freezer) freeze() (thaw func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	frozen := make(chan struct{})
	f.frozen = frozen
	return sync.OnceFunc(func() { close(frozen) })
}

func (f *freezer) wait() {
	f.mu.Lock()
	frozen := f.frozen
	f.mu.Unlock()
	<-frozen
}

func (f *freezer) Update(ctx context.Context, do func(ctx context.Context, tx fleet.Tx) error) error {
	f.wait()
	return f.Store.Update(context.WithoutCancel(ctx), do)
}

func (f *freezer) Guards(ctx context.Context, operationIDs []string) (map[string]fleet.GuardView, error) {
	f.wait()
	return f.Store.Guards(context.WithoutCancel(ctx), operationIDs)
}

func (f *freezer) InFlight(ctx context.Context) ([]fleet.InFlight, error) {
	f.wait()
	return f.Store.InFlight(ctx)
}

// request asks for an upgrade of everything.
func request(workers int, schedule orchestration.ScheduleType) fleet.CreateRequest {
	return fleet.CreateRequest{Type: clusterType, Parameters: orchestration.Parameters{
		Version: "1.33.4", Targets: orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{{Target: orchestration.TargetAll}}},
		Strategy: orchestration.StrategySpec{Schedule: schedule, Parallel: orchestration.ParallelStrategySpec{Workers: workers}},
	}}
}

func (p *process) create(t testing.TB, req fleet.CreateRequest) string {
	t.Helper()
	o, err := p.CreateOrchestration(t.Context(), someone, req)
	require.NoError(t, err)
	return o.ID
}

// waitFor waits until a condition on an orchestration holds and returns it.
func (s *site) waitFor(t testing.TB, id string, holds func(o fleet.Orchestration) bool) fleet.Orchestration {
	t.Helper()
	var last fleet.Orchestration
	require.Eventually(t, func() bool {
		o, err := s.store.Orchestration(t.Context(), id)
		if err == nil {
			last = o
		}
		return err == nil && holds(o)
	}, patience, 10*time.Millisecond, "the orchestration stays as it is: %v", &last)
	return last
}

func inState(state fleet.State) func(o fleet.Orchestration) bool {
	return func(o fleet.Orchestration) bool { return o.State == state }
}

// operations returns the operations of an orchestration by the number of their runtime.
func (s *site) operations(t testing.TB, id string) map[string]fleet.Operation {
	t.Helper()
	views, _, err := s.store.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: id}, fleet.Page{Number: 1, Size: 1000})
	require.NoError(t, err)
	ops := make(map[string]fleet.Operation, len(views))
	for _, v := range views {
		ops[v.RuntimeID] = v.Operation
	}
	return ops
}

func (s *site) waitForOperation(t testing.TB, orchestrationID, runtimeID string, holds func(op fleet.Operation) bool) fleet.Operation {
	t.Helper()
	var last fleet.Operation
	require.Eventually(t, func() bool {
		last = s.operations(t, orchestrationID)[runtimeID]
		return holds(last)
	}, patience, 10*time.Millisecond, "the operation stays as it is: %v", &last)
	return last
}

// starts counts the accepted upgrades by runtime.
func (s *site) starts() map[string]int {
	starts := map[string]int{}
	for _, task := range s.fake.Accepted() {
		starts[task.RuntimeID]++
	}
	return starts
}

// once says that every runtime was upgraded once.
func once(n int) map[string]int {
	want := map[string]int{}
	for i := range n {
		want[target(i).RuntimeID] = 1
	}
	return want
}
