package e2e_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

// hostile is a fault plan in which Gardener fails in every way that passes, and some Shoots fail for good until they are told to try again.
const hostile = `
seed: 11
gardenlet: {fail: 0.03, error: 0.05, times: 1, errorTimes: 1}
api:
- {action: closeWatches, every: 4s}
- {action: lose, verbs: [patch], resources: [shoots], share: 0.1}
- {action: status, code: 409, verbs: [patch], resources: [shoots], share: 0.1}
- {action: status, code: 503, verbs: [get, list, patch], share: 0.03}
- {action: status, code: 500, verbs: [get, list, patch], share: 0.02}
- {action: status, code: 429, retryAfter: 1s, verbs: [get, patch], share: 0.02}
- {action: drop, verbs: [get, list, patch], share: 0.03}
- {action: garbage, verbs: [get], share: 0.01}
- {action: delay, delay: 100ms, verbs: [patch], share: 0.3}
`

// tortured is a fleet of which some Shoots have the wanted version already, and some refuse to be changed.
type tortured struct {
	*landscape.Fleet

	there, refusing []string
	changing        []string
}

func newTortured(t *testing.T, shoots int) tortured {
	t.Helper()
	f := tortured{Fleet: landscape.New(t, landscape.Options{Shoots: shoots, Version: "1.34.5", ReconcileTime: 100 * time.Millisecond})}
	names := f.Names(t)
	f.there, f.refusing, f.changing = names[:shoots/20], names[shoots/20:shoots/10], names[shoots/10:]
	for _, name := range f.there {
		f.Patch(t, name, `{"spec":{"kubernetes":{"version":"`+landscape.Target+`"}}}`)
	}
	for _, name := range f.refusing {
		f.Annotate(t, name, "shoot.gardener.cloud/ignore", "true")
	}
	await.That(t, "the Shoots with the wanted version are reconciled", func() error {
		for _, s := range f.Shoots(t) {
			if s.ObservedGeneration != s.Generation || s.State != "Succeeded" {
				return fmt.Errorf("%s is not", s.Name)
			}
		}
		return nil
	})
	f.ForgetAudit(t)
	f.SetReconcileTime(t, 1500*time.Millisecond)
	f.SetFaults(t, hostile)
	return f
}

// killer restarts servers that it kills at random instants.
type killer struct {
	f       tortured
	servers []*server.Process
	start   func() *server.Process
	random  *rand.Rand
	// workers is the limit of the orchestration.
	workers int
}

// torture runs an upgrade of the whole fleet and kills the servers meanwhile, in turn. It checks that nothing was lost and nothing done twice.
func (k *killer) torture(t *testing.T, kills, wantHits int) {
	t.Helper()
	id := k.servers[0].Upgrade(t, toTarget(k.workers, all))
	await.That(t, "operations are in progress", func() error {
		if n := inProgress(t, k.servers[0], id); n == 0 {
			return fmt.Errorf("none is")
		}
		return nil
	})
	hits := 0
	for i := range kills {
		<-time.After(time.Duration(k.random.Int64N(int64(800 * time.Millisecond))))
		victim := i % len(k.servers)
		if inProgress(t, k.servers[victim], id) > 0 {
			hits++
		}
		k.servers[victim].Kill(t)
		k.servers[victim] = k.start()
	}
	t.Logf("%d of %d kills hit operations in progress", hits, kills)
	require.GreaterOrEqual(t, hits, wantHits)

	s := k.servers[0]
	s.EndedWithin(t, 3*time.Minute, id, orchestration.Failed)
	k.check(t, s, id)
}

func inProgress(t *testing.T, s *server.Process, id string) int {
	t.Helper()
	list, err := s.ListOperations(id, orchestration.ListParameters{Page: 1, PageSize: 1, States: []string{orchestration.InProgress}})
	require.NoError(t, err)
	return list.TotalCount
}

// check looks at how an upgrade has ended, then repeats what failed.
func (k *killer) check(t *testing.T, s *server.Process, id string) {
	t.Helper()
	f := k.f
	ops := s.Operations(t, id)
	require.Len(t, ops, len(f.there)+len(f.refusing)+len(f.changing))
	for _, name := range f.there {
		require.Equal(t, orchestration.Succeeded, ops[name].State, ops[name].Description)
	}
	for _, name := range f.refusing {
		require.Equal(t, orchestration.Failed, ops[name].State, ops[name].Description)
		require.Contains(t, ops[name].Description, "ignore")
	}
	failed := 0
	for _, name := range f.changing {
		if ops[name].State == orchestration.Failed {
			failed++
			continue
		}
		require.Equal(t, orchestration.Succeeded, ops[name].State, ops[name].Description)
	}
	require.Positive(t, failed, "the fault plan lets Shoots fail")
	k.requireOneWriteEach(t, f.changing)
	require.LessOrEqual(t, mostAtOnce(ops), k.workers)
	for i, n := range f.Hits(t)[1:] {
		require.Positive(t, n, "rule %d of the fault plan", i+1) // the first one closes watches and hits no requests
	}

	for _, name := range f.refusing {
		f.Annotate(t, name, "shoot.gardener.cloud/ignore", "false")
	}
	response, err := s.RetryOrchestration(id, nil, true)
	require.NoError(t, err)
	require.Len(t, response.RetryShoots, failed+len(f.refusing))
	o := s.EndedWithin(t, 2*time.Minute, id, orchestration.Succeeded)
	require.Equal(t, map[string]int{orchestration.Succeeded: len(ops)}, o.OperationStats)
	k.requireOneWriteEach(t, slices.Concat(f.changing, f.refusing))
	for _, shoot := range f.Shoots(t) {
		require.Equal(t, landscape.Target, shoot.Version)
	}
}

// requireOneWriteEach checks that the version of these Shoots was written exactly once, and that of no other.
func (k *killer) requireOneWriteEach(t *testing.T, names []string) {
	t.Helper()
	want := map[string]int{}
	for _, name := range names {
		want[name] = 1
	}
	require.Equal(t, want, k.f.Upgrades(t))
}

// mostAtOnce returns how many operations were in progress at the same time at most.
func mostAtOnce(ops map[string]orchestration.OperationResponse) int {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, op := range ops {
		if op.StartedAt == nil || op.FinishedAt == nil {
			continue
		}
		changes = append(changes, change{*op.StartedAt, 1}, change{*op.FinishedAt, -1})
	}
	slices.SortFunc(changes, func(a, b change) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.by - b.by
	})
	now, most := 0, 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}

func TestAServerKilledTwentyTimesUpgradesEachShootOnce(t *testing.T) {
	t.Parallel()
	f := newTortured(t, 200)
	settings := settingsFor(t, f.Fleet)
	k := &killer{f: f, random: rand.New(rand.NewPCG(1, 2)), workers: 8}
	k.start = func() *server.Process { return server.StartProcess(t, settings) }
	k.servers = []*server.Process{k.start()}
	k.servers[0].Import(t, f.Runtimes(t))
	k.torture(t, 20, 10)
}

func TestTwoServersKilledInTurnUpgradeEachShootOnce(t *testing.T) {
	t.Parallel()
	f := newTortured(t, 60)
	settings := with(settingsFor(t, f.Fleet), "database-url", postgres.URL(t))
	k := &killer{f: f, random: rand.New(rand.NewPCG(3, 4)), workers: 6}
	k.start = func() *server.Process { return server.StartProcess(t, settings) }
	k.servers = []*server.Process{k.start(), k.start()}
	k.servers[0].Import(t, f.Runtimes(t))
	k.torture(t, 8, 4)
}

// A server that is frozen until it counts as dead finds, when it goes on, that others have taken over, and changes nothing any more.
// freezeInAStep freezes a server while it has steps of operations in hand. What lies between two steps needs no taking over: its jobs are there for everybody.
func freezeInAStep(t *testing.T, p *server.Process, database string) {
	t.Helper()
	await.That(t, "the server is frozen in a step", func() error {
		p.Freeze(t)
		if postgres.Count(t, database, "river_job WHERE queue = 'steps' AND state = 'running'") > 0 {
			return nil
		}
		p.Thaw(t)
		return errors.New("it has none in hand")
	})
}

func TestAFrozenServerIsReplacedAndDoesNoHarm(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 24, Version: "1.34.5", ReconcileTime: time.Second})
	f.SetFaults(t, "api: [{action: delay, delay: 400ms, verbs: [get, patch], resources: [shoots]}]")
	settings := with(settingsFor(t, f), "database-url", postgres.URL(t))
	frozen := server.StartProcess(t, settings)
	frozen.Ready(t)
	frozen.Import(t, f.Runtimes(t))
	id := frozen.Upgrade(t, toTarget(8, all))
	await.That(t, "the first ones are written", func() error {
		if n := len(f.Upgrades(t)); n < 4 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	require.Positive(t, inProgress(t, frozen, id))
	freezeInAStep(t, frozen, settings["database-url"])
	other := server.StartProcess(t, settings)
	await.That(t, "its operations are taken over", func() error {
		if other.Metric(t, "swell_engine_take_overs_total") == 0 {
			return errors.New("none is")
		}
		return nil
	})
	frozen.Thaw(t)
	o := other.Ended(t, id, orchestration.Succeeded)
	require.Equal(t, map[string]int{orchestration.Succeeded: 24}, o.OperationStats)
	require.LessOrEqual(t, mostAtOnce(other.Operations(t, id)), 8)
	requireOneWriteForEach(t, f)
	require.Zero(t, frozen.Terminate(t), frozen.Log(t))
}
