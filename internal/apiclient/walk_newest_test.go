package apiclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A list that only grows at its begin is read once, also when it grows between any two requests; every row that was there at the begin of
// the walk is in the result.
func TestWalkNewestFirstReadsAGrowingListOnce(t *testing.T) {
	t.Parallel()
	l := &list{rows: numbered(9), size: 3, before: func(request int, l *list) {
		if request > 1 {
			l.rows = append(things(fmt.Sprintf("new-%d", request)), l.rows...)
		}
	}}
	got, err := WalkNewestFirst(t.Context(), thingID, l.fetch)
	require.NoError(t, err)
	require.Equal(t, numbered(9), got)
	// One row is added for each page that is read, so that there are two pages more than without them.
	require.Equal(t, 6, l.requests)
}

// What is in a history all the time is found once, while rows come at its begin and go away anywhere, also both between the same two requests.
func TestPropertyWalkNewestFirstFindsWhatStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &list{rows: numbered(rapid.IntRange(0, 40).Draw(t, "rows")), size: rapid.IntRange(1, 7).Draw(t, "size")}
		stays := map[string]bool{}
		for _, row := range l.rows {
			stays[row.ID] = true
		}
		changes := rapid.IntRange(0, 6).Draw(t, "changes")
		added := 0
		l.before = func(request int, l *list) {
			if request == 1 || changes == 0 || !rapid.Bool().Draw(t, "change now") {
				return
			}
			changes--
			for range rapid.IntRange(0, 2*l.size).Draw(t, "how many come") {
				added++
				l.rows = slices.Insert(l.rows, 0, thing{ID: fmt.Sprintf("new-%d", added)})
			}
			for range min(len(l.rows), rapid.IntRange(0, 2*l.size).Draw(t, "how many go")) {
				at := rapid.IntRange(0, len(l.rows)-1).Draw(t, "which")
				delete(stays, l.rows[at].ID)
				l.rows = slices.Delete(l.rows, at, at+1)
			}
		}
		got, err := WalkNewestFirst(context.Background(), thingID, l.fetch)
		require.NoError(t, err)
		count := map[string]int{}
		for _, row := range got {
			count[row.ID]++
			require.Equal(t, 1, count[row.ID], "row %s", row.ID)
		}
		for id := range stays {
			require.Equal(t, 1, count[id], "row %s is missing", id)
		}
	})
}

// A cleanup that takes rows away brings others past the reader, who goes back for them, and no further than that.
func TestWalkNewestFirstGoesBackForWhatMovedPastIt(t *testing.T) {
	t.Parallel()
	var numbers []int
	l := &list{rows: numbered(12), size: 3, before: func(request int, l *list) {
		if request == 4 {
			l.rows = slices.Delete(l.rows, 4, 6)
		}
	}}
	got, err := WalkNewestFirst(t.Context(), thingID, func(ctx context.Context, number int) (Page[thing], error) {
		numbers = append(numbers, number)
		return l.fetch(ctx, number)
	})
	require.NoError(t, err)
	require.ElementsMatch(t, numbered(12), got, "what went away after it was read stays in the result")
	require.Equal(t, []int{1, 2, 3, 4, 3, 4, 5}, numbers)
}

func TestWalkNewestFirstDoesNotTrustTotals(t *testing.T) {
	t.Parallel()
	for name, total := range map[string]func(*list) int{
		"none":         func(*list) int { return 0 },
		"too small":    func(*list) int { return 1 },
		"too large":    func(*list) int { return 1000 },
		"negative":     func(*list) int { return -1 },
		"fancied":      func(l *list) int { return l.requests * 7 % 5 },
		"ever smaller": func(l *list) int { return 1000 - 100*l.requests },
	} {
		for _, rows := range []int{0, 1, 7} {
			l := &list{rows: numbered(rows), size: 2, total: total}
			got, err := WalkNewestFirst(t.Context(), thingID, l.fetch)
			require.NoError(t, err, name)
			require.Equal(t, numbered(rows), got, name)
			require.LessOrEqual(t, l.requests, 30, name)
		}
	}
}

func TestWalkNewestFirstReturnsAllOrAnError(t *testing.T) {
	t.Parallel()
	requests := 0
	got, err := WalkNewestFirst(t.Context(), thingID, func(context.Context, int) (Page[thing], error) {
		requests++
		return Page[thing]{Rows: numbered(3), TotalCount: 3}, nil
	})
	require.ErrorContains(t, err, "does not seem to know pages")
	require.Nil(t, got)
	require.Equal(t, 1+maxStalePages, requests)

	broken := errors.New("broken")
	l := &list{rows: numbered(9), size: 2}
	got, err = WalkNewestFirst(t.Context(), thingID, func(ctx context.Context, number int) (Page[thing], error) {
		if number == 4 {
			return Page[thing]{}, broken
		}
		return l.fetch(ctx, number)
	})
	require.ErrorIs(t, err, broken)
	require.Nil(t, got)

	endless := newWalk(thingID, func(_ context.Context, number int) (Page[thing], error) {
		return Page[thing]{Rows: things(fmt.Sprint(number))}, nil
	})
	endless.limit = 1000
	got, err = endless.runNewestFirst(t.Context())
	require.ErrorContains(t, err, "more than 1000 rows")
	require.Nil(t, got)
}
