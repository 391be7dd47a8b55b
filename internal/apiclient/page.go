package apiclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
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

// GetPage reads one page. A size of 0 leaves the size to the server; a number of 0 asks for no page by its number, where the query says what to read.
func GetPage[T any](ctx context.Context, c *Client, path []string, query url.Values, number, size int) (Page[T], error) {
	return Get[Page[T]](ctx, c, path, pageQuery(query, number, size))
}

// totalHeader has the number of rows of all pages, where an answer is a plain list.
const totalHeader = "X-Total-Count"

// GetPlainPage reads one page of a list that is answered without an object around it. TotalCount is 0 when the answer does not tell it.
func GetPlainPage[T any](ctx context.Context, c *Client, path []string, query url.Values, number, size int) (Page[T], error) {
	var page Page[T]
	err := c.send(ctx, Request{Method: http.MethodGet, Path: path, Query: pageQuery(query, number, size)}, func(got reply) (err error) {
		page, err = decodePlain[T](got)
		return err
	})
	return page, err
}

func decodePlain[T any](got reply) (Page[T], error) {
	if !beginsWith(got.body, '[') {
		return Page[T]{}, errors.New("it is not a JSON list")
	}
	var page Page[T]
	if err := json.Unmarshal(got.body, &page.Rows); err != nil {
		return Page[T]{}, err
	}
	page.Count = len(page.Rows)
	if total, err := strconv.Atoi(got.header.Get(totalHeader)); err == nil && total > 0 {
		page.TotalCount = total
	}
	return page, nil
}
