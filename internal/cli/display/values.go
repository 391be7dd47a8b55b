package display

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/quantity"
)

// IsSet reports whether a time is a point in time: not the zero time, and no time of day in the years 0 and 1, which mean that none is set.
func IsSet(t time.Time) bool { return t.Year() > 1 && t.UTC().Year() > 1 }

// Clock formats values for the one who reads them: a person at a terminal, or a program behind a pipe.
type Clock struct {
	// Now is the moment that relative times are relative to.
	Now time.Time
	// Machine is true when a program reads: times are then RFC 3339 in UTC.
	Machine bool
}

// Time returns a point in time in the user's zone; a dash when it is not set.
func (c Clock) Time(t time.Time) string {
	switch {
	case !IsSet(t):
		return Dash
	case c.Machine:
		return t.UTC().Format(time.RFC3339)
	default:
		return t.Local().Format("2006-01-02 15:04 MST")
	}
}

// Exact is Time to the second, for what follows each other within a minute.
func (c Clock) Exact(t time.Time) string {
	if c.Machine || !IsSet(t) {
		return c.Time(t)
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

// Pointer is Time for times that may be nil.
func (c Clock) Pointer(t *time.Time) string {
	if t == nil {
		return Dash
	}
	return c.Time(*t)
}

// Relative returns how far away a point in time is; for a program the time itself.
func (c Clock) Relative(t time.Time) string {
	if c.Machine || !IsSet(t) {
		return c.Time(t)
	}
	if t.After(c.Now) {
		return "in " + Duration(t.Sub(c.Now))
	}
	return Duration(c.Now.Sub(t)) + " ago"
}

// Both returns a point in time and how far away it is.
func (c Clock) Both(t time.Time) string {
	if c.Machine || !IsSet(t) {
		return c.Time(t)
	}
	return c.Time(t) + " (" + c.Relative(t) + ")"
}

// Window returns a span of time; a dash when it has no begin.
func (c Clock) Window(begin, end time.Time) string {
	switch {
	case !IsSet(begin):
		return Dash
	case !IsSet(end):
		return "from " + c.Time(begin)
	case c.Machine:
		return c.Time(begin) + "/" + c.Time(end)
	case begin.Local().Format(time.DateOnly) == end.Local().Format(time.DateOnly):
		return begin.Local().Format("2006-01-02 15:04") + " - " + end.Local().Format("15:04 MST")
	default:
		return begin.Local().Format("2006-01-02 15:04") + " - " + end.Local().Format("01-02 15:04 MST")
	}
}

const day = 24 * time.Hour

// Duration returns a span in its two largest units, as in 45s, 3m20s, 2h5m, 3d4h; from ten days on in days.
func Duration(d time.Duration) string {
	switch d = max(0, d).Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return pair(int(d/time.Minute), "m", int(d%time.Minute/time.Second), "s")
	case d < day:
		return pair(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "m")
	case d < 10*day:
		return pair(int(d/day), "d", int(d%day/time.Hour), "h")
	default:
		return strconv.Itoa(int(d/day)) + "d"
	}
}

func pair(n int, unit string, m int, smaller string) string {
	if m == 0 {
		return strconv.Itoa(n) + unit
	}
	return strconv.Itoa(n) + unit + strconv.Itoa(m) + smaller
}

// Count returns a number with its noun, as in "1 runtime" and "2 runtimes".
func Count(n int, noun string) string {
	return Number(n) + " " + quantity.Noun(n, noun)
}

// Number returns a number with its thousands set apart.
func Number(n int) string {
	text := strconv.Itoa(n)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}
