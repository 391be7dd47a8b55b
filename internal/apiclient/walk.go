package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
)

const (
	// maxStalePages is how many pages in a row may hold nothing but rows of earlier pages. Rows that are put in before the place where
	// the reader is push others back; more than this is a server that does not understand page numbers.
	maxStalePages = 10
	// maxRows ends the walk through a list that has no end.
	maxRows = 2_000_000
)

// Walk reads all pages, from 1 to the first empty one, and returns every row once, in the order in which they came; id tells rows
// apart. What the server says about the total does not end the walk.
//
// The list may change meanwhile. A row that comes again, because others were put in before it, is taken once, in its newest form. A row
// may also move to a page that was read already, because others before it went away; the total tells. So whenever the total changed from
// one answer to the next, Walk reads the pages before again, backwards, until one brings nothing new and no moved row can be further
// ahead. Hence a row that is in the list all the time is in the result also while others come and go, as long as less than half a page
// does between two requests. A row that goes away meanwhile may still be in it. One thing stays hidden: rows that go away and rows that
// come at the end between the same two requests, as many of the one as of the other.
//
// A server that sends the same rows for ever gets an error, and so does everything else that keeps a page from being read: a part of
// a list is never returned.
func Walk[T any](ctx context.Context, id func(row *T) string, fetch func(ctx context.Context, number int) (Page[T], error)) ([]T, error) {
	return newWalk(id, fetch).run(ctx)
}

func newWalk[T any](id func(*T) string, fetch func(context.Context, int) (Page[T], error)) *walk[T] {
	return &walk[T]{id: id, fetch: fetch, limit: maxRows, rows: []T{}, index: map[string]int{}}
}

type walk[T any] struct {
	id    func(*T) string
	fetch func(context.Context, int) (Page[T], error)
	limit int

	rows  []T
	index map[string]int
	// size is the number of rows of a full page.
	size int

	// moves is how the total has changed up to now, arrived how it had when the newest page was read.
	moves, arrived movement
	total          int
	// again counts the pages that were read again.
	again int
}

// movement sums up by how much the total rose and fell from one answer to the next.
type movement struct{ gained, lost int }

func (w *walk[T]) run(ctx context.Context) ([]T, error) {
	stale := 0
	for number := 1; ; number++ {
		length, fresh, err := w.advance(ctx, number)
		switch {
		case err != nil:
			return nil, err
		case length == 0:
			return w.rows, nil
		case fresh > 0:
			stale = 0
			continue
		}
		if stale++; stale >= maxStalePages {
			return nil, staleError(number)
		}
	}
}

func staleError(number int) error {
	return fmt.Errorf("read all pages: page %d repeats earlier rows, and so do the %d before it; the server does not seem to know pages",
		number, maxStalePages-1)
}

// advance reads the next page, and whatever else has to be read so that no row moved past it.
func (w *walk[T]) advance(ctx context.Context, number int) (length, fresh int, err error) {
	since := w.arrived
	for {
		var found int
		length, found, err = w.read(ctx, number)
		if err != nil {
			return 0, 0, err
		}
		fresh += found
		w.arrived = w.moves
		if number == 1 {
			w.size = length
			return length, fresh, nil
		}
		// An empty list has nothing that could have moved.
		if w.moves == since || w.total <= 0 {
			return length, fresh, nil
		}
		if err := w.lookBack(ctx, number, since); err != nil {
			return 0, 0, err
		}
		// A row that had moved ahead may have been pushed back meanwhile, to a page behind the one that was read for it.
		if w.moves.gained == w.arrived.gained || !w.mayRepeat(number) {
			return length, fresh, nil
		}
	}
}

// lookBack finds the rows that moved to pages before the given one since the page before it was read.
func (w *walk[T]) lookBack(ctx context.Context, number int, since movement) error {
	begin := (number - 1) * w.size
	for back := number - 1; back >= 1; back-- {
		if !w.mayRepeat(number) {
			return nil
		}
		_, fresh, err := w.read(ctx, back)
		if err != nil {
			return err
		}
		farthest := begin - (w.moves.lost - since.lost)
		if fresh == 0 && (back-1)*w.size <= farthest {
			return nil
		}
	}
	return nil
}

// mayRepeat says whether one more page may be read again, and counts it. A server whose totals are noise makes every page look as if
// rows had moved; it must not make the walk endless.
func (w *walk[T]) mayRepeat(number int) bool {
	w.again++
	return w.again <= 3*number
}

// read takes the rows of one page into the result. It returns how many there are and how many of them are new.
func (w *walk[T]) read(ctx context.Context, number int) (length, fresh int, err error) {
	page, err := w.fetch(ctx, number)
	if err != nil {
		return 0, 0, err
	}
	if number > 1 || w.size > 0 {
		w.moves.gained += max(0, page.TotalCount-w.total)
		w.moves.lost += max(0, w.total-page.TotalCount)
	}
	w.total = page.TotalCount
	for i := range page.Rows {
		isFresh, err := w.take(&page.Rows[i])
		if err != nil {
			return 0, 0, err
		}
		if isFresh {
			fresh++
		}
	}
	return len(page.Rows), fresh, nil
}

// take puts a row into the result and says whether it is new there.
func (w *walk[T]) take(row *T) (fresh bool, err error) {
	key := w.id(row)
	if key == "" {
		// Without an ID only the content tells rows apart.
		content, err := json.Marshal(row)
		if err != nil {
			return false, fmt.Errorf("compare rows without ID: %w", err)
		}
		key = "\x00" + string(content)
	}
	if i, known := w.index[key]; known {
		w.rows[i] = *row
		return false, nil
	}
	if len(w.rows) >= w.limit {
		return false, fmt.Errorf("read all pages: the list has more than %d rows", w.limit)
	}
	w.index[key] = len(w.rows)
	w.rows = append(w.rows, *row)
	return true, nil
}
