package faults

import (
	"strconv"
	"sync/atomic"
	"time"
)

// Tally holds rules that are in force and counts the requests that each of them
// has hit. It is safe for concurrent use.
type Tally struct {
	rules []Rule
	seed  uint64
	// what keeps rules of one plan apart that are about different things.
	what  string
	since time.Time
	count []counters
}

type counters struct {
	matched atomic.Int64
	hit     atomic.Int64
}

// NewTally puts rules in force from now on.
func NewTally(seed uint64, what string, rules []Rule) *Tally {
	return &Tally{rules: rules, seed: seed, what: what, since: time.Now(), count: make([]counters, len(rules))}
}

// Rules returns the rules.
func (t *Tally) Rules() []Rule { return t.rules }

// Hits returns how many requests each rule has hit so far.
func (t *Tally) Hits() []int64 {
	hits := make([]int64, len(t.count))
	for index := range t.count {
		hits[index] = t.count[index].hit.Load()
	}
	return hits
}

// Strikes decides whether the rule of the given index hits a request that it
// speaks about, and counts it.
func (t *Tally) Strikes(index int) bool {
	rule, count := t.rules[index], &t.count[index]
	if !rule.InForce(time.Since(t.since)) {
		return false
	}
	turn := count.matched.Add(1)
	if rule.Share != 0 && Draw(t.seed, t.what, strconv.Itoa(index), strconv.FormatInt(turn, 10)) >= rule.Share {
		return false
	}
	if rule.Times == 0 {
		count.hit.Add(1)
		return true
	}
	for {
		before := count.hit.Load()
		if before >= rule.Times {
			return false
		}
		if count.hit.CompareAndSwap(before, before+1) {
			return true
		}
	}
}
