package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// sightings are Shoots by runtime ID.
type sightings struct {
	mu     sync.Mutex
	shoots map[string]string
	err    error
}

func (s *sightings) ShootOf(_ context.Context, runtimeID string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shoots[runtimeID], s.err
}

func (s *sightings) set(shoots map[string]string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shoots, s.err = shoots, err
}

// history returns the kinds of the events of an instance, newest first.
func (s *site) history(t testing.TB, instanceID string) (kinds []fleet.EventKind, newest fleet.Event) {
	t.Helper()
	events, _, err := s.store.ListEvents(t.Context(), fleet.EventFilter{InstanceIDs: []string{instanceID}}, fleet.Page{Number: 1, Size: 100})
	require.NoError(t, err)
	require.NotEmpty(t, events)
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	return kinds, events[0]
}

func (s *site) known(t testing.TB) (instances []string) {
	t.Helper()
	rows, _, err := s.store.ListRuntimes(t.Context(), fleet.RuntimeFilter{States: []runtime.State{runtime.AllState}}, fleet.Page{Number: 1, Size: 100})
	require.NoError(t, err)
	for i := range rows {
		instances = append(instances, rows[i].DTO.InstanceID)
	}
	return instances
}

// A runtime that is forgotten takes its pending operations with it, in every orchestration and in one transaction; one that is being upgraded, or that a
// source still sees, is not forgotten.
func TestForgettingARuntime(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 3)
			s.fake.Checks = 1 << 30
			seen := &sightings{}
			p := s.start(t, func(o *engine.Options) { o.Sightings = seen })
			first := p.create(t, request(1, orchestration.Immediate))
			s.waitForOperation(t, first, "rt-0", func(op fleet.Operation) bool { return op.State == fleet.InProgress })
			second := p.create(t, request(1, orchestration.Immediate))
			s.waitForOperation(t, second, "rt-1", func(op fleet.Operation) bool { return op.State == fleet.InProgress })

			_, err := p.ForgetRuntime(t.Context(), someone, "in-0")
			require.ErrorIs(t, err, fleet.ErrConflict)
			require.ErrorContains(t, err, s.operations(t, first)["rt-0"].ID)

			seen.set(map[string]string{"rt-2": "c-2"}, nil)
			_, err = p.ForgetRuntime(t.Context(), someone, "in-2")
			require.ErrorIs(t, err, fleet.ErrConflict)
			require.ErrorContains(t, err, `the Shoot "c-2"`)
			seen.set(nil, fleet.Unavailable("the Shoots are not followed", errors.New("cut")))
			_, err = p.ForgetRuntime(t.Context(), someone, "in-2")
			require.ErrorIs(t, err, fleet.ErrUnavailable)
			require.Len(t, s.known(t), 3)
			require.Equal(t, fleet.Pending, s.operations(t, first)["rt-2"].State)
			seen.set(nil, nil)

			actor := fleet.Actor{User: "ann", Roles: []string{"admin"}, RequestID: "r-1", RemoteAddr: "192.0.2.1"}
			got, err := p.ForgetRuntime(t.Context(), actor, "in-2")
			require.NoError(t, err)
			require.Equal(t, fleet.Forgotten{InstanceID: "in-2", Canceled: 2}, got)
			require.Equal(t, []string{"in-0", "in-1"}, s.known(t))
			for _, id := range []string{first, second} {
				op := s.operations(t, id)["rt-2"]
				require.Equal(t, fleet.Canceled, op.State)
				require.Equal(t, "canceled: the runtime was forgotten", op.Description)
				o, err := s.store.Orchestration(t.Context(), id)
				require.NoError(t, err)
				require.Equal(t, fleet.Counts{Pending: 1, InProgress: 1, Canceled: 1}, o.Counts)
				require.Equal(t, "3 runtimes: 1 in progress, 1 pending, 1 canceled", o.Description)
			}
			kinds, newest := s.history(t, "in-2")
			require.Equal(t, []fleet.EventKind{fleet.EventForgotten, fleet.EventFinished, fleet.EventFinished}, kinds)
			require.Equal(t, actor, newest.Actor)
			require.Equal(t, "rt-2", newest.RuntimeID)

			// Asked again nothing changes; what was never known is not found.
			got, err = p.ForgetRuntime(t.Context(), someone, "in-2")
			require.NoError(t, err)
			require.Equal(t, fleet.Forgotten{InstanceID: "in-2"}, got)
			again, _ := s.history(t, "in-2")
			require.Equal(t, kinds, again)
			_, err = p.ForgetRuntime(t.Context(), someone, "in-9")
			require.ErrorIs(t, err, fleet.ErrNotFound)
			require.ErrorContains(t, err, `"in-9"`)

			// Once its operation has ended the runtime may go, and what else waited for it with it.
			s.fake.Complete("rt-0")
			s.waitForOperation(t, first, "rt-0", func(op fleet.Operation) bool { return op.State == fleet.Succeeded })
			got, err = p.ForgetRuntime(t.Context(), someone, "in-0")
			require.NoError(t, err)
			require.Equal(t, 1, got.Canceled)
			s.fake.Complete("rt-1")
			require.Equal(t, fleet.Counts{Succeeded: 1, Canceled: 2}, s.waitFor(t, second, inState(fleet.Succeeded)).Counts)
			require.Equal(t, fleet.Succeeded, s.operations(t, first)["rt-0"].State, "its operations are kept")
			require.Equal(t, []string{"in-1"}, s.known(t))
		})
	}
}

// The last operation that is canceled with its runtime ends the orchestration.
func TestForgettingTheLastRuntimeEndsTheOrchestration(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	p := s.start(t, func(o *engine.Options) { o.Limits.SweepEvery = patience })
	window := target(0)
	window.Window = fleet.WindowRule{Begin: s.clock.Now().UTC().Add(3 * time.Hour).Format("150405-0700"), End: s.clock.Now().UTC().Add(5 * time.Hour).Format("150405-0700")}
	s.targets.set(fleet.Resolution{Runtimes: []fleet.Target{window}})
	id := p.create(t, request(1, orchestration.MaintenanceWindow))
	s.waitForOperation(t, id, "rt-0", func(op fleet.Operation) bool { return op.State == fleet.Pending })
	s.waitFor(t, id, inState(fleet.InProgress))
	got, err := p.ForgetRuntime(t.Context(), someone, "in-0")
	require.NoError(t, err)
	require.Equal(t, 1, got.Canceled)
	o, err := s.store.Orchestration(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, fleet.Succeeded, o.State, "a runtime that went away fails nothing")
	require.Equal(t, fleet.Counts{Canceled: 1}, o.Counts)
	require.False(t, o.FinishedAt.IsZero())
}

// While the targets are being resolved the counts are not known yet: the operation ends when its turn comes.
func TestForgettingWhileTargetsAreResolved(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 2)
			p := s.prepare(t)
			o, err := p.CreateOrchestration(t.Context(), someone, request(2, orchestration.Immediate))
			require.NoError(t, err)
			half := fleet.Operation{ID: "op-half", OrchestrationID: o.ID, Type: clusterType, RuntimeID: "rt-0", InstanceID: "in-0", State: fleet.Pending}
			s.update(t, func(ctx context.Context, tx fleet.Tx) error { return tx.InsertOperations(ctx, []fleet.Operation{half}) })
			got, err := p.ForgetRuntime(t.Context(), someone, "in-0")
			require.NoError(t, err)
			require.Zero(t, got.Canceled)

			require.NoError(t, p.Start(t.Context()))
			require.NoError(t, p.jobs.Start(t.Context(), p.Engine))
			t.Cleanup(func() { p.end(t) })
			ended := s.waitFor(t, o.ID, inState(fleet.Succeeded))
			require.Equal(t, fleet.Counts{Succeeded: 1, Canceled: 1}, ended.Counts)
			require.Contains(t, s.operations(t, o.ID)["rt-0"].Description, "not known any more")
			require.Equal(t, map[string]int{"rt-1": 1}, s.starts())
		})
	}
}

// Runtimes are forgotten while two orchestrations go through them: everything ends, and the counts are right.
func TestForgettingInTheMiddleOfUpgrades(t *testing.T) {
	t.Parallel()
	const n = 24
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, n)
			s.fake.Checks = 2
			p := s.start(t)
			ids := []string{p.create(t, request(3, orchestration.Immediate)), p.create(t, request(3, orchestration.Immediate))}
			s.waitForOperation(t, ids[0], "rt-0", func(op fleet.Operation) bool { return op.State != "" && op.State != fleet.Pending })
			var group sync.WaitGroup
			answers := make([]error, n)
			for i := range n {
				group.Go(func() { _, answers[i] = p.ForgetRuntime(t.Context(), someone, target(i).InstanceID) })
			}
			group.Wait()
			kept := 0
			for _, err := range answers {
				if err != nil {
					require.ErrorIs(t, err, fleet.ErrConflict)
					kept++
				}
			}
			require.Len(t, s.known(t), kept)
			for _, id := range ids {
				o := s.waitFor(t, id, inState(fleet.Succeeded))
				require.Equal(t, n, o.Counts.Total())
				var counted fleet.Counts
				for _, op := range s.operations(t, id) {
					counted.Add(op.State, 1)
				}
				require.Equal(t, counted, o.Counts)
			}
		})
	}
}
