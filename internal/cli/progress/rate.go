package progress

import (
	"time"

	"github.com/swell-fleet/swell/orchestration"
)

// rateSpan is how far the look back goes from which the speed is told. It covers several upgrades, so that the estimate stands still.
const rateSpan = 10 * time.Minute

// minDone is how many operations must have ended before a rest is estimated.
const minDone = 3

// sample is how many operations had ended at a moment.
type sample struct {
	at   time.Time
	done int
}

// rate estimates how long the rest takes.
type rate struct{ samples []sample }

// add notes the progress at a moment.
func (r *rate) add(now time.Time, done int) {
	if n := len(r.samples); n > 0 && done < r.samples[n-1].done {
		// A retry has opened operations again.
		r.samples = nil
	}
	for len(r.samples) > 1 && now.Sub(r.samples[1].at) > rateSpan {
		r.samples = r.samples[1:]
	}
	if n := len(r.samples); n > 0 && done == r.samples[n-1].done {
		return
	}
	r.samples = append(r.samples, sample{now, done})
}

// rest estimates the time until all operations have ended. It returns false when that cannot be told: too little has ended, or operations
// wait for something else than a worker.
func (r *rate) rest(s *snapshot, now time.Time) (time.Duration, bool) {
	for _, w := range s.waiting {
		if w.reason != "" && w.reason != orchestration.WaitWorkerLimit {
			return 0, false
		}
	}
	if len(r.samples) < 2 {
		return 0, false
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	done := last.done - first.done
	if done < minDone {
		return 0, false
	}
	// The speed is that up to the last end, and the time since then is used up already.
	each := last.at.Sub(first.at) / time.Duration(done)
	rest := each*time.Duration(s.total()-last.done) - now.Sub(last.at)
	return max(rest, 0), true
}
