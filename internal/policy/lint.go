package policy

import (
	"fmt"
	"time"
	"unicode"

	"github.com/swell-fleet/swell/internal/quantity"
	"github.com/swell-fleet/swell/internal/window"
)

// shortest is the length below which a window is warned about: Gardener itself refuses Shoots with windows shorter than 30 minutes, since
// hardly any change of a cluster can begin in them.
const shortest = 30 * time.Minute

// Warning is something in a policy that is allowed and hardly meant.
type Warning struct {
	// Where is the place in the policy, such as "rules[1].match.plan".
	Where   string
	Message string
}

// String returns the warning as one line.
func (w Warning) String() string { return w.Where + ": " + w.Message }

// Lint looks for what is hardly meant. runtimes is the fleet, to find rules that match nothing or are never reached; without any only the text of the policy
// is looked at. now is needed for dates that are over.
func (p *Policy) Lint(runtimes []Runtime, now time.Time) []Warning {
	if p == nil {
		return nil
	}
	var found []Warning
	warn := func(where, format string, args ...any) {
		found = append(found, Warning{Where: where, Message: fmt.Sprintf(format, args...)})
	}
	for i := range p.rules {
		r := &p.rules[i]
		for _, pt := range r.patterns {
			if c, ok := foreign(pt.text); ok {
				warn(r.name+".match."+pt.field, "the pattern %q holds %U, which looks like a character of names and is none", pt.text, c)
			}
		}
		lintEntry(r.name, &r.entry, now, warn)
	}
	if p.fallback != nil {
		lintEntry("default", p.fallback, now, warn)
	}
	lintDates("notOn", p.notOn, now, warn)
	if len(runtimes) > 0 {
		p.lintReach(runtimes, warn)
	}
	return found
}

// foreign returns the first character of a pattern that no name holds.
func foreign(text string) (rune, bool) {
	for _, c := range text {
		if c > unicode.MaxASCII || unicode.IsControl(c) {
			return c, true
		}
	}
	return 0, false
}

func lintEntry(name string, e *entry, now time.Time, warn func(where, format string, args ...any)) {
	if e.begin != "" {
		if w, err := window.Parse(e.begin, e.end, nil); err == nil {
			if next, ok := w.Next(now); ok && next.End.Sub(next.Begin) < shortest {
				warn(name, "the window %s to %s is open for %s only", e.begin, e.end, next.End.Sub(next.Begin))
			}
		}
	}
	lintDates(name+".notOn", e.notOn, now, warn)
	if e.begin == "" {
		return
	}
	if w, err := window.Parse(e.begin, e.end, e.days); err == nil {
		if _, ok := except(w, e.notOn).Next(now); !ok {
			warn(name, "no window begins within %d days", window.Horizon)
		}
	}
}

func lintDates(name string, list []string, now time.Time, warn func(where, format string, args ...any)) {
	for i, text := range list {
		dates, err := window.ParseDates(text)
		if err == nil && dates.Over(now) {
			warn(fmt.Sprintf("%s[%d]", name, i), "%s is over", text)
		}
	}
}

func except(w window.Window, list []string) window.Window {
	var shut []window.Dates
	for _, text := range list {
		if dates, err := window.ParseDates(text); err == nil {
			shut = append(shut, dates)
		}
	}
	return w.Except(shut...)
}

// lintReach finds rules that decide for no runtime of the fleet.
func (p *Policy) lintReach(runtimes []Runtime, warn func(where, format string, args ...any)) {
	matched := make([]int, len(p.rules))
	decided := make([]int, len(p.rules))
	for _, rt := range runtimes {
		first := true
		for i := range p.rules {
			if !p.rules[i].matches(rt) {
				continue
			}
			matched[i]++
			if first {
				decided[i]++
				first = false
			}
		}
	}
	for i := range p.rules {
		switch {
		case matched[i] == 0:
			warn(p.rules[i].name, "%s", quantity.Pick(len(runtimes), "it does not match the only runtime", "it matches none of the "+quantity.Of(len(runtimes), "runtime")))
		case decided[i] == 0:
			warn(p.rules[i].name, "it matches %s, and earlier rules decide for %s",
				quantity.Of(matched[i], "runtime"), quantity.Pick(matched[i], "it", "all of them"))
		}
	}
}

// Explanation says which window a runtime has under the policy, where it comes from, and when it is open next.
type Explanation struct {
	Runtime  Runtime
	Decision Decision
	// Next is the next window, zero when there is none; Problem says why.
	Next    window.Interval
	Problem string
}

// Explain explains the window of one runtime.
func (p *Policy) Explain(r Runtime, now time.Time) Explanation {
	d := p.Decide(r)
	x := Explanation{Runtime: r, Decision: d}
	if d.Begin == "" {
		x.Problem = "the Shoot has no maintenance window, and the policy gives no times"
		return x
	}
	w, err := window.Parse(d.Begin, d.End, d.Days)
	if err != nil {
		x.Problem = err.Error()
		return x
	}
	next, ok := except(w, d.NotOn).Next(now)
	if !ok {
		x.Problem = fmt.Sprintf("no window begins within %d days", window.Horizon)
		return x
	}
	x.Next = next
	return x
}
