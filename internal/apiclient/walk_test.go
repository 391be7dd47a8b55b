package apiclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// list is a server's list that may change between two requests.
type list struct {
	rows   []thing
	size   int
	before func(request int, l *list)
	total  func(l *list) int

	requests int
}

func (l *list) fetch(_ context.Context, number int) (Page[thing], error) {
	l.requests++
	if l.before != nil {
		l.before(l.requests, l)
	}
	total := len(l.rows)
	if l.total != nil {
		total = l.total(l)
	}
	begin := min((number-1)*l.size, len(l.rows))
	end := min(begin+l.size, len(l.rows))
	rows := slices.Clone(l.rows[begin:end])
	return Page[thing]{Rows: rows, Count: len(rows), TotalCount: total}, nil
}

func things(ids ...string) []thing {
	rows := make([]thing, 0, len(ids))
	for _, id := range ids {
		rows = append(rows, thing{ID: id})
	}
	return rows
}

func numbered(n int) []thing {
	rows := make([]thing, 0, n)
	for i := range n {
		rows = append(rows, thing{ID: fmt.Sprintf("t-%04d", i)})
	}
	return rows
}

func TestWalkReadsEveryPageUntilAnEmptyOne(t *testing.T) {
	t.Parallel()
	for rows, requests := range map[int]int{0: 1, 1: 2, 2: 2, 3: 3, 4: 3, 5: 4} {
		l := &list{rows: numbered(rows), size: 2}
		got, err := Walk(t.Context(), thingID, l.fetch)
		require.NoError(t, err)
		require.Equal(t, l.rows, got)
		require.NotNil(t, got)
		require.Equal(t, requests, l.requests)
	}
}

func TestWalkDoesNotTrustTotals(t *testing.T) {
	t.Parallel()
	for name, total := range map[string]func(*list) int{
		"none":        func(*list) int { return 0 },
		"too small":   func(*list) int { return 1 },
		"too large":   func(*list) int { return 1000 },
		"negative":    func(*list) int { return -1 },
		"of the page": func(l *list) int { return l.size },
		"fancied":     func(l *list) int { return l.requests * 7 % 5 },
	} {
		l := &list{rows: numbered(7), size: 2, total: total}
		got, err := Walk(t.Context(), thingID, l.fetch)
		require.NoError(t, err, name)
		require.Equal(t, numbered(7), got, name)
		require.LessOrEqual(t, l.requests, 20, name)
	}
}

func TestWalkThroughAListThatChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before func(request int, l *list)
		want   []string
	}{
		"a row is put in at the end": {
			func(request int, l *list) {
				if request == 3 {
					l.rows = append(l.rows, thing{ID: "x"})
				}
			},
			[]string{"a", "b", "c", "d", "e", "x"},
		},
		"rows are put in at the begin": {
			func(request int, l *list) {
				if request == 2 {
					l.rows = append(things("x", "y", "z"), l.rows...)
				}
			},
			[]string{"a", "b", "c", "d", "e", "x", "y", "z"},
		},
		"a row that was read goes away": {
			func(request int, l *list) {
				if request == 2 {
					l.rows = l.rows[1:]
				}
			},
			[]string{"a", "b", "c", "d", "e"},
		},
		"a row that was not read goes away": {
			func(request int, l *list) {
				if request == 2 {
					l.rows = l.rows[:4]
				}
			},
			[]string{"a", "b", "c", "d"},
		},
		"all that was read goes away": {
			func(request int, l *list) {
				if request == 2 {
					l.rows = l.rows[2:]
				}
			},
			[]string{"a", "b", "c", "d", "e"},
		},
		"everything goes away": {
			func(request int, l *list) {
				if request == 2 {
					l.rows = nil
				}
			},
			[]string{"a", "b"},
		},
		"one goes away as another comes at the begin": {
			func(request int, l *list) {
				if request == 2 {
					l.rows = append(things("x"), l.rows[:4]...)
				}
			},
			[]string{"a", "b", "c", "d"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &list{rows: things("a", "b", "c", "d", "e"), size: 2, before: test.before}
			got, err := Walk(t.Context(), thingID, l.fetch)
			require.NoError(t, err)
			ids := make([]string, 0, len(got))
			for i := range got {
				ids = append(ids, got[i].ID)
			}
			slices.Sort(ids)
			require.Equal(t, test.want, ids)
		})
	}
}

func TestWalkKeepsTheNewestFormOfARow(t *testing.T) {
	t.Parallel()
	l := &list{rows: []thing{{"a", "old"}, {"b", "old"}, {"c", "old"}}, size: 1, before: func(request int, l *list) {
		if request == 2 {
			l.rows = []thing{{"x", "new"}, {"a", "new"}, {"b", "new"}, {"c", "new"}}
		}
	}}
	got, err := Walk(t.Context(), thingID, l.fetch)
	require.NoError(t, err)
	require.Equal(t, []thing{{"a", "new"}, {"x", "new"}, {"b", "new"}, {"c", "new"}}, got)
}

func TestWalkTellsRowsWithoutIDApartByTheirContent(t *testing.T) {
	t.Parallel()
	l := &list{rows: []thing{{"", "a"}, {"", "b"}, {"", "a"}, {"", "c"}}, size: 1}
	got, err := Walk(t.Context(), thingID, l.fetch)
	require.NoError(t, err)
	require.Equal(t, []thing{{"", "a"}, {"", "b"}, {"", "c"}}, got)
}

func TestWalkGivesUpOnAServerThatNeverEnds(t *testing.T) {
	t.Parallel()
	requests := 0
	got, err := Walk(t.Context(), thingID, func(context.Context, int) (Page[thing], error) {
		requests++
		return Page[thing]{Rows: numbered(3), TotalCount: 3}, nil
	})
	require.ErrorContains(t, err, "does not seem to know pages")
	require.Nil(t, got)
	require.Equal(t, 1+maxStalePages, requests)

	requests = 0
	_, err = Walk(t.Context(), thingID, func(context.Context, int) (Page[thing], error) {
		requests++
		return Page[thing]{Rows: numbered(6)[requests%2*3:][:3]}, nil
	})
	require.ErrorContains(t, err, "does not seem to know pages")
	require.Equal(t, 2+maxStalePages, requests)

	endless := &walk[thing]{id: thingID, limit: 1000, index: map[string]int{}, fetch: func(_ context.Context, number int) (Page[thing], error) {
		return Page[thing]{Rows: things(fmt.Sprint(number))}, nil
	}}
	got, err = endless.run(t.Context())
	require.ErrorContains(t, err, "more than 1000 rows")
	require.Nil(t, got)
}

func TestWalkHoldsNoPageThatItHasRead(t *testing.T) {
	t.Parallel()
	l := &list{rows: numbered(20), size: 2}
	var pages []weak.Pointer[thing]
	got, err := Walk(t.Context(), thingID, func(ctx context.Context, number int) (Page[thing], error) {
		runtime.GC()
		held := 0
		for _, page := range pages {
			if page.Value() != nil {
				held++
			}
		}
		require.LessOrEqual(t, held, 1)
		page, err := l.fetch(ctx, number)
		if len(page.Rows) > 0 {
			pages = append(pages, weak.Make(&page.Rows[0]))
		}
		return page, err
	})
	require.NoError(t, err)
	require.Len(t, got, 20)
	require.Len(t, pages, 10)
}

func TestWalkReturnsNoPartWhenAPageFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	l := &list{rows: numbered(9), size: 2}
	got, err := Walk(t.Context(), thingID, func(ctx context.Context, number int) (Page[thing], error) {
		if number == 4 {
			return Page[thing]{}, broken
		}
		return l.fetch(ctx, number)
	})
	require.ErrorIs(t, err, broken)
	require.Nil(t, got)
}

// What is in the list all the time is found once, whatever else comes and goes, as long as less than half a page changes at a time and no
// row that goes hides behind one that comes.
func TestPropertyWalkFindsWhatStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &list{rows: numbered(rapid.IntRange(0, 40).Draw(t, "rows")), size: rapid.IntRange(1, 7).Draw(t, "size")}
		stays := map[string]bool{}
		ever := map[string]bool{}
		for _, row := range l.rows {
			stays[row.ID], ever[row.ID] = true, true
		}
		changes := rapid.IntRange(0, 6).Draw(t, "changes")
		added := 0
		l.before = func(request int, l *list) {
			if request == 1 || changes == 0 || !rapid.Bool().Draw(t, "change now") {
				return
			}
			changes--
			if rapid.Bool().Draw(t, "put in") {
				for range rapid.IntRange(1, (l.size+1)/2).Draw(t, "how many") {
					added++
					row := thing{ID: fmt.Sprintf("new-%d", added)}
					ever[row.ID] = true
					l.rows = slices.Insert(l.rows, rapid.IntRange(0, len(l.rows)).Draw(t, "where"), row)
				}
				return
			}
			for range min(len(l.rows), rapid.IntRange(1, (l.size+1)/2).Draw(t, "how many")) {
				at := rapid.IntRange(0, len(l.rows)-1).Draw(t, "which")
				delete(stays, l.rows[at].ID)
				l.rows = slices.Delete(l.rows, at, at+1)
			}
		}
		got, err := Walk(context.Background(), thingID, l.fetch)
		require.NoError(t, err)
		count := map[string]int{}
		for _, row := range got {
			count[row.ID]++
			require.Equal(t, 1, count[row.ID], "row %s", row.ID)
			require.True(t, ever[row.ID], "row %s", row.ID)
		}
		for id := range stays {
			require.Equal(t, 1, count[id], "row %s is missing", id)
		}
	})
}

// A list that never comes to rest ends the walk all the same.
func TestPropertyWalkEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		added := 0
		l := &list{rows: numbered(20), size: size, before: func(request int, l *list) {
			added++
			row := thing{ID: fmt.Sprintf("new-%d", added)}
			l.rows = slices.Insert(l.rows, rapid.IntRange(0, len(l.rows)).Draw(t, "where"), row)
			if request%2 == 0 || len(l.rows) > 30 {
				l.rows = slices.Delete(l.rows, 0, min(2, len(l.rows)))
			}
		}}
		got, err := Walk(context.Background(), thingID, l.fetch)
		if err != nil {
			require.ErrorContains(t, err, "does not seem to know pages")
			return
		}
		require.LessOrEqual(t, len(got), 20+added)
	})
}

// The filters go with every page and stay as the caller gave them; the failed row comes once.
func TestCase_P1(t *testing.T) {
	t.Parallel()
	rows := []thing{{"op-5", "failed"}, {"op-4", "pending"}, {"op-3", "failed"}, {"op-2", "pending"}, {"op-1", "failed"}}
	var queries []url.Values
	client := overNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		queries = append(queries, query)
		var number int
		_, _ = fmt.Sscan(query.Get("page"), &number)
		l := &list{rows: rows, size: 2}
		page, _ := l.fetch(r.Context(), number)
		_ = json.NewEncoder(w).Encode(map[string]any{"data": page.Rows, "count": page.Count, "totalCount": page.TotalCount})
	})
	filter := url.Values{"state": {"failed", "pending"}}
	got, err := Walk(t.Context(), thingID, func(ctx context.Context, number int) (Page[thing], error) {
		return GetPage[thing](ctx, client, []string{"things"}, filter, number, 2)
	})
	require.NoError(t, err)
	require.Equal(t, rows, got)
	require.Equal(t, url.Values{"state": {"failed", "pending"}}, filter)
	require.Len(t, queries, 4)
	for i, query := range queries {
		require.Equal(t, url.Values{"state": {"failed", "pending"}, "page": {fmt.Sprint(i + 1)}, "page_size": {"2"}}, query)
	}
}
