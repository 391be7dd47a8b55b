package engine

import (
	"sync"
	"time"
)

// breaker tells whether a backend is down: after a number of passing faults in a row, until a call succeeds. It never keeps steps of operations
// in progress from calling, because each of them waits longer and longer by itself; it keeps further operations from starting.
type breaker struct {
	clock    func() time.Time
	failures int
	pause    time.Duration

	mu      sync.Mutex
	inARow  int
	tripped bool
	tryAt   time.Time
	wait    time.Duration
}

func newBreaker(clock func() time.Time, failures int, pause time.Duration) *breaker {
	return &breaker{clock: clock, failures: failures, pause: pause}
}

// record counts the outcome of one call and reports whether the backend changed between up and down.
func (b *breaker) record(ok bool) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok {
		changed = b.tripped
		b.inARow, b.tripped = 0, false
		return changed
	}
	b.inARow++
	now := b.clock()
	switch {
	case !b.tripped && b.inARow >= b.failures:
		b.tripped, b.wait = true, b.pause
		b.tryAt = now.Add(b.wait)
		return true
	case b.tripped && !now.Before(b.tryAt):
		b.wait = min(2*b.wait, 8*b.pause)
		b.tryAt = now.Add(b.wait)
	}
	return false
}

// down reports whether the backend is considered down.
func (b *breaker) down() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tripped
}

// admits returns how many of the free workers may be filled now: all of them, none, or one to try the backend with.
func (b *breaker) admits(free, inProgress int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.tripped:
		return free
	case inProgress > 0 || b.clock().Before(b.tryAt):
		// Those in progress try the backend anyway.
		return 0
	default:
		return min(free, 1)
	}
}
