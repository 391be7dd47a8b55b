package orchestration

import (
	"time"

	"github.com/swell-fleet/swell/internal/window"
)

// NextWindow returns the earliest maintenance window of the runtime whose end is after now, in UTC. Work may start from begin on and before
// end; begin may have passed already. A zero end means that the window never ends. It returns false when the runtime has no window that
// can be used: none at all, an end without a begin, or a weekday that is not understood.
//
// Times of day, as the resolver returns them, recur on the runtime's MaintenanceDays. A window with a date is used as it is until it has
// ended and moves on to the next allowed day then, however long ago that was. Weekdays are those in the offset of MaintenanceWindowBegin,
// so a window keeps its meaning only when it is not converted to UTC.
func (r Runtime) NextWindow(now time.Time) (begin, end time.Time, ok bool) {
	w, err := window.FromTimes(r.MaintenanceWindowBegin, r.MaintenanceWindowEnd, r.MaintenanceDays)
	if err != nil {
		return time.Time{}, time.Time{}, false
	}
	next, ok := w.Next(now)
	return next.Begin, next.End, ok
}
