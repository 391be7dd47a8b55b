package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// events returns the messages of the events that a filter selects, page by page.
func events(t testing.TB, s fleet.Store, f fleet.EventFilter) []string {
	t.Helper()
	got := []string{}
	for number := 1; ; number++ {
		rows, total, err := s.ListEvents(t.Context(), f, fleet.Page{Number: number, Size: 2})
		require.NoError(t, err)
		if len(rows) == 0 {
			require.Len(t, got, total)
			return got
		}
		for _, e := range rows {
			got = append(got, e.Message)
		}
	}
}

func testEvents(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	full := fleet.Event{
		At: start.Add(-time.Hour), Kind: fleet.EventFinished, Level: fleet.LevelError, OrchestrationID: "o-1", OperationID: "op-1", RuntimeID: "rt-1",
		InstanceID: "i-1", From: fleet.InProgress, To: fleet.Failed, Message: "a",
		Actor: fleet.Actor{User: "user-1", Roles: []string{"admin"}, RequestID: "r-1", RemoteAddr: "127.0.0.1:1"},
	}
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		return tx.AppendEvents(ctx, []fleet.Event{
			full,
			{Kind: fleet.EventCreated, OrchestrationID: "o-1", Message: "b"},
			{Kind: fleet.EventCreated, OrchestrationID: "o-2", OperationID: "op-2", InstanceID: "i-2", Level: fleet.LevelInfo, Message: "c"},
			{Kind: fleet.EventImported, Message: "d"},
			{Kind: fleet.EventFinished, InstanceID: "i-1", Level: fleet.LevelError, Message: "e"},
		})
	})
	for _, test := range []struct {
		filter fleet.EventFilter
		want   []string
	}{
		{fleet.EventFilter{}, []string{"e", "d", "c", "b", "a"}},
		{fleet.EventFilter{OrchestrationID: "o-1"}, []string{"b", "a"}},
		{fleet.EventFilter{OperationID: "op-2"}, []string{"c"}},
		{fleet.EventFilter{InstanceIDs: []string{"i-1"}}, []string{"e", "a"}},
		{fleet.EventFilter{InstanceIDs: []string{"i-1", "i-2", "i-1"}}, []string{"e", "c", "a"}},
		{fleet.EventFilter{InstanceIDs: manyValues("i-1")}, []string{"e", "a"}},
		{fleet.EventFilter{Levels: []fleet.Level{fleet.LevelError}}, []string{"e", "a"}},
		{fleet.EventFilter{Levels: []fleet.Level{fleet.LevelError, fleet.LevelInfo}}, []string{"e", "d", "c", "b", "a"}},
		{fleet.EventFilter{InstanceIDs: []string{"i-1", "i-2"}, Levels: []fleet.Level{fleet.LevelInfo}, OrchestrationID: "o-2"}, []string{"c"}},
		{fleet.EventFilter{InstanceIDs: []string{"unknown"}}, []string{}},
	} {
		require.Equal(t, test.want, events(t, s, test.filter), "%+v", test.filter)
	}
	rows, _, err := s.ListEvents(t.Context(), fleet.EventFilter{OperationID: "op-1"}, page)
	require.NoError(t, err)
	full.ID = rows[0].ID
	require.NotZero(t, full.ID)
	require.Equal(t, full, rows[0])
	rows, _, err = s.ListEvents(t.Context(), fleet.EventFilter{OperationID: "op-2"}, page)
	require.NoError(t, err)
	require.Equal(t, start, rows[0].At)
	require.Equal(t, fleet.Actor{}, rows[0].Actor)
	require.Greater(t, rows[0].ID, full.ID)
}

// Who canceled is who asked last, whatever happened since then.
func testCanceledBy(t *testing.T, open Open) {
	s := open(t, newClock().Now)
	by := func(user string) fleet.Actor { return fleet.Actor{User: user} }
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		return tx.AppendEvents(ctx, []fleet.Event{
			{Kind: fleet.EventCreated, OrchestrationID: "o-1", Actor: by("ann")},
			{Kind: fleet.EventCancel, OrchestrationID: "o-1", Actor: by("ben")},
			{Kind: fleet.EventRetry, OrchestrationID: "o-1", Actor: by("ann")},
			{Kind: fleet.EventCancel, OrchestrationID: "o-1", Actor: by("cem")},
			{Kind: fleet.EventFinished, OrchestrationID: "o-1"},
			{Kind: fleet.EventCancel, OrchestrationID: "o-2"},
			{Kind: fleet.EventCancel, Actor: by("dan")},
		})
	})
	for id, want := range map[string]string{"o-1": "cem", "o-2": "", "o-3": "", "": ""} {
		got, err := s.CanceledBy(t.Context(), id)
		require.NoError(t, err, id)
		require.Equal(t, want, got, id)
	}
}

// An event names the Shoot as it was called then, by itself or by its operation, whatever becomes of the runtime.
func testEventsNameTheShoot(t *testing.T, open Open) {
	s := open(t, newClock().Now)
	put(t, s, "import", newRuntime(1), newRuntime(2))
	o := newOrchestration("o-1")
	op := newOperation(o.ID, 0, 1)
	op.ShootName = "c-then"
	unnamed := newOperation(o.ID, 1, 2)
	unnamed.ShootName = ""
	insert(t, s, o, op, unnamed)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		return tx.AppendEvents(ctx, []fleet.Event{
			{Message: "operation", OrchestrationID: o.ID, OperationID: op.ID, InstanceID: "i-1"},
			{Message: "operation without a name", OrchestrationID: o.ID, OperationID: unnamed.ID, InstanceID: "i-2"},
			{Message: "runtime", InstanceID: "i-1", ShootName: "c-before"},
			{Message: "runtime without a name", InstanceID: "i-1"},
			{Message: "gone", OperationID: "none", InstanceID: "none"},
			{Message: "orchestration", OrchestrationID: o.ID},
		})
	})
	rows, _, err := s.ListEvents(t.Context(), fleet.EventFilter{}, page)
	require.NoError(t, err)
	got := map[string]string{}
	for _, e := range rows {
		got[e.Message] = e.ShootName
	}
	require.Equal(t, map[string]string{"operation": "c-then", "operation without a name": "", "runtime": "c-before", "runtime without a name": "", "gone": "", "orchestration": ""}, got)
}

func testRetention(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	put(t, s, "import", newRuntime(1), newRuntime(2))
	for i, state := range []fleet.State{fleet.Succeeded, fleet.Failed, fleet.InProgress, fleet.Canceled, fleet.Failed} {
		o := newOrchestration(fmt.Sprintf("o-%d", i))
		o.State = state
		if state.Ended() {
			o.FinishedAt = start.Add(time.Duration(i) * time.Hour)
		}
		op := newOperation(o.ID, 0, 1)
		if i == 2 {
			op = newOperation(o.ID, 0, 2)
		}
		insert(t, s, o, op)
		update(t, s, func(ctx context.Context, tx fleet.Tx) error {
			require.NoError(t, tx.InsertLeftOut(ctx, []fleet.LeftOut{{OrchestrationID: o.ID}}))
			return tx.AppendEvents(ctx, []fleet.Event{
				{Message: "of " + o.ID, OrchestrationID: o.ID, At: start.Add(48 * time.Hour)},
				{Message: fmt.Sprintf("at %d", i), At: start.Add(time.Duration(i) * time.Hour)},
			})
		})
		clock.Advance(time.Minute)
	}
	admit(t, s, "o-1-op-000")
	finish(t, s, "o-1-op-000", fleet.Failed)
	require.Equal(t, runtime.StateError, runtimeOf(t, s, "i-1").State)

	remove := func(before time.Time, limit int) int {
		var n int
		update(t, s, func(ctx context.Context, tx fleet.Tx) (err error) {
			n, err = tx.DeleteFinishedBefore(ctx, before, limit)
			return err
		})
		return n
	}
	require.Equal(t, 1, remove(start.Add(2*time.Hour), 1), "the oldest first")
	_, err := s.Orchestration(t.Context(), "o-0")
	require.ErrorIs(t, err, fleet.ErrNotFound)
	require.Equal(t, runtime.StateError, runtimeOf(t, s, "i-1").State)
	require.Equal(t, 1, remove(start.Add(2*time.Hour), 10))
	require.Zero(t, remove(start.Add(2*time.Hour), 10), "what has not ended stays, however old it is")

	rows, _, err := s.ListOrchestrations(t.Context(), fleet.OrchestrationFilter{}, page)
	require.NoError(t, err)
	require.Len(t, rows, 3)
	_, err = s.Operation(t.Context(), "o-1", "o-1-op-000")
	require.ErrorIs(t, err, fleet.ErrNotFound)
	_, total, err := s.ListLeftOut(t.Context(), "o-1", page)
	require.NoError(t, err)
	require.Zero(t, total)
	require.Equal(t, []string{"at 4", "of o-4", "at 3", "of o-3", "at 2", "of o-2"}, events(t, s, fleet.EventFilter{}))
	got := runtimeOf(t, s, "i-1")
	require.Equal(t, runtime.StateSucceeded, got.State, "the state follows from the operations that are left")
	require.Empty(t, got.Own)
}
