package window

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// spelled is a window as people write it, for the slow enumeration to read.
type spelled struct {
	begin, end string
	days       []string
	shut       [][2]time.Time // first and last date
}

// enumerate walks over the calendar day by day, far from any shortcut, and returns the earliest window whose end is after now.
func (s spelled) enumerate(t require.TestingT, now time.Time) (Interval, bool) {
	clockBegin, err := time.Parse("150405-0700", s.begin)
	require.NoError(t, err)
	clockEnd, err := time.Parse("150405-0700", s.end)
	require.NoError(t, err)
	zone := clockBegin.Location()
	local := now.In(zone)
	for n := -3; n <= Horizon; n++ {
		date := time.Date(local.Year(), local.Month(), local.Day()+n, 0, 0, 0, 0, zone)
		if !s.mayBegin(date) {
			continue
		}
		begin := time.Date(date.Year(), date.Month(), date.Day(), clockBegin.Hour(), clockBegin.Minute(), clockBegin.Second(), 0, zone)
		end := time.Date(date.Year(), date.Month(), date.Day()-3, clockEnd.Hour(), clockEnd.Minute(), clockEnd.Second(), 0, clockEnd.Location())
		for !end.After(begin) {
			end = end.AddDate(0, 0, 1)
		}
		if tomorrow := date.AddDate(0, 0, 1); s.isShut(tomorrow) && end.After(tomorrow) {
			end = tomorrow
		}
		if end.After(now) {
			return Interval{Begin: begin.UTC(), End: end.UTC()}, true
		}
	}
	return Interval{}, false
}

func (s spelled) mayBegin(date time.Time) bool {
	if s.isShut(date) {
		return false
	}
	for _, name := range s.days {
		if date.Format("Mon") == name {
			return true
		}
	}
	return len(s.days) == 0
}

func (s spelled) isShut(date time.Time) bool {
	plain := date.Format(time.DateOnly)
	for _, dates := range s.shut {
		if dates[0].Format(time.DateOnly) <= plain && plain <= dates[1].Format(time.DateOnly) {
			return true
		}
	}
	return false
}

func (s spelled) window(t require.TestingT) Window {
	w, err := Parse(s.begin, s.end, s.days)
	require.NoError(t, err)
	var shut []Dates
	for _, dates := range s.shut {
		parsed, err := ParseDates(dates[0].Format(time.DateOnly) + ".." + dates[1].Format(time.DateOnly))
		require.NoError(t, err)
		shut = append(shut, parsed)
	}
	return w.Except(shut...)
}

// drawOffset favours the offsets that are in use and the edges; all that Gardener stores below a day may come.
func drawOffset(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"+0000", "-0000", "+0530", "-0330", "+1245", "-1200", "+1400", "+2359", "-2359"}),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("%s%02d%02d", rapid.SampledFrom([]string{"+", "-"}).Draw(t, "sign"),
				rapid.IntRange(0, 23).Draw(t, "hours"), rapid.IntRange(0, 59).Draw(t, "minutes"))
		}),
	).Draw(t, label)
}

func drawClock(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"000000", "235959", "120000", "000001"}),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("%02d%02d%02d", rapid.IntRange(0, 23).Draw(t, "hour"),
				rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 59).Draw(t, "second"))
		}),
	).Draw(t, label)
}

// drawNow favours leap days and the turn of the year.
func drawNow(t *rapid.T) time.Time {
	around := rapid.SampledFrom([]string{"2024-02-29", "2023-02-28", "2024-12-31", "2100-02-28", "1969-12-31", "2000-02-29", "2026-11-30"}).Draw(t, "around")
	date, err := time.Parse(time.DateOnly, around)
	require.NoError(t, err)
	return date.Add(time.Duration(rapid.Int64Range(-3*int64(day), 800*int64(day)).Draw(t, "after")))
}

func drawSpelled(t *rapid.T, now time.Time) spelled {
	zone := drawOffset(t, "offset")
	s := spelled{begin: drawClock(t, "begin") + zone, end: drawClock(t, "end") + zone}
	if rapid.IntRange(0, 4).Draw(t, "other offset") == 0 {
		s.end = s.end[:6] + drawOffset(t, "offset of end")
	}
	if rapid.IntRange(0, 9).Draw(t, "24 hours") == 0 {
		s.end = s.begin
	}
	s.days = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}), 0, 7, rapid.ID).Draw(t, "days")
	for range max(0, rapid.IntRange(-2, 3).Draw(t, "exceptions")) {
		first := now.AddDate(0, 0, rapid.IntRange(-5, 40).Draw(t, "first"))
		s.shut = append(s.shut, [2]time.Time{first, first.AddDate(0, 0, rapid.SampledFrom([]int{0, 0, 1, 3, 20, 370, 500}).Draw(t, "length"))})
	}
	return s
}

// Whatever the window, its weekdays, its offset and the instant: the answer is that of walking over the calendar.
func TestNextEqualsEnumeration(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := drawNow(t)
		s := drawSpelled(t, now)
		w := s.window(t)
		want, wantOK := s.enumerate(t, now)
		got, ok := w.Next(now)
		require.Equal(t, wantOK, ok, "%+v at %s", s, now)
		require.Equal(t, want, got, "%+v at %s", s, now)
		if !ok {
			return
		}
		for _, edge := range []time.Time{got.Begin, got.End} {
			for _, near := range []time.Time{edge.Add(-1), edge, edge.Add(1)} {
				want, wantOK := s.enumerate(t, near)
				got, ok := w.Next(near)
				require.Equal(t, wantOK, ok, "%+v at %s", s, near)
				require.Equal(t, want, got, "%+v at %s", s, near)
			}
		}
	})
}

// What the answer has to be like in itself.
func TestNextProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := drawNow(t)
		s := drawSpelled(t, now)
		s.shut = nil
		w := s.window(t)
		next, ok := w.Next(now)
		require.True(t, ok, "without exceptions there is always a window")
		require.True(t, next.End.After(now), "its end is ahead")
		require.True(t, next.Begin.Before(next.End))
		require.LessOrEqual(t, next.End.Sub(next.Begin), day)
		require.LessOrEqual(t, next.Begin.Sub(now), 7*day, "every weekday comes within a week")

		again, ok := w.Next(next.End.Add(-1))
		require.True(t, ok)
		require.Equal(t, next, again, "it stays the next one until its last nanosecond")
		later, ok := w.Next(next.End)
		require.True(t, ok)
		require.False(t, later.Begin.Before(next.End), "windows do not overlap")
	})
}

// A window with a date is used until it has ended; from then on it answers like its times of day.
func TestDatedMovesOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := drawNow(t)
		s := drawSpelled(t, now)
		s.shut = nil
		recurring := s.window(t)
		first, ok := recurring.Next(now)
		require.True(t, ok)
		clockBegin, err := ParseClock(s.begin)
		require.NoError(t, err)
		zone := clockBegin.Location()
		dated, err := FromTimes(first.Begin.In(zone), first.End.In(zone), s.days)
		require.NoError(t, err)

		later := first.End.Add(time.Duration(rapid.Int64Range(-int64(day), 3000*int64(day)).Draw(t, "later")))
		if later.Before(first.Begin) {
			later = first.Begin
		}
		want, wantOK := recurring.Next(later)
		got, ok := dated.Next(later)
		require.Equal(t, wantOK, ok)
		require.Equal(t, want, got, "%+v of %v at %s", s, first, later)
	})
}
