package storetest

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/fleet"
)

// eventsBefore returns the messages of the events before one.
func eventsBefore(t testing.TB, s fleet.Store, f fleet.EventFilter, id int64, limit int) []string {
	t.Helper()
	rows, err := s.EventsBefore(t.Context(), f, id, limit)
	require.NoError(t, err)
	got := make([]string, len(rows))
	for i, e := range rows {
		got[i] = e.Message
	}
	return got
}

func testEventsBefore(t *testing.T, open Open) {
	s := open(t, newClock().Now)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		return tx.AppendEvents(ctx, []fleet.Event{
			{OrchestrationID: "o-1", OperationID: "op-1", InstanceID: "i-1", Level: fleet.LevelError, Message: "a"},
			{OrchestrationID: "o-1", Message: "b"},
			{OrchestrationID: "o-2", OperationID: "op-2", InstanceID: "i-2", Message: "c", Actor: fleet.Actor{User: "user-1"}},
			{Message: "d"},
			{InstanceID: "i-1", Level: fleet.LevelError, Message: "e"},
		})
	})
	all, _, err := s.ListEvents(t.Context(), fleet.EventFilter{}, page)
	require.NoError(t, err)
	require.Len(t, all, 5)
	for _, test := range []struct {
		filter fleet.EventFilter
		want   []string
	}{
		{fleet.EventFilter{}, []string{"e", "d", "c", "b", "a"}},
		{fleet.EventFilter{OrchestrationID: "o-1"}, []string{"b", "a"}},
		{fleet.EventFilter{OrchestrationID: "o-1", Levels: []fleet.Level{fleet.LevelInfo}}, []string{"b"}},
		{fleet.EventFilter{OperationID: "op-2"}, []string{"c"}},
		{fleet.EventFilter{InstanceIDs: []string{"i-1"}}, []string{"e", "a"}},
		{fleet.EventFilter{InstanceIDs: []string{"i-1", "i-2", "i-1"}}, []string{"e", "c", "a"}},
		{fleet.EventFilter{InstanceIDs: manyValues("i-1")}, []string{"e", "a"}},
		{fleet.EventFilter{Levels: []fleet.Level{fleet.LevelError}}, []string{"e", "a"}},
		{fleet.EventFilter{Levels: []fleet.Level{fleet.LevelInfo}}, []string{"d", "c", "b"}},
		{fleet.EventFilter{Levels: []fleet.Level{fleet.LevelError, fleet.LevelInfo}}, []string{"e", "d", "c", "b", "a"}},
		{fleet.EventFilter{InstanceIDs: []string{"unknown"}}, []string{}},
	} {
		require.Equal(t, test.want, eventsBefore(t, s, test.filter, math.MaxInt64, 10), "%+v", test.filter)
		require.Equal(t, test.want[:min(1, len(test.want))], eventsBefore(t, s, test.filter, math.MaxInt64, 1), "%+v", test.filter)
	}
	require.Equal(t, []string{"c", "b"}, eventsBefore(t, s, fleet.EventFilter{}, all[1].ID, 2), "the event itself is not among them")
	require.Equal(t, []string{"c"}, eventsBefore(t, s, fleet.EventFilter{InstanceIDs: []string{"i-1", "i-2"}}, all[0].ID, 1))
	require.Empty(t, eventsBefore(t, s, fleet.EventFilter{}, all[4].ID, 10))
	require.Empty(t, eventsBefore(t, s, fleet.EventFilter{}, math.MinInt64, 10))
	rows, err := s.EventsBefore(t.Context(), fleet.EventFilter{}, all[0].ID, 10)
	require.NoError(t, err)
	require.Equal(t, all[1:], rows, "the same events as in the list, with every field")
	_, err = s.EventsBefore(t.Context(), fleet.EventFilter{}, all[0].ID, 0)
	require.ErrorIs(t, err, fleet.ErrInvalid)
}

// Whatever is filtered by and however long the pages are: who begins with the first page and goes on from the last event of each has the list as
// it was at the begin, also while events are added.
func testEventsBeforeAreTheList(t *testing.T, open Open) {
	s := open(t, newClock().Now)
	levels := []fleet.Level{fleet.LevelInfo, fleet.LevelError}
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		// Every round has an orchestration of its own in one store, because making a store takes longer; events of earlier ones are not read.
		round++
		id := func(kind string, n int) string { return fmt.Sprintf("%s-%d-%d", kind, round, n) }
		add := func(n int, label string) {
			events := make([]fleet.Event, n)
			for i := range events {
				k := rapid.IntRange(0, 3).Draw(rt, label)
				events[i] = fleet.Event{
					OrchestrationID: id("o", k%2), OperationID: id("op", k), InstanceID: id("i", k), Level: rapid.SampledFrom(levels).Draw(rt, "level"),
				}
			}
			update(t, s, func(ctx context.Context, tx fleet.Tx) error { return tx.AppendEvents(ctx, events) })
		}
		earlier, _, err := s.ListEvents(t.Context(), fleet.EventFilter{}, fleet.Page{Number: 1, Size: 1})
		require.NoError(t, err)
		var begin int64
		if len(earlier) > 0 {
			begin = earlier[0].ID
		}
		add(rapid.IntRange(1, 25).Draw(rt, "events"), "event")
		f := rapid.SampledFrom([]fleet.EventFilter{
			{}, {Levels: levels[:1]}, {Levels: levels[1:]}, {Levels: levels}, {OrchestrationID: id("o", 1)}, {OperationID: id("op", 2)},
			{InstanceIDs: []string{id("i", 0)}}, {InstanceIDs: []string{id("i", 1), id("i", 3)}}, {InstanceIDs: manyValues(id("i", 1))},
			{OrchestrationID: id("o", 0), Levels: levels[1:], InstanceIDs: []string{id("i", 0), id("i", 1)}},
		}).Draw(rt, "filter")
		since := func(rows []fleet.Event) (ids []int64) {
			for _, e := range rows {
				if e.ID > begin {
					ids = append(ids, e.ID)
				}
			}
			return ids
		}
		whole, _, err := s.ListEvents(t.Context(), f, page)
		require.NoError(t, err)
		want := since(whole)

		size := rapid.IntRange(1, 7).Draw(rt, "size")
		rows, _, err := s.ListEvents(t.Context(), f, fleet.Page{Number: 1, Size: size})
		require.NoError(t, err)
		var got []int64
		for len(since(rows)) > 0 {
			got = append(got, since(rows)...)
			add(rapid.IntRange(0, 9).Draw(rt, "how many come"), "new event")
			rows, err = s.EventsBefore(t.Context(), f, got[len(got)-1], size)
			require.NoError(t, err)
			require.LessOrEqual(t, len(rows), size)
		}
		require.Equal(t, want, got)
	})
}
