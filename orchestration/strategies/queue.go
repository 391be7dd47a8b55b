package strategies

import (
	"math"
	"time"

	"github.com/swell-fleet/swell/internal/window"
)

// never is a point in time, in nanoseconds, that is not reached.
const never = math.MaxInt64

// queue holds the operations that have not started. Times are wall-clock nanoseconds since 1970.
type queue interface {
	// take removes and returns the operation that starts now; false when none may.
	take(now int64) (op int32, ok bool)
	// next returns the time from which take may be worth a try, and never when the queue is empty.
	next() int64
	// waiting returns how many operations are in the queue.
	waiting() int
}

// listed starts operations in the order of the list, at any time.
type listed struct {
	first, count int32
}

func (q *listed) take(int64) (int32, bool) {
	if q.first == q.count {
		return 0, false
	}
	q.first++
	return q.first - 1, true
}

func (q *listed) next() int64 {
	if q.first == q.count {
		return never
	}
	return math.MinInt64
}

func (q *listed) waiting() int {
	return int(q.count - q.first)
}

// windowed starts each operation inside its window. Of those whose window is open, the one that closes first is the first, so that as few
// as possible have to wait for another one.
type windowed struct {
	windows []window.Window // by operation
	ends    []int64         // by operation: the end of the window it waits for or is open
	shut    timeHeap        // by begin
	open    timeHeap        // by end
}

func newWindowed(count int) *windowed {
	return &windowed{windows: make([]window.Window, count), ends: make([]int64, count), shut: make(timeHeap, 0, count)}
}

// add lets an operation wait for its next window. Call order after the last one.
func (q *windowed) add(op int32, w window.Window, now time.Time) bool {
	next, ok := w.Next(now)
	if !ok {
		return false
	}
	q.windows[op], q.ends[op] = w, endOf(next)
	q.shut = append(q.shut, timed{at: nanoseconds(next.Begin), op: op})
	return true
}

func (q *windowed) order() {
	q.shut.order()
}

func (q *windowed) take(now int64) (int32, bool) {
	for len(q.shut) > 0 && q.shut[0].at <= now {
		if q.open == nil {
			q.open = make(timeHeap, 0, len(q.shut))
		}
		op := q.shut.pop().op
		q.open.push(timed{at: q.ends[op], op: op})
	}
	for len(q.open) > 0 {
		op := q.open.pop().op
		if now < q.ends[op] {
			return op, true
		}
		// It closed before a worker was free.
		next, ok := q.windows[op].Next(time.Unix(0, now))
		if !ok {
			continue
		}
		q.ends[op] = endOf(next)
		if begin := nanoseconds(next.Begin); begin > now {
			q.shut.push(timed{at: begin, op: op})
		} else {
			q.open.push(timed{at: q.ends[op], op: op})
		}
	}
	return 0, false
}

func (q *windowed) next() int64 {
	switch {
	case len(q.open) > 0:
		return math.MinInt64
	case len(q.shut) > 0:
		return q.shut[0].at
	}
	return never
}

func (q *windowed) waiting() int {
	return len(q.shut) + len(q.open)
}

func endOf(i window.Interval) int64 {
	if i.End.IsZero() {
		return never
	}
	return nanoseconds(i.End)
}

// nanoseconds returns t in nanoseconds since 1970, and the farthest that there is for times that do not fit (before 1678, after 2261).
func nanoseconds(t time.Time) int64 {
	switch seconds := t.Unix(); {
	case seconds > math.MaxInt64/int64(time.Second)-1:
		return never
	case seconds < math.MinInt64/int64(time.Second)+1:
		return math.MinInt64
	}
	return t.UnixNano()
}
