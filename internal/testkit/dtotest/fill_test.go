package dtotest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type inner struct {
	Flag  bool    `json:"flag"`
	Share float64 `json:"share"`
}

type outer struct {
	Name   string
	Word   word           `json:"word"`
	Count  *int           `json:"count,omitempty"`
	At     time.Time      `json:"at"`
	Until  *time.Time     `json:"until"`
	List   []*inner       `json:"list"`
	Stats  map[string]int `json:"stats"`
	Hidden string         `json:"-"`
}

type word string

func TestFilledLeavesNothingOut(t *testing.T) {
	t.Parallel()
	got := Filled[outer](t)
	three := 3
	until := time.Date(2024, time.May, 15, 12, 0, 5, 0, time.UTC)
	require.Equal(t, outer{
		Name:  "Name 1",
		Word:  "word 2",
		Count: &three,
		At:    time.Date(2024, time.May, 15, 12, 0, 4, 0, time.UTC),
		Until: &until,
		List:  []*inner{{Flag: true, Share: 6.5}, {Flag: true, Share: 7.5}},
		Stats: map[string]int{"stats 8": 9},
	}, got)
	require.Equal(t, got, Filled[outer](t))
}

func TestUnknownKeysAreAddedEverywhere(t *testing.T) {
	t.Parallel()
	got := string(withUnknownKeys(t, []byte(`{"a":[{"b":12345678901234567890}],"m":{"stats 8":9}}`)))
	require.JSONEq(t, `{
		"a": [{"b": 12345678901234567890, "x-text": "new", "x-number": 1, "x-list": [{"state": 1}], "x-object": {"data": "not a list"}}],
		"m": {"stats 8": 9},
		"x-text": "new", "x-number": 1, "x-list": [{"state": 1}], "x-object": {"data": "not a list"}
	}`, got)
	require.Contains(t, got, "12345678901234567890")
}

func TestRoundTripReadsItsGoldenFiles(t *testing.T) {
	t.Parallel()
	RoundTrip[struct {
		ID    string   `json:"id"`
		Names []string `json:"names,omitempty"`
	}](t, "sample")
}
