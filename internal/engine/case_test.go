package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// stored puts an orchestration with operations into the store, as an earlier process left them.
func (s *site) stored(t *testing.T, o fleet.Orchestration, ops ...fleet.Operation) {
	t.Helper()
	s.update(t, func(ctx context.Context, tx fleet.Tx) error {
		o.Type, o.CreatedBy = clusterType, "someone"
		o.Parameters.Strategy.Type = orchestration.ParallelStrategy
		o.Parameters.Targets = request(1, orchestration.Immediate).Parameters.Targets
		o.CreatedAt = s.clock.Now().Add(-time.Hour)
		if len(ops) > 0 {
			o.ResolvedAt = o.CreatedAt
		}
		for i := range ops {
			g := target(i)
			ops[i].OrchestrationID, ops[i].Type, ops[i].Position = o.ID, clusterType, i
			ops[i].RuntimeID, ops[i].InstanceID, ops[i].ShootName = g.RuntimeID, g.InstanceID, g.ShootName
			ops[i].CreatedAt = o.CreatedAt
			o.Counts.Add(ops[i].State, 1)
		}
		if err := tx.InsertOrchestration(ctx, &o); err != nil {
			return err
		}
		if err := tx.SaveOrchestration(ctx, &o); err != nil {
			return err
		}
		return tx.InsertOperations(ctx, ops)
	})
}

// After a restart each unfinished operation goes on exactly once, those that were in progress first, with its own ID and what was stored
// about it; what had ended stays as it is, and an orchestration that had not begun begins.
func TestCase_RS1(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 5)
			started := s.clock.Now().Add(-time.Minute)
			s.stored(t, fleet.Orchestration{ID: "o-1", State: fleet.InProgress, Parameters: orchestration.Parameters{DryRun: false}},
				fleet.Operation{ID: "op-1", State: fleet.Succeeded, StartedAt: started, FinishedAt: started, Attempt: 1},
				fleet.Operation{ID: "op-2", State: fleet.InProgress, StartedAt: started, TimeLimitFrom: started, Attempt: 1, Fence: 3, LeaseUntil: started},
				fleet.Operation{ID: "op-3", State: fleet.Pending},
				fleet.Operation{ID: "op-4", State: fleet.Failed, StartedAt: started, FinishedAt: started, Attempt: 1},
				fleet.Operation{ID: "op-5", State: fleet.Pending},
			)
			s.stored(t, fleet.Orchestration{ID: "o-2", State: fleet.Pending, Parameters: orchestration.Parameters{DryRun: true}})
			s.stored(t, fleet.Orchestration{ID: "o-3", State: fleet.Succeeded, ResolvedAt: started, FinishedAt: started, Description: "as it was"})
			s.start(t)

			o1 := s.waitFor(t, "o-1", inState(fleet.Failed))
			s.waitFor(t, "o-2", inState(fleet.Succeeded))
			require.Equal(t, fleet.Counts{Succeeded: 4, Failed: 1}, o1.Counts)

			var order []string
			for _, task := range s.fake.Accepted() {
				require.Equal(t, "o-1", task.OrchestrationID)
				order = append(order, task.OperationID)
			}
			require.Equal(t, "op-2", order[0], "what was in progress comes first: one worker")
			require.ElementsMatch(t, []string{"op-2", "op-3", "op-5"}, order)
			for _, call := range s.fake.Calls() {
				require.NotEmpty(t, call.Task.OperationID)
				require.Equal(t, call.Task.OrchestrationID == "o-2", call.Task.DryRun)
			}
			require.Len(t, s.operations(t, "o-2"), 5)
			o3, err := s.store.Orchestration(t.Context(), "o-3")
			require.NoError(t, err)
			require.Equal(t, "as it was", o3.Description)
		})
	}
}

// A window that passed while the service was down moves on until its end lies ahead, however long that was, and nothing starts outside of it.
func TestCase_W5(t *testing.T) {
	t.Parallel()
	day := func(d, h int) time.Time { return time.Date(2024, 5, d, h, 0, 0, 0, time.UTC) }
	for name, test := range map[string]struct {
		now, begin, end time.Time
		starts          bool
	}{
		"a: between two windows": {now: day(13, 12), begin: day(14, 1), end: day(14, 3)},
		"b: inside of a window":  {now: day(13, 2), begin: day(13, 1), end: day(13, 3), starts: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			s.clock.Advance(time.Until(test.now))
			s.stored(t, fleet.Orchestration{ID: "o-1", State: fleet.InProgress, Parameters: orchestration.Parameters{
				Strategy: orchestration.StrategySpec{Schedule: orchestration.MaintenanceWindow},
			}}, fleet.Operation{
				ID: "op-1", State: fleet.Pending, UsesWindow: true, WindowBegin: day(10, 1), WindowEnd: day(10, 3),
				WindowRule: fleet.WindowRule{Begin: "010000+0000", End: "030000+0000"},
			})
			s.start(t)
			if test.starts {
				s.waitFor(t, "o-1", inState(fleet.Succeeded))
				require.Len(t, s.fake.Accepted(), 1)
			}
			op := s.waitForOperation(t, "o-1", "rt-0", func(op fleet.Operation) bool { return op.WindowBegin.Equal(test.begin) })
			require.Equal(t, test.end, op.WindowEnd)
			if test.starts {
				return
			}
			require.Equal(t, fleet.Pending, op.State)
			require.Empty(t, s.fake.Calls())
			s.clock.Advance(test.begin.Sub(s.clock.Now()) + time.Second)
			s.waitFor(t, "o-1", inState(fleet.Succeeded))
			for _, call := range s.fake.Calls() {
				require.False(t, call.Task.Now.Before(test.begin), "called at %s", call.Task.Now)
			}
		})
	}
}

// The limit is about runtimes that are being changed at the same time: asking to be looked at again does not give up the place, and waiting
// for a window takes none.
func TestCase_S3(t *testing.T) {
	t.Parallel()
	t.Run("a: five operations that are looked at again", func(t *testing.T) {
		t.Parallel()
		for name, open := range stores {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := open(t, 5)
				s.fake.Checks, s.fake.After = 2, 100*time.Millisecond
				p := s.start(t)
				id := p.create(t, request(2, orchestration.Immediate))
				s.waitFor(t, id, inState(fleet.Succeeded))
				require.Equal(t, 2, s.fake.Most(id))
				require.Equal(t, once(5), s.starts())
			})
		}
	})
	t.Run("b: the later window does not occupy the worker", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, 2)
		soon := s.clock.Now().Add(30 * time.Minute).UTC().Truncate(time.Second)
		begun := s.clock.Now().Add(-time.Minute).UTC()
		s.targets.answer.Runtimes[0].Window = fleet.WindowRule{Begin: soon.Format("150405-0700"), End: soon.Add(time.Hour).Format("150405-0700")}
		s.targets.answer.Runtimes[1].Window = fleet.WindowRule{Begin: begun.Format("150405-0700"), End: begun.Add(2 * time.Hour).Format("150405-0700")}
		p := s.start(t)
		id := p.create(t, request(1, orchestration.MaintenanceWindow))
		s.waitForOperation(t, id, "rt-1", func(op fleet.Operation) bool { return op.State == fleet.Succeeded })
		s.clock.Advance(30 * time.Minute)
		s.waitFor(t, id, inState(fleet.Succeeded))
		accepted := s.fake.Accepted()
		require.Len(t, accepted, 2)
		require.Equal(t, []string{"rt-1", "rt-0"}, []string{accepted[0].RuntimeID, accepted[1].RuntimeID})
		require.Less(t, accepted[0].Now, soon)
		require.False(t, accepted[1].Now.Before(soon))
	})
}

// After a cancel has answered nothing starts; what runs is followed to its real end, and only then the orchestration is canceled. A second cancel
// changes nothing, and neither does one of an orchestration that has ended.
func TestCancelLetsRunningOperationsEnd(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 3)
			entered, release := make(chan struct{}), make(chan struct{})
			s.fake.Checks = 2
			s.fake.Before = func(_ context.Context, call executortest.Call) error {
				if call.Method == executortest.Check && string(call.Task.Memo) == `{"looks":1}` {
					close(entered)
					<-release
				}
				return nil
			}
			p := s.start(t)
			id := p.create(t, request(1, orchestration.Immediate))
			<-entered

			o, err := p.CancelOrchestration(t.Context(), someone, id)
			require.NoError(t, err)
			require.Equal(t, fleet.Canceling, o.State)
			again, err := p.CancelOrchestration(t.Context(), someone, id)
			require.NoError(t, err)
			require.Equal(t, fleet.Canceling, again.State)
			canceled := func(op fleet.Operation) bool { return op.State == fleet.Canceled }
			s.waitForOperation(t, id, "rt-1", canceled)
			s.waitForOperation(t, id, "rt-2", canceled)
			o, err = s.store.Orchestration(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, fleet.Canceling, o.State, "one operation is still in progress")

			close(release)
			o = s.waitFor(t, id, inState(fleet.Canceled))
			require.Equal(t, fleet.Counts{Succeeded: 1, Canceled: 2}, o.Counts)
			require.Equal(t, map[string]int{"rt-0": 1}, s.starts())
			for _, call := range s.fake.Calls() {
				require.Equal(t, "rt-0", call.Task.RuntimeID)
			}
			ended, err := p.CancelOrchestration(t.Context(), someone, id)
			require.NoError(t, err)
			require.Equal(t, fleet.Canceled, ended.State)
		})
	}
}

// An operation in progress that has sent nothing yet when the cancel comes ends as canceled.
func TestCancelEndsWhatHasSentNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	entered, release := make(chan struct{}), make(chan struct{})
	s.fake.Before = func(_ context.Context, call executortest.Call) error {
		if call.Method == executortest.Start {
			close(entered)
			<-release
		}
		return nil
	}
	p := s.start(t)
	id := p.create(t, request(1, orchestration.Immediate))
	<-entered
	_, err := p.CancelOrchestration(t.Context(), someone, id)
	require.NoError(t, err)
	close(release)
	o := s.waitFor(t, id, inState(fleet.Canceled))
	require.Equal(t, fleet.Counts{Canceled: 1}, o.Counts)
	require.Empty(t, s.fake.Accepted())
	require.Contains(t, s.operations(t, id)["rt-0"].Reason, "nothing had been sent")
}

// An orchestration that has not resolved its targets yet is canceled at once.
func TestCancelBeforeTheStart(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	p := s.start(t)
	at := s.clock.Now().Add(time.Hour)
	req := request(1, orchestration.Immediate)
	req.Parameters.Strategy.ScheduleTime = &at
	id := p.create(t, req)
	o, err := p.CancelOrchestration(t.Context(), someone, id)
	require.NoError(t, err)
	require.Equal(t, fleet.Canceling, o.State)
	o = s.waitFor(t, id, inState(fleet.Canceled))
	require.Equal(t, "canceled before its targets were resolved", o.Description)
	require.Empty(t, s.operations(t, id))
}

// A deferred orchestration resolves its targets and starts when its time has come, also when no job reminds of it.
func TestNotBefore(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	p := s.start(t)
	at := s.clock.Now().Add(10 * time.Hour)
	req := request(1, orchestration.Immediate)
	req.Parameters.Strategy.ScheduleTime = &at
	id := p.create(t, req)
	o, err := s.store.Orchestration(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, fleet.Pending, o.State)
	require.Contains(t, o.Description, "starts at ")
	s.clock.Advance(9 * time.Hour)
	require.Never(t, func() bool { return len(s.fake.Calls()) > 0 }, 500*time.Millisecond, 50*time.Millisecond)
	s.clock.Advance(time.Hour)
	s.waitFor(t, id, inState(fleet.Succeeded))
	require.Equal(t, once(2), s.starts())
}

// A window that closes before anything was sent puts the operation back, and it starts in the next window.
func TestAClosedWindowPutsBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	begun := s.clock.Now().Add(-time.Minute).UTC().Truncate(time.Second)
	end := begun.Add(time.Hour)
	s.targets.answer.Runtimes[0].Window = fleet.WindowRule{Begin: begun.Format("150405-0700"), End: end.Format("150405-0700")}
	entered, release := make(chan struct{}), make(chan struct{})
	first := true
	s.fake.Before = func(_ context.Context, call executortest.Call) error {
		if call.Method == executortest.Start && first {
			first = false
			close(entered)
			<-release
		}
		return nil
	}
	p := s.start(t, func(o *engine.Options) { o.Limits.LeaseFor = 3 * time.Hour })
	id := p.create(t, request(1, orchestration.MaintenanceWindow))
	<-entered
	s.clock.Advance(time.Hour)
	close(release)
	op := s.waitForOperation(t, id, "rt-0", func(op fleet.Operation) bool { return op.State == fleet.Pending && op.Attempt == 1 })
	require.True(t, op.WindowBegin.Equal(begun.Add(24*time.Hour)), "the next window begins at %s", op.WindowBegin)
	require.True(t, op.StartedAt.IsZero())
	require.Empty(t, s.fake.Accepted())
	s.clock.Advance(24*time.Hour - time.Hour)
	s.waitFor(t, id, inState(fleet.Succeeded))
	require.Equal(t, once(1), s.starts())
}

// In a window run a runtime without a usable window is skipped with the reason; in an immediate run it is upgraded.
func TestSkippedWithoutAWindow(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.targets.answer.Runtimes[0].Window = fleet.WindowRule{Begin: "000000+0000", End: "000000+0000"}
	p := s.start(t)
	id := p.create(t, request(2, orchestration.MaintenanceWindow))
	o := s.waitFor(t, id, inState(fleet.Succeeded))
	require.Equal(t, "2 runtimes: 1 succeeded, 1 canceled", o.Description)
	op := s.operations(t, id)["rt-1"]
	require.Equal(t, fleet.Canceled, op.State)
	require.Contains(t, op.Description, "skipped: the runtime has no maintenance window")
	id = p.create(t, request(2, orchestration.Immediate))
	s.waitFor(t, id, inState(fleet.Succeeded))
	require.Equal(t, map[string]int{"rt-0": 2, "rt-1": 1}, s.starts())
}
