package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

func TestAnOrchestrationRunsToItsEnd(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 25)
			s.fake.Checks = 2
			s.targets.answer.LeftOut = []fleet.LeftOut{{ShootName: "c-x", Reason: "suspended"}, {ShootName: "c-y", Reason: "suspended"}}
			p := s.start(t)
			id := p.create(t, request(4, orchestration.Immediate))
			o := s.waitFor(t, id, inState(fleet.Succeeded))

			require.Equal(t, fleet.Counts{Succeeded: 25}, o.Counts)
			require.Equal(t, "25 runtimes: 25 succeeded; 2 left out: 2 suspended", o.Description)
			require.False(t, o.FinishedAt.IsZero())
			require.Equal(t, once(25), s.starts())
			require.Equal(t, 4, s.fake.Most(id), "4 workers work at the same time and never more")
			for _, op := range s.operations(t, id) {
				require.Equal(t, fleet.Succeeded, op.State)
				require.Equal(t, "upgraded", op.Description)
				require.Equal(t, 1, op.Attempt)
				require.Equal(t, "1.33.4", op.Version)
				require.True(t, op.LeaseUntil.IsZero())
				require.False(t, op.FinishedAt.Before(op.StartedAt))
			}
			op := s.operations(t, id)["rt-3"]
			events, _, err := s.store.ListEvents(t.Context(), fleet.EventFilter{OperationID: op.ID}, fleet.Page{Number: 1, Size: 10})
			require.NoError(t, err)
			require.Len(t, events, 2)
			require.Equal(t, []fleet.State{fleet.InProgress, fleet.Succeeded}, []fleet.State{events[0].From, events[0].To})
			require.Equal(t, []fleet.State{fleet.Pending, fleet.InProgress}, []fleet.State{events[1].From, events[1].To})
		})
	}
}

// The observation comes first, one start follows, and from then on it is checked.
func TestTheExecutorIsCalledInOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.fake.Checks = 2
	p := s.start(t)
	id := p.create(t, request(1, orchestration.Immediate))
	s.waitFor(t, id, inState(fleet.Succeeded))
	var methods []string
	for _, call := range s.fake.Calls() {
		methods = append(methods, string(call.Method))
		require.Equal(t, s.operations(t, id)["rt-0"].ID, call.Task.OperationID)
		require.Equal(t, id, call.Task.OrchestrationID)
	}
	require.Equal(t, []string{"observe", "start", "check", "check"}, methods)
	require.JSONEq(t, `{"looks":2}`, string(s.fake.Calls()[3].Task.Memo))
	require.True(t, s.fake.Calls()[3].Task.Sent)
}

func TestADryRunTouchesNoRuntime(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	p := s.start(t)
	req := request(2, orchestration.Immediate)
	req.Parameters.DryRun = true
	id := p.create(t, req)
	s.waitFor(t, id, inState(fleet.Succeeded))
	require.Empty(t, s.fake.Accepted())
	require.True(t, s.operations(t, id)["rt-1"].DryRun)
}

func TestNoTargetsSucceedAtOnceAndSaySo(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	p := s.start(t)
	id := p.create(t, request(1, orchestration.Immediate))
	o := s.waitFor(t, id, inState(fleet.Succeeded))
	require.Equal(t, "no runtime to upgrade", o.Description)
}

func TestTheOrchestrationFailsWhenARuntimeFailed(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	s.fake.Outcome = func(task fleet.Task) fleet.Result {
		if task.RuntimeID == "rt-1" {
			return fleet.Result{Outcome: fleet.Refused, Reason: "the machine image\nis not there"}
		}
		return fleet.Result{Outcome: fleet.Done}
	}
	p := s.start(t)
	id := p.create(t, request(3, orchestration.Immediate))
	o := s.waitFor(t, id, inState(fleet.Failed))
	require.Equal(t, "3 runtimes: 2 succeeded, 1 failed", o.Description)
	op := s.operations(t, id)["rt-1"]
	require.Equal(t, "the machine image is not there", op.Reason)
	require.Equal(t, "failed: the machine image is not there", op.Description)
}

// A second orchestration over the same runtimes waits for each of them.
func TestARuntimeIsInOneOperationAtATime(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 6)
			s.fake.Checks = 5
			p := s.start(t)
			first, second := p.create(t, request(6, orchestration.Immediate)), p.create(t, request(6, orchestration.Immediate))
			s.waitFor(t, first, inState(fleet.Succeeded))
			s.waitFor(t, second, inState(fleet.Succeeded))
			for id, op := range s.operations(t, first) {
				other := s.operations(t, second)[id]
				require.True(t, !op.StartedAt.Before(other.FinishedAt) || !other.StartedAt.Before(op.FinishedAt),
					"%s: %s to %s and %s to %s", id, op.StartedAt, op.FinishedAt, other.StartedAt, other.FinishedAt)
			}
		})
	}
}
