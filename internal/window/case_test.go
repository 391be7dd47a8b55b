package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func at(t *testing.T, value string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, value)
	require.NoError(t, err)
	return parsed
}

type windowCase struct {
	name       string
	begin, end string
	days       []string
	now        string
	wantBegin  string
	wantEnd    string
	startsIn   time.Duration
}

func (c windowCase) run(t *testing.T) {
	t.Parallel()
	w, err := Parse(c.begin, c.end, c.days)
	require.NoError(t, err)
	now := at(t, c.now)
	next, ok := w.Next(now)
	require.True(t, ok)
	require.Equal(t, Interval{Begin: at(t, c.wantBegin), End: at(t, c.wantEnd)}, next)
	if c.startsIn == 0 {
		require.True(t, next.Contains(now), "work may start now")
	} else {
		require.False(t, next.Contains(now), "work has to wait")
		require.Equal(t, c.startsIn, next.Begin.Sub(now))
	}
}

// A window over midnight that is asked for after midnight is still open; at its end it is not.
func TestCase_W1(t *testing.T) {
	t.Parallel()
	for _, c := range []windowCase{
		{name: "yesterday's window is open", now: "2024-05-15T00:30:00Z", wantBegin: "2024-05-14T22:00:00Z", wantEnd: "2024-05-15T02:00:00Z"},
		{name: "open before midnight", now: "2024-05-14T23:30:00Z", wantBegin: "2024-05-14T22:00:00Z", wantEnd: "2024-05-15T02:00:00Z"},
		{name: "at noon", now: "2024-05-15T12:00:00Z", wantBegin: "2024-05-15T22:00:00Z", wantEnd: "2024-05-16T02:00:00Z", startsIn: 10 * time.Hour},
		{name: "at the end", now: "2024-05-15T02:00:00Z", wantBegin: "2024-05-15T22:00:00Z", wantEnd: "2024-05-16T02:00:00Z", startsIn: 20 * time.Hour},
		{name: "just before the end", now: "2024-05-15T01:59:59.999999999Z", wantBegin: "2024-05-14T22:00:00Z", wantEnd: "2024-05-15T02:00:00Z"},
		{name: "at the begin", now: "2024-05-14T22:00:00Z", wantBegin: "2024-05-14T22:00:00Z", wantEnd: "2024-05-15T02:00:00Z"},
		{name: "just before the begin", now: "2024-05-14T21:59:59.999999999Z", wantBegin: "2024-05-14T22:00:00Z", wantEnd: "2024-05-15T02:00:00Z", startsIn: 1},
	} {
		c.begin, c.end = "220000+0000", "020000+0000"
		t.Run(c.name, c.run)
	}
}

// Negative and half-hour offsets: today is the day in the window's own offset.
func TestCase_W3(t *testing.T) {
	t.Parallel()
	for _, c := range []windowCase{
		{name: "over midnight, five hours west", begin: "220000-0500", end: "010000-0500", now: "2024-05-15T04:15:00Z", wantBegin: "2024-05-15T03:00:00Z", wantEnd: "2024-05-15T06:00:00Z"},
		{name: "eight hours west", begin: "200000-0800", end: "230000-0800", now: "2024-05-15T05:00:00Z", wantBegin: "2024-05-15T04:00:00Z", wantEnd: "2024-05-15T07:00:00Z"},
		{name: "half-hour offset", begin: "013000+0530", end: "033000+0530", now: "2024-05-14T19:00:00Z", wantBegin: "2024-05-14T20:00:00Z", wantEnd: "2024-05-14T22:00:00Z", startsIn: time.Hour},
		{name: "begun last year", begin: "230000-0300", end: "030000-0300", now: "2025-01-01T04:00:00Z", wantBegin: "2025-01-01T02:00:00Z", wantEnd: "2025-01-01T06:00:00Z"},
		{name: "quarter-hour offset", begin: "234500+1245", end: "014500+1245", now: "2024-02-29T12:00:00Z", wantBegin: "2024-02-29T11:00:00Z", wantEnd: "2024-02-29T13:00:00Z"},
		{name: "farthest east", begin: "000000+1400", end: "010000+1400", now: "2024-05-15T10:59:00Z", wantBegin: "2024-05-15T10:00:00Z", wantEnd: "2024-05-15T11:00:00Z"},
		{name: "farthest west", begin: "230000-1200", end: "000000-1200", now: "2024-05-15T11:30:00Z", wantBegin: "2024-05-15T11:00:00Z", wantEnd: "2024-05-15T12:00:00Z"},
		{name: "end in another offset", begin: "220000+0000", end: "030000+0200", now: "2024-05-15T00:59:00Z", wantBegin: "2024-05-14T22:00:00Z", wantEnd: "2024-05-15T01:00:00Z"},
	} {
		t.Run(c.name, c.run)
	}
	t.Run("weekday of the begin in the window's offset", windowCase{
		// Tuesday 23:00 there, Wednesday in UTC.
		begin: "230000-0300", end: "030000-0300", days: []string{"Tue"}, now: "2024-12-30T00:00:00Z",
		wantBegin: "2025-01-01T02:00:00Z", wantEnd: "2025-01-01T06:00:00Z", startsIn: 50 * time.Hour,
	}.run)
}

// A window with a date that passed days ago moves on until its end lies ahead.
func TestCase_W5(t *testing.T) {
	t.Parallel()
	w, err := FromTimes(at(t, "2024-05-10T01:00:00Z"), at(t, "2024-05-10T03:00:00Z"), nil)
	require.NoError(t, err)
	for now, want := range map[string]Interval{
		"2024-05-13T12:00:00Z": {Begin: at(t, "2024-05-14T01:00:00Z"), End: at(t, "2024-05-14T03:00:00Z")},
		"2024-05-13T02:00:00Z": {Begin: at(t, "2024-05-13T01:00:00Z"), End: at(t, "2024-05-13T03:00:00Z")},
		"2024-05-10T03:00:00Z": {Begin: at(t, "2024-05-11T01:00:00Z"), End: at(t, "2024-05-11T03:00:00Z")},
		"2024-05-01T12:00:00Z": {Begin: at(t, "2024-05-10T01:00:00Z"), End: at(t, "2024-05-10T03:00:00Z")},
		"2034-05-10T12:00:00Z": {Begin: at(t, "2034-05-11T01:00:00Z"), End: at(t, "2034-05-11T03:00:00Z")},
	} {
		next, ok := w.Next(at(t, now))
		require.True(t, ok)
		require.Equal(t, want, next, now)
	}
}

// Equal begin and end make a window of 24 hours, and yesterday's is open until today's begins; a day that is not understood is refused.
func TestCase_W7(t *testing.T) {
	t.Parallel()
	week := []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	t.Run("24 hours", windowCase{
		begin: "010000+0000", end: "010000+0000", days: week, now: "2024-05-15T00:30:00Z",
		wantBegin: "2024-05-14T01:00:00Z", wantEnd: "2024-05-15T01:00:00Z",
	}.run)
	t.Run("full name of a day in lower case", windowCase{
		begin: "050000+0000", end: "060000+0000", days: []string{"saturday"}, now: "2024-05-15T12:00:00Z",
		wantBegin: "2024-05-18T05:00:00Z", wantEnd: "2024-05-18T06:00:00Z", startsIn: 65 * time.Hour,
	}.run)
	for _, refused := range [][2]string{{"220000+0000", "240000+0000"}, {"22:00:00Z", "02:00:00Z"}, {"", ""}, {"220000+0000", ""}} {
		_, err := Parse(refused[0], refused[1], nil)
		require.Error(t, err, refused)
	}
	_, err := Parse("050000+0000", "060000+0000", []string{"Mon", "Samstag"})
	require.ErrorContains(t, err, "Samstag")
}
