package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// A change that the backend reports brings the next look forward; without one it would come in an hour.
func TestAWatchBringsTheNextLookForward(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 2)
			s.fake.Checks, s.fake.After = 1, time.Hour
			p := s.start(t)
			id := p.create(t, request(2, orchestration.Immediate))
			<-s.fake.Watched()
			for i := range 2 {
				s.waitForOperation(t, id, target(i).RuntimeID, func(op fleet.Operation) bool { return op.Following })
			}
			s.fake.Wake("c-0")
			s.waitForOperation(t, id, "rt-0", func(op fleet.Operation) bool { return op.State == fleet.Succeeded })
			require.Equal(t, fleet.InProgress, s.operations(t, id)["rt-1"].State)
			s.fake.Wake("c-1")
			s.waitFor(t, id, inState(fleet.Succeeded))
		})
	}
}

// A change that is reported while the step runs is not lost: the step may have looked before it.
func TestAWakeDuringTheStepIsNotLost(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.fake.Checks, s.fake.After = 1, time.Hour
	h := newHold(func(call executortest.Call) bool { return call.Method == executortest.Start })
	s.fake.Before = h.before
	p := s.start(t)
	id := p.create(t, request(1, orchestration.Immediate))
	<-s.fake.Watched()
	<-h.entered
	s.fake.Wake("c-0")
	require.Eventually(t, func() bool { return !p.WakesOutstanding() }, patience, 10*time.Millisecond)
	close(h.release)
	s.waitFor(t, id, inState(fleet.Succeeded))
}

// Wakes of Shoots that nobody upgrades, and of the same one many times, cost nothing.
func TestManyWakes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.fake.Checks, s.fake.After = 1<<30, time.Hour
	p := s.start(t)
	id := p.create(t, request(1, orchestration.Immediate))
	<-s.fake.Watched()
	s.waitForOperation(t, id, "rt-0", func(op fleet.Operation) bool { return op.Following })
	before := len(s.fake.Calls())
	for range 5000 {
		s.fake.Wake("c-0")
		s.fake.Wake("c-unknown")
	}
	require.Eventually(t, func() bool { return len(s.fake.Calls()) > before }, patience, 10*time.Millisecond)
	require.Eventually(t, func() bool { return !p.WakesOutstanding() }, patience, 10*time.Millisecond)
	require.Less(t, len(s.fake.Calls())-before, 20)
}
