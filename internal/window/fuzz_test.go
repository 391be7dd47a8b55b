package window

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever text comes: it is refused, or it makes a window that answers soundly.
func FuzzParse(f *testing.F) {
	for _, seed := range [][2]string{
		{"220000+0000", "020000+0000"}, {"013000+0530", "033000+0530"}, {"230000-0300", "030000-0300"}, {"010000+0000", "010000+0000"},
		{"220000+0000", "240000+0000"}, {"22:00:00Z", "02:00:00Z"}, {"", ""}, {"220000+2400", "020000-2400"}, {"220000.5+0000", "020000,5+0000"},
		{"000000-2359", "235959+2359"}, {"220000+0060", "020000+0000"}, {"235960+0000", "000000+0000"},
	} {
		f.Add(seed[0], seed[1], int64(1715731200000000000))
	}
	f.Fuzz(func(t *testing.T, begin, end string, instant int64) {
		w, err := Parse(begin, end, nil)
		if err != nil {
			require.True(t, strings.Contains(err.Error(), "begin") || strings.Contains(err.Error(), "end"), "the error says which: %v", err)
			return
		}
		now := time.Unix(0, instant)
		next, ok := w.Next(now)
		require.True(t, ok)
		require.True(t, next.End.After(now))
		require.True(t, next.Begin.Before(next.End))
		require.False(t, next.Begin.After(now.Add(day)))
	})
}

// A list is refused, or what it was read as reads the same again.
func FuzzParseDays(f *testing.F) {
	for _, seed := range []string{"", "mon", "Monday,TUE", "saturday", "Samstag", "Mon,", "ſun", "Mon,Mon", "İ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names := strings.Split(list, ",")
		days, err := ParseDays(names)
		if err != nil {
			return
		}
		require.NotZero(t, days, "a list that is not empty never means every day by accident")
		again, err := ParseDays(days.Names())
		require.NoError(t, err)
		require.Equal(t, days, again)
	})
}

func FuzzParseDates(f *testing.F) {
	for _, seed := range []string{"2026-12-20..2027-01-06", "2024-02-29", "..", "2027-01-06..2026-12-20", "0000-01-01..9999-12-31"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		dates, err := ParseDates(value)
		if err != nil {
			return
		}
		again, err := ParseDates(dates.String())
		require.NoError(t, err)
		require.Equal(t, dates, again)
	})
}
