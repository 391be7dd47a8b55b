package apiclient

import (
	"context"
	"errors"
	"fmt"
)

// maxDownRows ends the walk down a list that has no end. Rows whose numbers fall need no index, so there may be more of them than elsewhere.
const maxDownRows = 10_000_000

// ErrNotDown is the error of WalkDown for rows that do not come in the order of their numbers, which tells that the server does not know how to go on from one.
var ErrNotDown = errors.New("the rows are not in the order of their numbers, the greatest first")

// WalkDown reads a list whose rows have numbers that fall from one to the next, such as a history, each page from the last row of the one before on:
// fetch returns the rows whose numbers are smaller than below, or the first ones when below is 0. It ends at the first empty page.
//
// Rows that are added in front do not matter, and rows that go away bring no others forward: what is in the list all the time is in the result,
// once and in order, and nothing is that has a greater number than the first row had. No page is read twice.
//
// Everything that keeps a page from being read is an error: a part of a list is never returned.
func WalkDown[T any](ctx context.Context, below uint64, number func(row *T) (n uint64, ok bool), fetch func(ctx context.Context, below uint64) (Page[T], error)) ([]T, error) {
	return walkDown(ctx, below, maxDownRows, number, fetch)
}

func walkDown[T any](ctx context.Context, below uint64, limit int, number func(*T) (uint64, bool), fetch func(context.Context, uint64) (Page[T], error)) ([]T, error) {
	rows := []T{}
	for {
		page, err := fetch(ctx, below)
		if err != nil {
			return nil, err
		}
		if len(page.Rows) == 0 {
			return rows, nil
		}
		for i := range page.Rows {
			n, ok := number(&page.Rows[i])
			if !ok || n == 0 || below > 0 && n >= below {
				return nil, ErrNotDown
			}
			below = n
		}
		rows = append(rows, page.Rows...)
		if len(rows) > limit {
			return nil, fmt.Errorf("read all pages: the list has more than %d rows", limit)
		}
	}
}
