package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFromTimesRefuses(t *testing.T) {
	t.Parallel()
	clockTime := func(value string) time.Time {
		parsed, err := time.Parse(Layout, value)
		require.NoError(t, err)
		return parsed
	}
	_, err := FromTimes(time.Time{}, time.Time{}, nil)
	require.ErrorIs(t, err, ErrNone)
	_, err = FromTimes(time.Time{}, clockTime("020000+0000"), nil)
	require.ErrorIs(t, err, ErrNoBegin)
	_, err = FromTimes(clockTime("220000+0000"), at(t, "2024-05-15T02:00:00Z"), nil)
	require.ErrorContains(t, err, "mixes")
	_, err = FromTimes(clockTime("220000+0000"), clockTime("020000+0000"), []string{""})
	require.ErrorContains(t, err, "weekday")
	_, err = FromTimes(clockTime("220000+0000").In(time.FixedZone("", 24*3600)), clockTime("020000+0000"), nil)
	require.ErrorContains(t, err, "offset")
}

func TestParseOffsets(t *testing.T) {
	t.Parallel()
	for _, read := range []string{"-1200", "+1400", "+0530", "+0545", "-0330", "+1245", "-0000", "+1500", "-2359", "+2359"} {
		_, err := Parse("220000"+read, "020000"+read, nil)
		require.NoError(t, err, read)
	}
	for _, refused := range []string{"+2400", "-2400", "+9900", "+0061", "+05:30", "Z", "", "+05", "0530", " +0530"} {
		_, err := Parse("220000"+refused, "020000+0000", nil)
		require.ErrorContains(t, err, "begin", refused)
		_, err = Parse("220000+0000", "020000"+refused, nil)
		require.ErrorContains(t, err, "end", refused)
	}
}

// A time of day keeps its meaning when somebody moved it to UTC, which puts it into a neighbour of the year 0.
func TestTimeOfDayMovedToUTC(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"010000+0200", "233000-0300", "120000+0000"} {
		begin, err := ParseClock(value)
		require.NoError(t, err)
		as, err := FromTimes(begin, begin.Add(time.Hour), nil)
		require.NoError(t, err)
		moved, err := FromTimes(begin.UTC(), begin.Add(time.Hour).UTC(), nil)
		require.NoError(t, err)
		now := at(t, "2024-05-15T12:00:00Z")
		want, ok := as.Next(now)
		require.True(t, ok)
		got, ok := moved.Next(now)
		require.True(t, ok)
		require.Equal(t, want, got, value)
	}
}

func TestDated(t *testing.T) {
	t.Parallel()
	t.Run("several days long, then the times of day", func(t *testing.T) {
		t.Parallel()
		w, err := FromTimes(at(t, "2024-05-10T01:00:00Z"), at(t, "2024-05-12T03:00:00Z"), nil)
		require.NoError(t, err)
		next, ok := w.Next(at(t, "2024-05-11T12:00:00Z"))
		require.True(t, ok)
		require.Equal(t, Interval{Begin: at(t, "2024-05-10T01:00:00Z"), End: at(t, "2024-05-12T03:00:00Z")}, next)
		next, ok = w.Next(at(t, "2024-05-12T03:00:00Z"))
		require.True(t, ok)
		require.Equal(t, Interval{Begin: at(t, "2024-05-13T01:00:00Z"), End: at(t, "2024-05-13T03:00:00Z")}, next)
	})
	t.Run("end before begin is on the following day", func(t *testing.T) {
		t.Parallel()
		w, err := FromTimes(at(t, "2024-05-10T22:00:00Z"), at(t, "2024-05-10T02:00:00Z"), nil)
		require.NoError(t, err)
		next, ok := w.Next(at(t, "2024-05-10T12:00:00Z"))
		require.True(t, ok)
		require.Equal(t, Interval{Begin: at(t, "2024-05-10T22:00:00Z"), End: at(t, "2024-05-11T02:00:00Z")}, next)
	})
	t.Run("used whatever its weekday, then the allowed days", func(t *testing.T) {
		t.Parallel()
		w, err := FromTimes(at(t, "2024-05-15T01:00:00+02:00"), at(t, "2024-05-15T03:00:00+02:00"), []string{"Sat"}) // a Wednesday
		require.NoError(t, err)
		next, ok := w.Next(at(t, "2024-05-15T00:00:00Z"))
		require.True(t, ok)
		require.Equal(t, at(t, "2024-05-14T23:00:00Z"), next.Begin)
		next, ok = w.Next(at(t, "2024-05-15T01:00:00Z"))
		require.True(t, ok)
		require.Equal(t, at(t, "2024-05-17T23:00:00Z"), next.Begin, "Saturday 01:00 in the window's own offset")
	})
}

func TestWithoutEnd(t *testing.T) {
	t.Parallel()
	t.Run("dated", func(t *testing.T) {
		t.Parallel()
		w, err := FromTimes(at(t, "2024-05-10T22:00:00Z"), time.Time{}, nil)
		require.NoError(t, err)
		for _, now := range []string{"2024-05-01T00:00:00Z", "2024-05-10T22:00:00Z", "2030-01-01T00:00:00Z"} {
			next, ok := w.Next(at(t, now))
			require.True(t, ok)
			require.Equal(t, Interval{Begin: at(t, "2024-05-10T22:00:00Z")}, next)
			require.Equal(t, now != "2024-05-01T00:00:00Z", next.Contains(at(t, now)))
		}
	})
	t.Run("time of day on Saturdays", func(t *testing.T) {
		t.Parallel()
		begin, err := ParseClock("220000+0000")
		require.NoError(t, err)
		w, err := FromTimes(begin, time.Time{}, []string{"Sat"})
		require.NoError(t, err)
		saturday := Interval{Begin: at(t, "2024-05-18T22:00:00Z")}
		next, ok := w.Next(at(t, "2024-05-15T12:00:00Z"))
		require.True(t, ok)
		require.Equal(t, saturday, next)
		next, ok = w.Next(at(t, "2024-05-19T21:59:59Z"))
		require.True(t, ok)
		require.Equal(t, saturday, next, "still within 24 hours of its begin")
		require.True(t, next.Contains(at(t, "2024-05-20T12:00:00Z")), "and open from then on")
		next, ok = w.Next(at(t, "2024-05-19T22:00:00Z"))
		require.True(t, ok)
		require.Equal(t, Interval{Begin: at(t, "2024-05-25T22:00:00Z")}, next)
	})
}

func TestExcept(t *testing.T) {
	t.Parallel()
	w, err := Parse("220000+0100", "020000+0100", nil)
	require.NoError(t, err)
	freeze, err := ParseDates("2026-12-20..2027-01-06")
	require.NoError(t, err)
	shut := w.Except(freeze)

	next, ok := shut.Next(at(t, "2026-12-19T22:30:00Z"))
	require.True(t, ok)
	require.Equal(t, Interval{Begin: at(t, "2026-12-19T21:00:00Z"), End: at(t, "2026-12-19T23:00:00Z")}, next, "cut at midnight there")
	next, ok = shut.Next(at(t, "2026-12-19T23:00:00Z"))
	require.True(t, ok)
	require.Equal(t, Interval{Begin: at(t, "2027-01-07T21:00:00Z"), End: at(t, "2027-01-08T01:00:00Z")}, next)
	next, ok = w.Next(at(t, "2026-12-19T23:00:00Z"))
	require.True(t, ok)
	require.Equal(t, at(t, "2026-12-19T21:00:00Z"), next.Begin, "the window it was made of is as before")

	long, err := ParseDates("2020-01-01..2030-01-01")
	require.NoError(t, err)
	_, ok = w.Except(long).Next(at(t, "2026-12-19T23:00:00Z"))
	require.False(t, ok)
}

func TestParseDates(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"2026-12-20..2027-01-06", "2024-02-29", "1969-12-31..1970-01-01"} {
		dates, err := ParseDates(value)
		require.NoError(t, err)
		require.Equal(t, value, dates.String())
	}
	for _, refused := range []string{"", "..", "2026-12-20..", "..2027-01-06", "2027-01-06..2026-12-20", "2023-02-29", "2026-12-20...2027-01-06", "20.12.2026"} {
		_, err := ParseDates(refused)
		require.Error(t, err, refused)
	}
}

func TestParseDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ names, want []string }{
		{nil, nil},
		{[]string{"monday"}, []string{"Mon"}},
		{[]string{"SUN", "Wednesday", "wed", "mon"}, []string{"Mon", "Wed", "Sun"}},
		{[]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}, []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}},
	} {
		days, err := ParseDays(c.names)
		require.NoError(t, err)
		require.Equal(t, c.want, days.Names())
	}
	for _, refused := range []string{"", "Tues", "thurs", "Mo", "Samstag", " Mon", "Mon,Tue", "1"} {
		_, err := ParseDays([]string{"Fri", refused})
		require.ErrorContains(t, err, refused)
	}
}

//nolint:paralleltest // the allocations of the whole process are counted
func TestNextDoesNotAllocate(t *testing.T) {
	w, err := Parse("220000-0500", "010000-0500", []string{"Sat"})
	require.NoError(t, err)
	freeze, err := ParseDates("2024-05-01..2024-06-01")
	require.NoError(t, err)
	w = w.Except(freeze)
	now := at(t, "2024-05-15T12:00:00Z")
	require.Zero(t, testing.AllocsPerRun(100, func() { w.Next(now) }))
}

func BenchmarkNext(b *testing.B) {
	w, err := Parse("220000-0500", "010000-0500", []string{"Sat"})
	require.NoError(b, err)
	now := time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		w.Next(now)
	}
}

func BenchmarkFromTimes(b *testing.B) {
	begin, err := ParseClock("220000-0500")
	require.NoError(b, err)
	days := []string{"Saturday"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromTimes(begin, begin.Add(time.Hour), days); err != nil {
			b.Fatal(err)
		}
	}
}
