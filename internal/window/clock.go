package window

import (
	"fmt"
	"time"
)

const secondsPerDay = int64(day / time.Second)

// ParseClock reads one time of Gardener's form "HHMMSS±HHMM". It returns it in the year 0 and in its own offset, as FromTimes wants it.
func ParseClock(value string) (time.Time, error) {
	t, err := time.Parse(Layout, value)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not of the form HHMMSS±HHMM", value)
	}
	if o := offset(t); o <= -day || o >= day {
		return time.Time{}, fmt.Errorf("%q has an offset of 24 hours or more", value)
	}
	return t, nil
}

// dated says whether t is a point in time and not a time of day, which stands in the year 0 or, moved to another offset, next to it.
func dated(t time.Time) bool {
	return t.Year() > 0
}

// clock returns the time of day of t in its own offset, as the time since midnight.
func clock(t time.Time) time.Duration {
	hour, minute, second := t.Clock()
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second +
		time.Duration(t.Nanosecond())
}

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// mod returns d modulo 24 hours, from 0 on.
func mod(d time.Duration) time.Duration {
	return (d%day + day) % day
}

// floor divides n by a positive divisor, rounding down, and returns the rest too.
func floor(n, divisor int64) (quotient, rest int64) {
	quotient, rest = n/divisor, n%divisor
	if rest < 0 {
		quotient, rest = quotient-1, rest+divisor
	}
	return quotient, rest
}

// weekday returns the weekday of a day that is counted from 1970-01-01, a Thursday.
func weekday(d int64) time.Weekday {
	_, rest := floor(d+int64(time.Thursday), 7)
	return time.Weekday(rest)
}
