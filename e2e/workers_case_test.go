package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine/riverjobs"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

// The limit of workers counts runtimes that are being changed, not calls, and an operation that waits for its window holds no worker.
func TestCase_S3(t *testing.T) {
	t.Parallel()
	t.Run("a, five with two workers", func(t *testing.T) {
		t.Parallel()
		f := landscape.New(t, landscape.Options{Shoots: 5, Version: "1.34.5", ReconcileTime: 500 * time.Millisecond, Steps: 3})
		s := startLocal(t, f, nil)
		id := s.Upgrade(t, toTarget(2, all))
		s.Ended(t, id, orchestration.Succeeded)
		ops := s.Operations(t, id)
		require.Len(t, ops, 5)
		require.Equal(t, 2, mostAtOnce(ops))
	})
	t.Run("b, the first waits for its window", func(t *testing.T) {
		t.Parallel()
		f := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.34.5", Window: "110000+0000/130000+0000"})
		later, open := f.Names(t)[0], f.Names(t)[1]
		f.SetWindow(t, later, "120500+0000", "123500+0000")
		clock := server.NewClock(instant(t, "2024-05-15T12:00:00Z"))
		s := startLocal(t, f, clock)
		id := s.Upgrade(t, inWindow(toTarget(1, shoot(later), shoot(open))))
		s.InState(t, id, open, orchestration.Succeeded)
		waiting := s.Operations(t, id)[later]
		require.Equal(t, orchestration.Pending, waiting.State)
		require.Equal(t, orchestration.WaitWindow, waiting.WaitReason)
		clock.Set(instant(t, "2024-05-15T12:04:58Z"))
		s.Ended(t, id, orchestration.Succeeded)
		require.WithinRange(t, *s.Operations(t, id)[later].StartedAt, instant(t, "2024-05-15T12:05:00Z"), instant(t, "2024-05-15T12:06:00Z"))
	})
}

// After a cancel nothing starts; what is under way is followed to its real end, and only then the orchestration is canceled.
func TestCase_C1(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 4, Version: "1.34.5"})
	names := f.Names(t)
	s := startLocal(t, f, nil)
	finished := s.Upgrade(t, toTarget(1, shoot(names[3])))
	s.Ended(t, finished, orchestration.Succeeded)

	f.SetFaults(t, fmt.Sprintf("gardenlet: {shoots: {%s: stuck}}", names[0]))
	id := s.Upgrade(t, toTarget(1, shoot(names[0]), shoot(names[1]), shoot(names[2])))
	await.That(t, "the first one is being changed", func() error {
		if op := s.Operations(t, id)[names[0]]; op.State != orchestration.InProgress || f.Upgrades(t)[names[0]] == 0 {
			return fmt.Errorf("it is %q: %s", op.State, op.Description)
		}
		return nil
	})
	require.Equal(t, orchestration.WaitWorkerLimit, s.Operations(t, id)[names[1]].WaitReason)
	for range 2 {
		answer := s.Send(t, http.MethodPut, "/orchestrations/"+id+"/cancel", "")
		require.Equal(t, http.StatusOK, answer.Status, answer.Body)
		require.Equal(t, orchestration.Canceling, s.Orchestration(t, id).State)
	}
	for _, name := range names[1:3] {
		s.InState(t, id, name, orchestration.Canceled)
	}
	s.Swept(t)
	require.Equal(t, orchestration.InProgress, s.Operations(t, id)[names[0]].State)
	require.Equal(t, orchestration.Canceling, s.Orchestration(t, id).State)

	f.ClearFaults(t)
	o := s.Ended(t, id, orchestration.Canceled)
	require.Equal(t, map[string]int{orchestration.Succeeded: 1, orchestration.Canceled: 2}, o.OperationStats)
	require.Equal(t, orchestration.Succeeded, s.Operations(t, id)[names[0]].State)
	require.Equal(t, map[string]int{names[0]: 1, names[3]: 1}, f.Upgrades(t))
	for _, name := range names[1:3] {
		require.Empty(t, f.Audit(t).Of(name))
	}
	for _, again := range []string{id, finished} {
		before := s.Orchestration(t, again)
		require.NoError(t, s.CancelOrchestration(again))
		require.Equal(t, before, s.Orchestration(t, again))
	}
}

// After a restart each unfinished operation goes on exactly once, with its own ID, the one in progress first; what has ended stays as it is.
func TestCase_RS1(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 7, Version: "1.34.5", ReconcileTime: 500 * time.Millisecond})
	names := f.Names(t)
	settings := settingsFor(t, f)
	at := instant(t, "2024-05-15T10:00:00Z")
	op := func(i int, state fleet.State) fleet.Operation {
		return storedOperation(t, f, names[i-1], fmt.Sprintf("op-%d", i), state)
	}
	running := op(2, fleet.InProgress)
	running.Attempt, running.Fence, running.StartedAt, running.LeaseUntil, running.CheckAt = 1, 3, at, at.Add(time.Hour), at
	dry := toTarget(1, shoot(names[5]))
	dry.DryRun = true
	keep(t, settings, at, f,
		stored{storedOrchestration("o-1", fleet.InProgress, toTarget(1, all)), []fleet.Operation{
			op(1, fleet.Succeeded), running, op(3, fleet.Pending), op(4, fleet.Failed), op(5, fleet.Pending),
		}},
		stored{storedOrchestration("o-2", fleet.Pending, dry), nil},
		stored{storedOrchestration("o-3", fleet.Succeeded, toTarget(1, shoot(names[6]))), []fleet.Operation{op(7, fleet.Succeeded)}},
	)
	// An older version called it so.
	st, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: settings["data-dir"], Clock: time.Now, AfterMigrate: riverjobs.MigrateSQLite})
	require.NoError(t, err)
	_, err = st.SQL().ExecContext(t.Context(), "UPDATE operations SET state = 'retrying' WHERE id = 'op-5'")
	require.NoError(t, err)
	require.NoError(t, st.Close())

	s := server.StartLocal(t, server.NewClock(at.Add(time.Minute)), settings)
	before := s.Orchestration(t, "o-3")
	s.Ended(t, "o-1", orchestration.Failed)
	o2 := s.Ended(t, "o-2", orchestration.Succeeded)
	require.True(t, o2.Parameters.DryRun)
	require.Equal(t, before, s.Orchestration(t, "o-3"))

	ops := s.Operations(t, "o-1")
	for i, name := range names[:5] {
		require.Equal(t, fmt.Sprintf("op-%d", i+1), ops[name].OperationID)
		want := orchestration.Succeeded
		if i+1 == 4 {
			want = orchestration.Failed
		}
		require.Equal(t, want, ops[name].State, ops[name].Description)
	}
	require.Equal(t, map[string]int{names[1]: 1, names[2]: 1, names[4]: 1}, f.Upgrades(t))
	var order []string
	for _, r := range f.Audit(t).Requests {
		if r.DryRun {
			require.Equal(t, names[5], r.Name)
			continue
		}
		order = append(order, r.Name)
	}
	require.Equal(t, []string{names[1], names[2], names[4]}, order, "the one in progress goes on first, then the others in their order")
	require.Equal(t, at, ops[names[1]].StartedAt.UTC(), "it was started before the restart")
}
