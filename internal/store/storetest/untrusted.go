package storetest

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

func testText(t *testing.T, open Open) {
	s := open(t, nil)
	for i, test := range []struct{ in, want string }{
		{"plain", "plain"},
		{`it's "quoted" \ \' '' $1 ? :x %s -- ;`, `it's "quoted" \ \' '' $1 ? :x %s -- ;`},
		{"line\nbreak\ttab\r", "line\nbreak\ttab\r"},
		{"nul\x00byte", "nul\uFFFDbyte"},
		{"bad \xff utf-8 \xc3", "bad \uFFFD utf-8 \uFFFD"},
		{"half a surrogate \xed\xa0\x80", "half a surrogate \uFFFD"},
		{"emoji 🚀 and ä", "emoji 🚀 and ä"},
		{strings.Repeat("huge", 1<<16), strings.Repeat("huge", 1<<16)},
	} {
		op := newOperation("o-"+test.want[:1]+string(rune('a'+i)), 0, i)
		op.Description, op.Reason, op.ShootName, op.Region = test.in, test.in, test.in, test.in
		op.FinishedStages = []string{test.in}
		op.Memo = json.RawMessage(`"` + strings.Repeat("m", i) + `"`)
		o := newOrchestration(op.OrchestrationID)
		o.Description, o.Parameters.Version = test.in, test.in
		insert(t, s, o, op)
		view, err := s.Operation(t.Context(), op.OrchestrationID, op.ID)
		require.NoError(t, err)
		for _, got := range []string{view.Description, view.Reason, view.ShootName, view.Region} {
			require.Equal(t, test.want, got)
		}
		change(t, s, op.ID, func(_ time.Time, op *fleet.Operation) { op.Description = "x" + test.in })
		view, err = s.Operation(t.Context(), op.OrchestrationID, op.ID)
		require.NoError(t, err)
		require.Equal(t, "x"+test.want, view.Description)

		doc := newRuntime(i)
		doc.UserID, doc.ShootName = test.in, test.in
		put(t, s, "import", doc)
		got := runtimeOf(t, s, doc.InstanceID)
		require.Equal(t, string([]rune(test.in)), got.DTO.ShootName, "JSON can hold a NUL")
		require.Equal(t, []string{doc.InstanceID}, listed(t, s, fleet.RuntimeFilter{Shoots: []string{test.in}}, 10))
		update(t, s, func(ctx context.Context, tx fleet.Tx) error {
			return tx.AppendEvents(ctx, []fleet.Event{{Message: test.in, OperationID: op.ID, Actor: fleet.Actor{User: test.in}}})
		})
		rows, _, err := s.ListEvents(t.Context(), fleet.EventFilter{OperationID: op.ID}, page)
		require.NoError(t, err)
		require.Equal(t, test.want, rows[0].Message)
	}
	// A value that cannot be stored is not equal to what it looks like without its fault.
	require.Empty(t, listed(t, s, fleet.RuntimeFilter{Shoots: []string{"plain\x00", "\xffplain"}}, 10))
	_, err := s.Orchestration(t.Context(), "o-\x00")
	require.ErrorIs(t, err, fleet.ErrNotFound)
	require.Empty(t, listed(t, s, fleet.RuntimeFilter{Shoots: []string{strings.Repeat("huge", 1<<16) + "x"}}, 10))

	// IDs of the size of a document are no IDs.
	long := newRuntime(99)
	for _, field := range []*string{&long.InstanceID, &long.RuntimeID} {
		before := *field
		*field = strings.Repeat("i", 5000)
		err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
			_, err := tx.PutRuntimes(ctx, "import", []runtime.RuntimeDTO{long})
			return err
		})
		require.ErrorIs(t, err, fleet.ErrInvalid)
		*field = before
	}
	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		o := newOrchestration("o-long")
		o.IdempotencyKey = strings.Repeat("k", 5000)
		return tx.InsertOrchestration(ctx, &o)
	})
	require.ErrorIs(t, err, fleet.ErrInvalid)
}

// insertRaw puts an orchestration with these parameters into the table, as an older server would have left it.
func insertRaw(t testing.TB, db *sql.DB, id, kind, state, parameters string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `INSERT INTO orchestrations (id, type, state, parameters, created_at, updated_at) VALUES ($1, $2, $3, $4, 1, 1)`,
		id, kind, state, parameters)
	require.NoError(t, err)
}

// testOldParameters: rows written by an older version are readable, one bad row hides no other, and what is not understood never runs.
func testOldParameters(t *testing.T, open Open) {
	s := open(t, nil)
	kinds := map[string][2]string{
		"a": {"upgradeKyma", `{"targets":{"include":[{"target":"all"}]},"retryoperation":{"immediate":"true"}}`},
		"b": {"upgradeKyma", `{"targets":{"include":[{"target":"all"}]},"retryoperation":{"immediate":""}}`},
		"c": {"upgradeCluster", `{"targets":{"include":[{"runtimeID":"rt-1"}]},"strategy":{"type":"parallel","schedule":"maintenanceWindow","parallel":{"workers":2}}}`},
		"d": {"upgradeCluster", `{"targets":{"include":[]},"kyma":null,"kubernetes":null}`},
		"e": {"upgradeCluster", `{"targets":{"include":[{"target":"all"}]},"strategy":{"schedule":"at noon"}}`},
		"f": {"upgradeCluster", `{"targets":`},
		"g": {"upgradeCluster", `{"targets":{"include":[{"target":"all"}]},"strategy":{"schedule":"now","ScheduleTime":"2030-01-02T22:00:00+01:00"}}`},
		"h": {"upgradeCluster", `[]`},
		"i": {"upgradeCluster", ``},
	}
	for id, row := range kinds {
		insertRaw(t, s.SQL(), id, row[0], "pending", row[1])
	}
	rows, total, err := s.ListOrchestrations(t.Context(), fleet.OrchestrationFilter{}, page)
	require.NoError(t, err)
	require.Equal(t, len(kinds), total)
	got := map[string]fleet.Orchestration{}
	for _, o := range rows {
		got[o.ID] = o
		one, err := s.Orchestration(t.Context(), o.ID)
		require.NoError(t, err)
		require.Equal(t, o, one)
		require.Equal(t, orchestration.Type(kinds[o.ID][0]), o.Type)
	}
	all := []orchestration.RuntimeTarget{{Target: orchestration.TargetAll}}
	for _, id := range []string{"a", "b"} {
		require.Empty(t, got[id].Unreadable)
		require.Equal(t, all, got[id].Parameters.Targets.Include)
		require.Equal(t, orchestration.Immediate, got[id].Parameters.Strategy.Schedule)
	}
	require.Empty(t, got["c"].Unreadable)
	c := got["c"]
	require.True(t, c.UsesWindows(), "the old word for a window run still means one")
	require.Equal(t, 2, c.Workers())
	require.Empty(t, got["d"].Unreadable)
	require.Empty(t, got["d"].Parameters.Targets.Include)
	for _, id := range []string{"e", "f", "h", "i"} {
		require.NotEmpty(t, got[id].Unreadable, id)
	}
	require.Equal(t, time.Date(2030, 1, 2, 21, 0, 0, 0, time.UTC), got["g"].NotBefore)

	open2, err := s.OpenOrchestrations(t.Context())
	require.NoError(t, err)
	var runs []string
	for _, o := range open2 {
		runs = append(runs, o.ID)
	}
	require.Equal(t, []string{"a", "b", "c", "d", "g"}, runs)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		o, err := tx.LockOrchestration(ctx, "e")
		require.NoError(t, err)
		require.NotEmpty(t, o.Unreadable)
		o.State = fleet.Canceling
		return tx.SaveOrchestration(ctx, &o)
	})
	var kept string
	require.NoError(t, s.SQL().QueryRowContext(t.Context(), "SELECT parameters FROM orchestrations WHERE id = 'e'").Scan(&kept))
	require.Equal(t, kinds["e"][1], kept, "parameters that cannot be read are not lost")
}

func testOldStateWords(t *testing.T, open Open) {
	s := open(t, nil)
	begin(t, s, "o-1", 2)
	_, err := s.SQL().ExecContext(t.Context(), "UPDATE operations SET state = 'retrying' WHERE position = 1")
	require.NoError(t, err)
	_, err = s.SQL().ExecContext(t.Context(), "UPDATE operations SET finished_stages = '{', window_rule = 'x' WHERE position = 0")
	require.NoError(t, err)
	rows, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-1"}, page)
	require.NoError(t, err)
	require.Equal(t, 2, total)
	for _, op := range rows {
		require.Equal(t, fleet.Pending, op.State)
		require.Empty(t, op.FinishedStages)
		require.True(t, op.WindowRule.IsZero())
	}
}

// testPages: whatever the size of the page, walking through all of them gives every row once, in the one order.
func testPages(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	states := []fleet.State{fleet.Pending, fleet.Succeeded, fleet.Failed, fleet.Canceled}
	o := newOrchestration("o-1")
	insert(t, s, o)
	var all []fleet.Operation
	for i := range 60 {
		if i%7 == 0 {
			clock.Advance(time.Second)
		}
		op := newOperation("o-1", i/2, i)
		op.ID += string(rune('a' + i%3))
		op.State, op.CreatedAt = states[i%4], clock.Now()
		all = append(all, op)
	}
	update(t, s, func(ctx context.Context, tx fleet.Tx) error { return tx.InsertOperations(ctx, all) })
	slices.SortFunc(all, func(a, b fleet.Operation) int {
		switch {
		case !a.CreatedAt.Equal(b.CreatedAt):
			return b.CreatedAt.Compare(a.CreatedAt)
		case a.Position != b.Position:
			return a.Position - b.Position
		default:
			return strings.Compare(a.ID, b.ID)
		}
	})
	check := func(rt *rapid.T) {
		wanted := rapid.SliceOfN(rapid.SampledFrom(states), 0, 5).Draw(rt, "states")
		size := rapid.IntRange(7, 70).Draw(rt, "size")
		var want, got []string
		for _, op := range all {
			if len(wanted) == 0 || slices.Contains(wanted, op.State) {
				want = append(want, op.ID)
			}
		}
		pages := (len(want) + size - 1) / size
		for number := 1; number <= pages+1; number++ {
			rows, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-1", States: wanted}, fleet.Page{Number: number, Size: size})
			require.NoError(rt, err)
			require.Equal(rt, len(want), total)
			require.LessOrEqual(rt, len(rows), size)
			if number > pages {
				require.Empty(rt, rows)
			}
			for _, op := range rows {
				got = append(got, op.ID)
			}
		}
		require.Equal(rt, want, got)
	}
	rapid.Check(t, check)
	// Once the targets are resolved the counters of the orchestration tell the total, and the pages are the same.
	var counts fleet.Counts
	for _, op := range all {
		counts.Add(op.State, 1)
	}
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		o, err := tx.LockOrchestration(ctx, "o-1")
		require.NoError(t, err)
		o.ResolvedAt, o.Counts = tx.Now(), counts
		return tx.SaveOrchestration(ctx, &o)
	})
	rapid.Check(t, check)
	for _, bad := range []fleet.Page{{}, {Number: 0, Size: 5}, {Number: 1, Size: 0}, {Number: -1, Size: -1}} {
		_, _, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-1"}, bad)
		require.ErrorIs(t, err, fleet.ErrInvalid)
		_, _, err = s.ListRuntimes(t.Context(), fleet.RuntimeFilter{}, bad)
		require.ErrorIs(t, err, fleet.ErrInvalid)
	}
	for _, far := range []int{1 << 20, 1 << 40, 1<<62 - 1} {
		rows, total, err := s.ListRuntimes(t.Context(), fleet.RuntimeFilter{States: []runtime.State{runtime.AllState}}, fleet.Page{Number: far, Size: 1000})
		require.NoError(t, err)
		require.Zero(t, total)
		require.Empty(t, rows)
		ops, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-1"}, fleet.Page{Number: far, Size: 1000})
		require.NoError(t, err, far)
		require.Equal(t, 60, total)
		require.Empty(t, ops)
	}
}
