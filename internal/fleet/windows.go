package fleet

import (
	"errors"
	"fmt"
	"time"

	"github.com/swell-fleet/swell/internal/window"
)

// ErrNoWindow says that an operation has to wait for a maintenance window and that there is none to wait for.
var ErrNoWindow = errors.New("the runtime has no maintenance window that can be used")

// Window reads the rule. A rule that cannot be read is an error and never a wider window.
func (w WindowRule) Window() (window.Window, error) {
	if w.IsZero() {
		return window.Window{}, ErrNoWindow
	}
	win, err := window.Parse(w.Begin, w.End, w.Days)
	if err != nil {
		return window.Window{}, fmt.Errorf("%w: %w", ErrNoWindow, err)
	}
	shut := make([]window.Dates, 0, len(w.NotOn))
	for _, text := range w.NotOn {
		dates, err := window.ParseDates(text)
		if err != nil {
			return window.Window{}, fmt.Errorf("%w: %w", ErrNoWindow, err)
		}
		shut = append(shut, dates)
	}
	return win.Except(shut...), nil
}

// NextWindow returns the earliest window of the operation whose end is after now. An operation with dates and without a rule, as older rows
// have it, repeats its window on every day. The error is ErrNoWindow, with the reason, when there is none.
func (o *Operation) NextWindow(now time.Time) (window.Interval, error) {
	win, err := o.WindowRule.Window()
	if o.WindowRule.IsZero() && !o.WindowBegin.IsZero() && !o.WindowEnd.IsZero() {
		win, err = window.FromTimes(o.WindowBegin, o.WindowEnd, nil)
	}
	if err != nil {
		return window.Interval{}, err
	}
	next, ok := win.Next(now)
	if !ok {
		return window.Interval{}, fmt.Errorf("%w: none begins within %d days", ErrNoWindow, window.Horizon)
	}
	return next, nil
}

// WindowOpen reports whether the operation may start at now as far as its window is concerned: [begin, end) holds it, or it uses none.
func (o *Operation) WindowOpen(now time.Time) bool {
	if !o.UsesWindow {
		return true
	}
	return !o.WindowBegin.IsZero() && window.Interval{Begin: o.WindowBegin, End: o.WindowEnd}.Contains(now)
}

// WindowPast reports whether the window that the operation waits for has ended, or was never set.
func (o *Operation) WindowPast(now time.Time) bool {
	if !o.UsesWindow {
		return false
	}
	return o.WindowBegin.IsZero() || window.Interval{Begin: o.WindowBegin, End: o.WindowEnd}.EndsBy(now)
}

// placeInWindow gives a pending operation its next window, or ends it as skipped when there is none.
func placeInWindow(op *Operation, now time.Time) {
	next, err := op.NextWindow(now)
	if err != nil {
		op.State = Canceled
		op.WindowBegin, op.WindowEnd = time.Time{}, time.Time{}
		op.Reason = Line(err.Error())
		op.Description = "skipped: " + op.Reason
		op.FinishedAt = now
		return
	}
	op.WindowBegin, op.WindowEnd = next.Begin, next.End
	op.Description = waitingForWindow(next)
}

func waitingForWindow(next window.Interval) string {
	return fmt.Sprintf("waiting for the maintenance window %s to %s", minute(next.Begin), minute(next.End))
}

// minute writes a point in time for descriptions.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// RollWindow moves a pending operation whose window is past to its next one, however long ago the window was. Without a next one it ends as
// skipped. An operation that need not move gives false.
func RollWindow(op Operation, now time.Time) (Change, bool) {
	if op.State != Pending || !op.WindowPast(now) {
		return Change{}, false
	}
	c := changeOf(op)
	c.Operation.Fence++
	placeInWindow(&c.Operation, now)
	if c.Operation.State == Canceled {
		c.event(now, EventSkipped, LevelInfo, c.Operation.Description)
	} else {
		c.event(now, EventWindowMove, LevelInfo, c.Operation.Description)
	}
	return c, true
}
