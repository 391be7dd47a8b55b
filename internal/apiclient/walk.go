package apiclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

const (
	// maxPasses is how often a list that changes while it is read is read from its begin on, the first time included.
	maxPasses = 4
	// maxStalePages is how many pages in a row may hold nothing but rows of earlier pages. Rows that are put in before the place where
	// the reader is push some back; more than this is a server that does not understand page numbers.
	maxStalePages = 10
	// maxRows ends the walk through a list that has no end.
	maxRows = 2_000_000
)

// Page is one page of a list.
type Page[T any] struct {
	// Rows are the rows of the page.
	Rows []T
	// Count is the number of rows that the server says the page holds.
	Count int
	// TotalCount is the number of rows that the server says all pages hold.
	TotalCount int
}

// UnmarshalJSON reads the form that all lists have, and refuses an object that has none of its members: an empty page ends a walk, so
// nothing else may look like one.
func (p *Page[T]) UnmarshalJSON(data []byte) error {
	var wire struct {
		Data       *[]T `json:"data"`
		Count      *int `json:"count"`
		TotalCount *int `json:"totalCount"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	if wire.Data == nil && wire.Count == nil && wire.TotalCount == nil {
		return errors.New("it is not a page of a list")
	}
	*p = Page[T]{Rows: []T{}}
	if wire.Data != nil {
		p.Rows = *wire.Data
	}
	if wire.Count != nil {
		p.Count = *wire.Count
	}
	if wire.TotalCount != nil {
		p.TotalCount = *wire.TotalCount
	}
	return nil
}

// GetPage reads one page. A size of 0 leaves the size to the server.
func GetPage[T any](ctx context.Context, c *Client, path []string, query url.Values, number, size int) (Page[T], error) {
	return Get[Page[T]](ctx, c, path, pageQuery(query, number, size))
}

// Walk reads all pages, from 1 to the first empty one, and returns every row once, in the order in which they came; id tells rows
// apart. What the server says about the total does not end the walk.
//
// The list may change meanwhile. Rows that come again because others were put in before them are taken once, in their newest form.
// Rows that a reader could have missed, because others before them went away and they moved to a page that was read already, are
// looked for: when the total changed or a row came twice, the list is read again, and what is new is added, until one pass saw no
// change or nothing new, or the list was read four times. So a row that is in the list all the time is in the result also while others
// come and go; a row that goes away meanwhile may still be in it. One move stays hidden: between the same two requests a row goes away
// and another comes at the end, so that the total stays the same.
//
// A server that sends the same rows for ever gets an error, and so does everything else that keeps a page from being read: a part of
// a list is never returned.
func Walk[T any](ctx context.Context, id func(row *T) string, fetch func(ctx context.Context, number int) (Page[T], error)) ([]T, error) {
	w := &walk[T]{id: id, fetch: fetch, limit: maxRows, rows: []T{}, seen: map[string]place{}}
	return w.run(ctx)
}

// place is where a row is in the result, and the pass in which it was seen last.
type place struct{ index, pass int }

type walk[T any] struct {
	id    func(*T) string
	fetch func(context.Context, int) (Page[T], error)
	limit int
	rows  []T
	seen  map[string]place
}

func (w *walk[T]) run(ctx context.Context) ([]T, error) {
	for pass := 1; pass <= maxPasses; pass++ {
		calm, err := w.pass(ctx, pass)
		if err != nil {
			return nil, err
		}
		if calm {
			break
		}
	}
	return w.rows, nil
}

// pass reads the list once and says whether there is nothing more to look for.
func (w *walk[T]) pass(ctx context.Context, pass int) (calm bool, err error) {
	var added, stale, total int
	changed := false
	for number := 1; ; number++ {
		page, err := w.fetch(ctx, number)
		if err != nil {
			return false, err
		}
		if number > 1 && page.TotalCount != total {
			changed = true
		}
		total = page.TotalCount
		if len(page.Rows) == 0 {
			return !changed || (pass > 1 && added == 0), nil
		}
		fresh := 0
		for i := range page.Rows {
			isNew, isFresh, err := w.take(&page.Rows[i], pass)
			if err != nil {
				return false, err
			}
			if isNew {
				added++
			}
			if isFresh {
				fresh++
			}
		}
		if fresh < len(page.Rows) {
			changed = true
		}
		if fresh > 0 {
			stale = 0
			continue
		}
		if stale++; stale >= maxStalePages {
			return false, fmt.Errorf("read all pages: page %d repeats rows of earlier pages like the %d before it; the server does not seem to know pages",
				number, maxStalePages-1)
		}
	}
}

// take puts a row into the result. It says whether the row is new there, and whether this pass sees it for the first time.
func (w *walk[T]) take(row *T, pass int) (isNew, isFresh bool, err error) {
	key := w.id(row)
	if key == "" {
		// Without an ID only the content tells rows apart.
		content, err := json.Marshal(row)
		if err != nil {
			return false, false, fmt.Errorf("compare rows without ID: %w", err)
		}
		key = "\x00" + string(content)
	}
	if known, ok := w.seen[key]; ok {
		isFresh = known.pass < pass
		w.seen[key] = place{index: known.index, pass: pass}
		w.rows[known.index] = *row
		return false, isFresh, nil
	}
	if len(w.rows) >= w.limit {
		return false, false, fmt.Errorf("read all pages: the list has more than %d rows", w.limit)
	}
	w.seen[key] = place{index: len(w.rows), pass: pass}
	w.rows = append(w.rows, *row)
	return true, true, nil
}
