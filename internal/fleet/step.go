package fleet

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// StepRules are the limits by which a step is judged.
type StepRules struct {
	// TimeLimit is how long an operation may be in progress.
	TimeLimit time.Duration
	// DefaultAfter is how long to wait for the next look when the executor does not say.
	DefaultAfter time.Duration
	// Margin is how long after a due step its operation counts as held; then it is taken over.
	Margin time.Duration
	// BackoffFrom and BackoffTo are the shortest and the longest wait after a passing fault.
	BackoffFrom, BackoffTo time.Duration
	// Backend names what is waited for.
	Backend Backend
}

// Step is what came out of a step: a result, or an error of which ErrFenced, ErrCanceled and ErrWindowClosed are a guard's refusal and any other is a
// passing fault.
type Step struct {
	Result Result
	Err    error
	// Passed is true when a guard let a write through in this step.
	Passed bool
	// Unstarted is true when the step failed after a look at the backend had shown that nothing was started, and sent nothing.
	Unstarted bool
	// ShutOut is true when the backend refuses access not to this operation alone: the error is ErrNoAccess, and no further operation starts because of it.
	ShutOut bool
	// HandBack is true when the step was cut short because the process stops: somebody else may go on at once.
	HandBack bool
}

// ApplyStep returns what a step does to its operation, which is in progress and claimed: it goes on, ends, or goes back to pending. The
// record's CheckAt is when the next step is due while it is in progress. A step that was fenced changes nothing and gives false.
func ApplyStep(op Operation, step Step, now time.Time, rules StepRules) (Change, bool) {
	c := changeOf(op)
	n := &c.Operation
	switch {
	case errors.Is(step.Err, ErrFenced):
		return Change{}, false
	case step.HandBack:
		// The lease ends now and what was not recorded is looked at first.
		n.LeaseUntil, n.CheckAt = now, now
		n.Following = false
		n.Uncertain = n.Uncertain || step.Passed
		return c, true
	case errors.Is(step.Err, ErrCanceled):
		c.end(now, Canceled, "the orchestration was canceled and nothing had been sent")
		return c, true
	case errors.Is(step.Err, ErrWindowClosed):
		c.giveBack(now)
		return c, true
	case step.Err != nil:
		n.Uncertain = step.Passed || n.Uncertain && !step.Unstarted
		if step.ShutOut && !n.Sent && !n.Uncertain {
			// It has not had its chance yet: the time until access is granted is not its own.
			n.TimeLimitFrom = now
		}
		c.passingFault(step.Err, now, rules)
		return c, true
	}
	c.record(step.Result, now)
	switch r := step.Result; r.Outcome {
	case Done:
		if r.Description == "" {
			n.Description = "done"
		}
		c.end(now, Succeeded, "")
	case Refused:
		c.end(now, Failed, orElse(r.Reason, "the backend gave no reason"))
	case Gone:
		c.end(now, Canceled, orElse(r.Reason, "the runtime went away"))
	case NeedsStart:
		// The start was not carried out in this step; look again soon.
		c.again(now, rules.BackoffFrom, rules, "it was not started")
	case Again:
		after := r.After
		if after <= 0 {
			after = rules.DefaultAfter
		}
		n.Following = !r.NextObserve
		c.again(now, after, rules, n.Description)
	}
	return c, true
}

// record keeps what the executor told.
func (c *Change) record(r Result, now time.Time) {
	n := &c.Operation
	n.Failures = 0
	n.Following = false
	n.Sent = n.Sent || r.Sent
	n.Uncertain = false
	if r.Description != "" {
		n.Description = Line(r.Description)
	}
	if r.Memo != nil {
		n.Memo = r.Memo
	}
	if r.Version != "" {
		n.Version = Line(r.Version)
	}
	if r.Stage != "" && !slices.Contains(n.FinishedStages, r.Stage) {
		n.FinishedStages = append(slices.Clip(n.FinishedStages), Line(r.Stage))
	}
	// A limit that starts in the future would never end the operation if the executor said so again and again.
	if !r.TimeLimitFrom.IsZero() {
		n.TimeLimitFrom = r.TimeLimitFrom
		if n.TimeLimitFrom.After(now) {
			n.TimeLimitFrom = now
		}
	}
	if r.KymaConfig != nil {
		n.KymaConfig = r.KymaConfig
	}
	if r.ClusterConfig != nil {
		n.ClusterConfig = r.ClusterConfig
	}
}

// passingFault plans the repetition of the step. What was about to be checked is checked again; everything else is observed first.
func (c *Change) passingFault(err error, now time.Time, rules StepRules) {
	n := &c.Operation
	n.Failures++
	c.again(now, Backoff(n.Failures, rules.BackoffFrom, rules.BackoffTo), rules, err.Error())
	if n.State == InProgress {
		n.Description = Line(fmt.Sprintf("waiting for %s: %v", orElse(string(rules.Backend), "the backend"), err))
	}
}

// again plans the next step, or ends the operation when its time is over.
func (c *Change) again(now time.Time, after time.Duration, rules StepRules, last string) {
	n := &c.Operation
	from := n.TimeLimitFrom
	if from.IsZero() {
		from = n.StartedAt
	}
	limit := from.Add(rules.TimeLimit)
	if !now.Before(limit) {
		c.end(now, Failed, fmt.Sprintf("not finished within %s: %s", rules.TimeLimit, last))
		return
	}
	// The last look is at the limit, not long after it.
	n.CheckAt = now.Add(min(after, limit.Sub(now)))
	n.LeaseUntil = n.CheckAt.Add(rules.Margin)
}

// Backoff doubles the wait with each failure in a row.
func Backoff(failures int, from, to time.Duration) time.Duration {
	wait := from
	for range failures - 1 {
		if wait >= to {
			break
		}
		wait *= 2
	}
	return min(wait, to)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
