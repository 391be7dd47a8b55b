package strategies

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/orchestration"
)

// bubbleStart is where the clock of a synctest bubble starts, a Saturday.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// part is one call of an operation: how long it runs, and after which time it asks to be called again.
type part struct {
	busy, again time.Duration
}

// scenario is an execution with all that happens to it.
type scenario struct {
	operations []orchestration.RuntimeOperation
	parts      map[string][]part
	endings    map[string]string
	spec       orchestration.StrategySpec
	cancelAt   time.Time // zero: never; otherwise a time at which nothing else happens
}

// predict plays the scenario by the rules, one instant after another, and returns the calls of each operation and when all is over.
func (s scenario) predict() (calls map[string][]call, over time.Time) {
	base := bubbleStart
	if s.spec.ScheduleTime != nil && s.spec.ScheduleTime.After(base) {
		base = *s.spec.ScheduleTime
	}
	pending := append([]orchestration.RuntimeOperation(nil), s.operations...)
	calls = map[string][]call{}
	ends := []time.Time{} // of the operations in flight
	over = bubbleStart
	for now := base; ; {
		inFlight := ends[:0]
		for _, end := range ends {
			if end.After(now) {
				inFlight = append(inFlight, end)
			}
		}
		ends = inFlight

		next, started := time.Time{}, false
		if len(ends) < max(1, s.spec.Parallel.Workers) {
			chosen, closes := -1, time.Time{}
			for i, op := range pending {
				begin, end, ok := s.window(op, base, now)
				switch {
				case !ok:
				case begin.After(now):
					next = earlier(next, begin)
				case chosen < 0 || !end.IsZero() && (closes.IsZero() || end.Before(closes)):
					chosen, closes = i, end
				}
			}
			if chosen >= 0 {
				id := pending[chosen].ID
				pending = append(pending[:chosen:chosen], pending[chosen+1:]...)
				at := now
				for _, p := range s.parts[id] {
					calls[id] = append(calls[id], call{id: id, begin: at, end: at.Add(p.busy)})
					at = at.Add(p.busy)
					over = later(over, at)
					at = at.Add(p.again)
				}
				ends = append(ends, at)
				started = true
			}
		}
		if started {
			continue
		}
		for _, end := range ends {
			next = earlier(next, end)
		}
		if next.IsZero() {
			return calls, over
		}
		now = next
	}
}

// window returns the window of an operation at an instant; a zero end never comes.
func (s scenario) window(op orchestration.RuntimeOperation, base, now time.Time) (begin, end time.Time, ok bool) {
	if s.spec.Schedule != orchestration.MaintenanceWindow {
		return base, time.Time{}, true
	}
	if op.MaintenanceWindowEnd.IsZero() {
		now = base // once open it stays open
	}
	return op.NextWindow(now)
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// canceled leaves those calls that begin before the cancel, and says when all is over then.
func (s scenario) canceled(calls map[string][]call, over time.Time) (map[string][]call, time.Time) {
	if s.cancelAt.IsZero() || s.cancelAt.After(over) {
		return calls, over
	}
	kept, over := map[string][]call{}, s.cancelAt
	for id, all := range calls {
		for _, c := range all {
			if c.begin.Before(s.cancelAt) {
				kept[id] = append(kept[id], c)
				over = later(over, c.end)
			}
		}
	}
	return kept, over
}

// observation is what came of a scenario.
type observation struct {
	calls map[string][]call
	over  time.Time
	most  int
	wrong []string
	left  int // executions that were not forgotten
}

// observe runs the scenario in a bubble.
func (s scenario) observe(t *testing.T) (o observation) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(func(id string, n int) (time.Duration, error) {
			p := s.parts[id][n]
			time.Sleep(p.busy)
			if n < len(s.parts[id])-1 {
				return p.again, nil
			}
			switch s.endings[id] {
			case "error":
				return time.Hour, errors.New("failed")
			case "panic":
				panic("failed")
			case "negative":
				return -1, nil
			case "goexit":
				runtime.Goexit()
			}
			return 0, nil
		})
		strategy := NewParallelOrchestrationStrategy(r, nil)
		id, err := strategy.Execute(s.operations, s.spec)
		require.NoError(t, err)
		if !s.cancelAt.IsZero() {
			timer := time.AfterFunc(time.Until(s.cancelAt), func() { strategy.Cancel(id) })
			defer timer.Stop()
		}
		strategy.Wait(id)
		o.over = time.Now().UTC()
		// What comes after the end would still be seen.
		time.Sleep(24 * time.Hour)
		p, ok := strategy.(*parallel)
		require.True(t, ok)
		o.left, o.most, o.wrong, o.calls = len(p.executions), r.most, r.wrong, map[string][]call{}
		for _, c := range r.calls {
			o.calls[c.id] = append(o.calls[c.id], call{id: c.id, begin: c.begin.UTC(), end: c.end.UTC()})
		}
	})
	return o
}

func drawScenario(t *rapid.T) scenario {
	s := scenario{parts: map[string][]part{}, endings: map[string]string{}}
	s.spec.Parallel.Workers = rapid.IntRange(0, 4).Draw(t, "workers")
	if rapid.Bool().Draw(t, "in windows") {
		s.spec.Schedule = orchestration.MaintenanceWindow
	}
	if rapid.IntRange(0, 3).Draw(t, "deferred") == 0 {
		at := bubbleStart.Add(rapid.SampledFrom([]time.Duration{-time.Hour, time.Second, 5 * time.Hour, 30 * time.Hour}).Draw(t, "scheduleTime"))
		s.spec.ScheduleTime = &at
	}
	// Even times happen together often, odd ones cut windows short.
	some := rapid.SampledFrom([]time.Duration{1, time.Second, 29 * time.Minute, time.Hour, time.Hour, 5*time.Hour + 2})
	for i := range rapid.IntRange(0, 12).Draw(t, "operations") {
		op := orchestration.RuntimeOperation{ID: fmt.Sprintf("op-%d", i+1)}
		op.Runtime = drawRuntime(t)
		s.operations = append(s.operations, op)
		count := rapid.IntRange(1, 4).Draw(t, "calls")
		for n := range count {
			p := part{}
			if rapid.Bool().Draw(t, "blocks") {
				p.busy = some.Draw(t, "busy")
			}
			if n < count-1 {
				p.again = some.Draw(t, "again")
			}
			s.parts[op.ID] = append(s.parts[op.ID], p)
		}
		s.endings[op.ID] = rapid.SampledFrom([]string{"done", "done", "done", "error", "panic", "negative", "goexit"}).Draw(t, "ending")
	}
	if rapid.IntRange(0, 2).Draw(t, "canceled") == 0 {
		// Nothing else happens half a second after the hour.
		s.cancelAt = bubbleStart.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "cancel after"))*time.Hour + 500*time.Millisecond)
	}
	return s
}

func drawRuntime(t *rapid.T) orchestration.Runtime {
	var r orchestration.Runtime
	zone := time.FixedZone("", rapid.SampledFrom([]int{0, 3600, -5 * 3600, 19800}).Draw(t, "offset"))
	length := rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, 5 * time.Hour, 24 * time.Hour}).Draw(t, "length")
	switch rapid.SampledFrom([]string{"clock", "clock", "clock", "dated", "clock without end", "dated without end", "none"}).Draw(t, "window") {
	case "clock":
		r.MaintenanceWindowBegin = time.Date(0, 1, 1, rapid.IntRange(0, 23).Draw(t, "hour"), 0, 0, 0, zone)
		end := r.MaintenanceWindowBegin.Add(length)
		r.MaintenanceWindowEnd = time.Date(0, 1, 1, end.Hour(), end.Minute(), 0, 0, zone)
	case "clock without end":
		r.MaintenanceWindowBegin = time.Date(0, 1, 1, rapid.IntRange(0, 23).Draw(t, "hour"), 0, 0, 0, zone)
	case "dated":
		r.MaintenanceWindowBegin = bubbleStart.Add(time.Duration(rapid.IntRange(-100, 50).Draw(t, "after")) * time.Hour).In(zone)
		r.MaintenanceWindowEnd = r.MaintenanceWindowBegin.Add(length)
	case "dated without end":
		r.MaintenanceWindowBegin = bubbleStart.Add(time.Duration(rapid.IntRange(-100, 50).Draw(t, "after")) * time.Hour).In(zone)
	}
	r.MaintenanceDays = rapid.SliceOfN(rapid.SampledFrom([]string{"Mon", "saturday", "SUN"}), 0, 2).Draw(t, "days")
	return r
}

// Whatever the operations, their windows, the workers and the moment of a cancel: each call comes exactly when the rules say, no other call
// comes, and Wait returns with the last one.
func TestCallsAreThoseOfTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		want, over := s.canceled(s.predict())
		got := s.observe(t)
		require.Empty(rt, got.wrong)
		require.LessOrEqual(rt, got.most, max(1, s.spec.Parallel.Workers))
		require.Equal(rt, want, got.calls)
		require.Equal(rt, over, got.over)
		require.Zero(rt, got.left)
	})
}
