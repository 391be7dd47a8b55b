package apiclient

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// thingNumber is the ID of a thing as a number.
func thingNumber(t *thing) (uint64, bool) {
	n, err := strconv.ParseUint(t.ID, 10, 64)
	return n, err == nil
}

// downFrom are things whose IDs are the numbers from one to another.
func downFrom(from, to int) []thing {
	rows := []thing{}
	for n := from; n >= to; n-- {
		rows = append(rows, thing{ID: strconv.Itoa(n)})
	}
	return rows
}

// below answers with the first rows whose numbers are smaller than one.
func (l *list) below(_ context.Context, below uint64) (Page[thing], error) {
	l.requests++
	if l.before != nil {
		l.before(l.requests, l)
	}
	rows := []thing{}
	for _, row := range l.rows {
		if n, _ := thingNumber(&row); (below == 0 || n < below) && len(rows) < l.size {
			rows = append(rows, row)
		}
	}
	return Page[thing]{Rows: rows, Count: len(rows)}, nil
}

// A history that grows faster than it is read is read once, as it was at the begin.
func TestWalkDownReadsEachPageOnce(t *testing.T) {
	t.Parallel()
	for rows, requests := range map[int]int{0: 1, 1: 2, 3: 2, 4: 3, 9: 4} {
		l := &list{rows: downFrom(rows, 1), size: 3}
		next := rows
		l.before = func(request int, l *list) {
			if request > 1 {
				l.rows = append(downFrom(next+7, next+1), l.rows...)
				next += 7
			}
		}
		got, err := WalkDown(t.Context(), 0, thingNumber, l.below)
		require.NoError(t, err)
		require.Equal(t, downFrom(rows, 1), got)
		require.Equal(t, requests, l.requests)
	}
	l := &list{rows: downFrom(9, 1), size: 3}
	got, err := WalkDown(t.Context(), 5, thingNumber, l.below)
	require.NoError(t, err)
	require.Equal(t, downFrom(4, 1), got)
	l.rows = []thing{{ID: strconv.FormatUint(math.MaxUint64, 10)}, {ID: "1"}}
	got, err = WalkDown(t.Context(), 0, thingNumber, l.below)
	require.NoError(t, err)
	require.Equal(t, l.rows, got)
}

// Whatever comes and goes between two requests: what stays is found once and in order, and no page is asked for twice.
func TestPropertyWalkDownFindsWhatStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		begun := rapid.IntRange(0, 40).Draw(t, "rows")
		l := &list{rows: downFrom(begun, 1), size: rapid.IntRange(1, 7).Draw(t, "size")}
		stays := slices.Clone(l.rows)
		next := begun
		l.before = func(request int, l *list) {
			if request == 1 {
				return
			}
			come := rapid.IntRange(0, 2*l.size).Draw(t, "how many come")
			l.rows = append(downFrom(next+come, next+1), l.rows...)
			next += come
			for range min(len(l.rows), rapid.IntRange(0, l.size).Draw(t, "how many go")) {
				at := rapid.IntRange(0, len(l.rows)-1).Draw(t, "which")
				gone := l.rows[at]
				stays = slices.DeleteFunc(stays, func(row thing) bool { return row == gone })
				l.rows = slices.Delete(l.rows, at, at+1)
			}
		}
		got, err := WalkDown(context.Background(), 0, thingNumber, l.below)
		require.NoError(t, err)
		last := uint64(begun) + 1
		for i := range got {
			n, _ := thingNumber(&got[i])
			require.Less(t, n, last)
			last = n
		}
		require.Subset(t, got, stays)
		require.LessOrEqual(t, l.requests, begun/l.size+2)
	})
}

// A server that does not go on from a row, or whose rows have no numbers, is told apart; it never makes the walk endless.
func TestWalkDownTellsServersThatCannot(t *testing.T) {
	t.Parallel()
	for name, pages := range map[string][][]thing{
		"the same page again":   {downFrom(5, 3), downFrom(5, 3)},
		"the row itself again":  {downFrom(5, 3), downFrom(3, 1)},
		"rising":                {{{ID: "1"}, {ID: "2"}}},
		"twice":                 {{{ID: "2"}, {ID: "2"}}},
		"no numbers":            {{{ID: "5"}, {ID: "b"}}},
		"no numbers, and later": {downFrom(5, 3), {{ID: ""}}},
		"zero":                  {downFrom(5, 0)},
	} {
		requests := 0
		got, err := WalkDown(t.Context(), 0, thingNumber, func(context.Context, uint64) (Page[thing], error) {
			requests++
			return Page[thing]{Rows: pages[requests-1]}, nil
		})
		require.ErrorIs(t, err, ErrNotDown, name)
		require.Nil(t, got, name)
		require.Equal(t, len(pages), requests, name)
	}
}

func TestWalkDownReturnsAllOrAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	l := &list{rows: downFrom(9, 1), size: 2}
	got, err := WalkDown(t.Context(), 0, thingNumber, func(ctx context.Context, below uint64) (Page[thing], error) {
		if below == 4 {
			return Page[thing]{}, broken
		}
		return l.below(ctx, below)
	})
	require.ErrorIs(t, err, broken)
	require.Nil(t, got)

	got, err = walkDown(t.Context(), math.MaxUint64, 1000, thingNumber, func(_ context.Context, below uint64) (Page[thing], error) {
		return Page[thing]{Rows: things(strconv.FormatUint(below-1, 10))}, nil
	})
	require.ErrorContains(t, err, "more than 1000 rows")
	require.Nil(t, got)
}
