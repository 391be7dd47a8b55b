package engine

import (
	"errors"
	"sync"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
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
	// denied is true from when the backend refused a write for want of a right until it takes one: that things can be read says nothing then.
	denied bool
	last   error
	since  time.Time
	tryAt  time.Time
	wait   time.Duration
}

func newBreaker(clock func() time.Time, failures int, pause time.Duration) *breaker {
	return &breaker{clock: clock, failures: failures, pause: pause}
}

// record counts the outcome of one call, which was a write or not, and reports whether the backend changed between up and down.
func (b *breaker) record(err error, write bool) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		if b.denied && !write {
			return false
		}
		changed = b.tripped
		b.inARow, b.tripped, b.denied, b.last = 0, false, false, nil
		return changed
	}
	b.inARow++
	b.last = err
	b.denied = b.denied || write && errors.Is(err, fleet.ErrNoAccess)
	now := b.clock()
	switch {
	case !b.tripped && b.inARow >= b.failures:
		b.tripped, b.since, b.wait = true, now, b.pause
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

// fault returns since when the backend is down, and what it said last; nil while it is up.
func (b *breaker) fault() (since time.Time, said error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.tripped {
		return time.Time{}, nil
	}
	return b.since, b.last
}

// admits returns how many of the free workers may be filled now: all of them, none, or one to try the backend with.
func (b *breaker) admits(free, inProgress int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.tripped:
		return free
	case b.clock().Before(b.tryAt):
		return 0
	case inProgress > 0 && !b.denied:
		// Those in progress try the backend anyway. Where writes are refused they may all be past theirs.
		return 0
	default:
		return min(free, 1)
	}
}
