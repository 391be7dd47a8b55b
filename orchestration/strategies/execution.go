package strategies

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

// longestSleep is how long the timer is set at most. A wall clock that was set, or a machine that was suspended, is noticed after it.
const longestSleep = time.Minute

// execution is one call of Execute on its way.
//
// Operations that wait are entries of a queue or a heap. There is a goroutine for each running call of the executor; it goes on with the
// next operation as long as there is one, and ends otherwise. One timer wakes what is due later.
type execution struct {
	id        string
	executor  Executor
	log       logrus.FieldLogger
	clock     func() time.Time
	forget    func(id string)
	workers   int
	notBefore int64     // wall-clock nanoseconds
	began     time.Time // the zero of the monotonic nanoseconds below
	ids       []string  // by operation
	done      chan struct{}
	canceled  atomic.Bool

	mu       sync.Mutex
	queue    queue
	again    timeHeap // started operations that asked to be called again, by monotonic nanoseconds
	inFlight int      // operations started and not finished
	failed   int
	finished int

	runners int  // goroutines in run, or about to be
	looking bool // one of them was started because there is work, and has not looked yet

	timer   *time.Timer
	firings int   // timer calls that are still to come
	wakesAt int64 // monotonic nanoseconds that the timer was set for
}

// instant is one reading of the clock. Windows are kept by the wall clock, durations by the monotonic one.
type instant struct {
	wall, mono int64
}

// read reads the clock when something waits for a time. Reading it costs more than a step that does nothing.
func (e *execution) read() instant {
	if _, anytime := e.queue.(*listed); anytime && len(e.again) == 0 && e.notBefore == math.MinInt64 {
		return instant{}
	}
	now := e.clock()
	return instant{wall: now.UnixNano(), mono: int64(now.Sub(e.began))}
}

func (e *execution) start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wakesAt = never
	e.spread(e.read())
	e.endIfOver()
}

// run performs operations until there is none to be performed now.
func (e *execution) run() {
	for {
		now := e.read()
		op, ok := e.take(now)
		e.spread(now)
		if !ok {
			break
		}
		e.mu.Unlock()
		again, err := e.call(op)
		e.mu.Lock()
		e.settle(op, again, err)
	}
	e.leave()
}

// look is the goroutine that spread starts.
func (e *execution) look() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.looking = false
	e.run()
}

// fire is the goroutine that the timer starts.
func (e *execution) fire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.firings--
	e.wakesAt = never
	e.runners++
	e.run()
}

// leave ends a goroutine's part in the execution.
func (e *execution) leave() {
	e.runners--
	e.endIfOver()
}

// take returns the operation that the executor is to be called for now.
func (e *execution) take(now instant) (op int32, ok bool) {
	if len(e.again) > 0 && e.again[0].at <= now.mono {
		return e.again.pop().op, true
	}
	if e.inFlight == e.workers || !e.mayStart(now) {
		return 0, false
	}
	op, ok = e.queue.take(now.wall)
	if ok {
		e.inFlight++
	}
	return op, ok
}

// mayStart says whether the time before which nothing starts has come, and notes it when it has.
func (e *execution) mayStart(now instant) bool {
	if e.notBefore != math.MinInt64 && e.notBefore <= now.wall {
		e.notBefore = math.MinInt64
	}
	return e.notBefore == math.MinInt64
}

// spread sees to it that whatever can be done, now or later, finds a goroutine that does it. For work that can be done now it starts one
// unless one is on its way already, which in turn starts the next. So calls that block get as many goroutines as there are workers, within
// the time that it takes to start them, and calls that return at once get a few.
func (e *execution) spread(now instant) {
	if e.looking {
		return
	}
	due := e.due(now)
	switch {
	case due == never:
	case due <= now.mono:
		e.looking = true
		e.runners++
		go e.look()
	default:
		e.wake(now, due)
	}
}

// due returns when there is something to do, in monotonic nanoseconds.
func (e *execution) due(now instant) int64 {
	due := int64(never)
	if len(e.again) > 0 {
		due = e.again[0].at
	}
	if e.inFlight == e.workers {
		return due
	}
	start := e.queue.next()
	if start == never {
		return due
	}
	if start = max(start, e.notBefore); start > now.wall {
		return min(due, plus(now.mono, start-now.wall))
	}
	return min(due, now.mono)
}

// wake sets the timer unless it goes off early enough.
func (e *execution) wake(now instant, due int64) {
	due = min(due, plus(now.mono, int64(longestSleep)))
	if e.wakesAt <= due {
		return
	}
	e.wakesAt = due
	wait := time.Duration(due - now.mono)
	switch {
	case e.timer == nil:
		e.timer = time.AfterFunc(wait, e.fire)
		e.firings++
	case !e.timer.Reset(wait):
		e.firings++
	}
}

// call lets the executor do a step of an operation and logs when that has failed.
func (e *execution) call(op int32) (again time.Duration, err error) {
	// Looked at as late as possible: between here and the executor nothing can be stopped any more.
	if e.canceled.Load() {
		return 0, nil
	}
	again, err = step(e.executor, e.ids[op], func() {
		e.logFailure(op, errGoexit)
		e.mu.Lock() // look and fire unlock
		e.settle(op, 0, errGoexit)
		e.spread(e.read())
		e.leave()
	})
	if err != nil {
		e.logFailure(op, err)
	}
	return again, err
}

func (e *execution) logFailure(op int32, err error) {
	log := e.log.WithField("operation_id", e.ids[op]).WithError(err)
	if panicked, ok := errors.AsType[*panicError](err); ok {
		log = log.WithField("stack", string(panicked.stack))
	}
	log.Error("operation failed")
}

// settle notes what has come of a step.
func (e *execution) settle(op int32, again time.Duration, err error) {
	switch {
	case err != nil:
		e.inFlight--
		e.finished++
		e.failed++
	case e.canceled.Load():
		e.inFlight--
	case again > 0:
		at := plus(int64(e.clock().Sub(e.began)), int64(again))
		e.again.push(timed{at: at, op: op})
	default:
		e.inFlight--
		e.finished++
	}
}

func (e *execution) cancel() {
	e.canceled.Store(true)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = &listed{}
	e.inFlight -= len(e.again)
	e.again = nil
	e.endIfOver()
}

// endIfOver ends the execution when nothing is left to do and no goroutine of it is left but the caller.
func (e *execution) endIfOver() {
	if e.inFlight > 0 || e.queue.waiting() > 0 || e.runners > 0 || e.ended() {
		return
	}
	if e.timer != nil && e.timer.Stop() {
		e.firings--
	}
	if e.firings > 0 {
		return // it is under way and comes by here
	}
	e.log.WithFields(logrus.Fields{"finished": e.finished, "failed": e.failed, "canceled": e.canceled.Load()}).Info("execution ended")
	e.forget(e.id)
	close(e.done)
}

func (e *execution) ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// plus adds times that are not negative without running over.
func plus(a, b int64) int64 {
	if a > never-b {
		return never
	}
	return a + b
}
