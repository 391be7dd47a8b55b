// Package window computes when a maintenance window is open next. The resolver, the strategy, the engine, the command line and the web
// pages all ask it, so that there is one answer.
//
// The rules:
//
//  1. A window is half-open: work may start at its begin, nothing may start at or after its end. Work that started inside may finish
//     after the end.
//  2. Begin and end are wall-clock times with a fixed UTC offset, so there is no daylight saving in them.
//  3. An end that is not later than the begin on the clock is on the following day. Equal begin and end make 24 hours.
//  4. A list of weekdays speaks about the day on which the window begins, in the window's own offset.
//  5. The next window is the earliest allowed one whose end is still ahead. If it has already begun, work may start now.
package window

import (
	"errors"
	"fmt"
	"time"
)

// Layout is the form in which Gardener writes the begin and the end of a maintenance window, e.g. "220000+0530".
const Layout = "150405-0700"

// Horizon is how many days Next looks ahead before it says that there is no window.
const Horizon = 400

const day = 24 * time.Hour

var (
	// ErrNone says that there is neither a begin nor an end.
	ErrNone = errors.New("no maintenance window")
	// ErrNoBegin says that there is an end and no begin.
	ErrNoBegin = errors.New("maintenance window has an end and no begin")
)

// Window is a window that recurs on every allowed day. The zero value is open all day long, every day, in UTC.
type Window struct {
	begin   time.Duration // since midnight in the window's offset, below 24 h
	offset  time.Duration // of the window's clock, east of UTC
	length  time.Duration // 0 to 24 h, where 0 means 24 h
	endless bool
	days    Days
	except  []Dates

	fixed *Interval // the dated window that comes before the recurring ones; nil when there is none
}

// Interval is one window with its dates, in UTC. It is half-open: Begin is inside, End is not. A zero End means that it never ends.
type Interval struct {
	Begin, End time.Time
}

// Contains says whether work may start at t.
func (i Interval) Contains(t time.Time) bool {
	return !t.Before(i.Begin) && !i.EndsBy(t)
}

// EndsBy says whether the interval is over at t, so that nothing may start in it any more.
func (i Interval) EndsBy(t time.Time) bool {
	return !i.End.IsZero() && !t.Before(i.End)
}

// Parse reads a window in Gardener's form, "HHMMSS±HHMM" for begin and end, and the weekdays on which it may begin; an empty list means
// every day. The two offsets may differ; the weekdays then follow that of the begin. Offsets of 24 hours and more are refused.
func Parse(begin, end string, days []string) (Window, error) {
	b, err := ParseClock(begin)
	if err != nil {
		return Window{}, fmt.Errorf("begin of maintenance window: %w", err)
	}
	e, err := ParseClock(end)
	if err != nil {
		return Window{}, fmt.Errorf("end of maintenance window: %w", err)
	}
	return FromTimes(b, e, days)
}

// FromTimes makes a window of a begin and an end that were parsed already, and of the weekdays on which it may begin.
//
// Times in the year 0 (what time.Parse makes of Layout) are times of day. Times with a date are one certain window, which is used as it
// is, whatever its weekday, until it has ended; after it the same times of day recur on the allowed days. A zero end makes a window that
// is open from its begin on. Two zero times are ErrNone.
func FromTimes(begin, end time.Time, days []string) (Window, error) {
	switch {
	case begin.IsZero() && end.IsZero():
		return Window{}, ErrNone
	case begin.IsZero():
		return Window{}, ErrNoBegin
	case !end.IsZero() && dated(begin) != dated(end):
		return Window{}, fmt.Errorf("maintenance window mixes a time of day with a date: %s to %s",
			begin.Format(time.RFC3339), end.Format(time.RFC3339))
	}
	set, err := ParseDays(days)
	if err != nil {
		return Window{}, err
	}
	w := Window{begin: clock(begin), offset: offset(begin), days: set, endless: end.IsZero()}
	if w.offset <= -day || w.offset >= day {
		return Window{}, fmt.Errorf("maintenance window has an offset of 24 hours or more: %s", w.offset)
	}
	if !w.endless {
		w.length = mod(clock(end) - offset(end) - w.begin + w.offset)
	}
	if dated(begin) {
		w.fixed = &Interval{Begin: begin.UTC(), End: end}
		if !w.endless {
			w.fixed.End = end.UTC()
			if !end.After(begin) {
				w.fixed.End = w.fixed.Begin.Add(w.duration())
			}
		}
	}
	return w, nil
}

// Except returns a window that stays shut on the given dates, in its own offset: it does not begin on them, and one that has begun the day
// before ends at midnight. A dated window is not affected, only those that follow it.
func (w Window) Except(dates ...Dates) Window {
	w.except = append(w.except[:len(w.except):len(w.except)], dates...)
	return w
}

// Next returns the earliest window whose end is after now; it may have begun already. It returns false when there is none within Horizon
// days. It does not allocate.
//
// A window without an end counts as begun for 24 hours, and what is returned then has a zero End.
func (w Window) Next(now time.Time) (Interval, bool) {
	if w.fixed != nil && !w.fixed.EndsBy(now) {
		return *w.fixed, true
	}
	// Begin and length are at most a day each, so nothing that began before yesterday is still open.
	today, _ := floor(now.Unix()+int64(w.offset/time.Second), secondsPerDay)
	for d := today - 1; d <= today+Horizon; d++ {
		if !w.days.Has(weekday(d)) || w.shut(d) {
			continue
		}
		midnight := time.Unix(d*secondsPerDay, 0).UTC().Add(-w.offset)
		next := Interval{Begin: midnight.Add(w.begin)}
		next.End = next.Begin.Add(w.duration())
		if tomorrow := midnight.Add(day); next.End.After(tomorrow) && w.shut(d+1) {
			next.End = tomorrow
		}
		if next.EndsBy(now) {
			continue
		}
		if w.endless {
			next.End = time.Time{}
		}
		return next, true
	}
	return Interval{}, false
}

// duration returns how long the window is open.
func (w Window) duration() time.Duration {
	if w.length == 0 {
		return day
	}
	return w.length
}

// shut says whether the window stays shut on a day, counted from 1970-01-01.
func (w Window) shut(d int64) bool {
	for _, dates := range w.except {
		if dates.first <= d && d <= dates.last {
			return true
		}
	}
	return false
}
