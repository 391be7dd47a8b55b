package window

import (
	"fmt"
	"strings"
	"time"
)

// Dates is a range of calendar days on which a window stays shut, the last one included.
type Dates struct {
	first, last int64 // days since 1970-01-01
}

// ParseDates reads a range of calendar days, "2026-12-20..2027-01-06", or a single day, "2026-12-24".
func ParseDates(value string) (Dates, error) {
	from, to, isRange := strings.Cut(value, "..")
	if !isRange {
		to = from
	}
	first, err := time.Parse(time.DateOnly, from)
	if err != nil {
		return Dates{}, fmt.Errorf("%q is not a date or a range of dates such as 2026-12-20..2027-01-06", value)
	}
	last, err := time.Parse(time.DateOnly, to)
	if err != nil {
		return Dates{}, fmt.Errorf("%q is not a date or a range of dates such as 2026-12-20..2027-01-06", value)
	}
	if last.Before(first) {
		return Dates{}, fmt.Errorf("%q ends before it begins", value)
	}
	return datesOf(first, last), nil
}

func datesOf(first, last time.Time) Dates {
	from, _ := floor(first.Unix(), secondsPerDay)
	to, _ := floor(last.Unix(), secondsPerDay)
	return Dates{first: from, last: to}
}

// String returns the range in the form that ParseDates reads.
func (d Dates) String() string {
	first := time.Unix(d.first*secondsPerDay, 0).UTC().Format(time.DateOnly)
	if d.first == d.last {
		return first
	}
	return first + ".." + time.Unix(d.last*secondsPerDay, 0).UTC().Format(time.DateOnly)
}

// Over says whether the last day of the range has ended everywhere, down to an offset of -12:00.
func (d Dates) Over(t time.Time) bool { return t.Unix() >= (d.last+1)*secondsPerDay+secondsPerDay/2 }
