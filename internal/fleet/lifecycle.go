package fleet

import (
	"fmt"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/quantity"
)

// Describe says in words how an orchestration stands: always the counts, and how many runtimes were left out and why.
func Describe(o *Orchestration) string {
	var b strings.Builder
	switch {
	case o.ResolvedAt.IsZero() && o.State == Pending && o.NotBefore.After(o.CreatedAt):
		b.WriteString("starts at " + minute(o.NotBefore))
		return b.String()
	case o.ResolvedAt.IsZero() && o.State == Pending:
		return "waiting to be started"
	case o.ResolvedAt.IsZero():
		return "canceled before its targets were resolved"
	case o.Counts.Total() == 0:
		b.WriteString("no runtime to upgrade")
	default:
		describeCounts(&b, o.Counts)
	}
	if o.LeftOut > 0 {
		fmt.Fprintf(&b, "; %d left out", o.LeftOut)
		if o.LeftOutWhy != "" {
			b.WriteString(": " + o.LeftOutWhy)
		}
	}
	return b.String()
}

func describeCounts(b *strings.Builder, c Counts) {
	b.WriteString(quantity.Of(c.Total(), "runtime"))
	separator := ": "
	for _, part := range []struct {
		n    int
		word State
	}{{c.Succeeded, Succeeded}, {c.Failed, Failed}, {c.InProgress, InProgress}, {c.Pending, Pending}, {c.Canceled, Canceled}} {
		if part.n == 0 {
			continue
		}
		fmt.Fprintf(b, "%s%d %s", separator, part.n, part.word)
		separator = ", "
	}
}

// Settle brings state and description of a locked orchestration in line with its counts: it ends when nothing is open any more. It returns
// the event when the state changed.
func Settle(o *Orchestration, now time.Time) []Event {
	from := o.State
	if !o.ResolvedAt.IsZero() && o.Counts.Open() == 0 {
		switch {
		case o.State == Canceling:
			o.State = Canceled
		case o.State == InProgress && o.Counts.Failed > 0:
			o.State = Failed
		case o.State == InProgress:
			o.State = Succeeded
		}
	}
	if o.ResolvedAt.IsZero() && o.State == Canceling {
		o.State = Canceled
	}
	o.Description = Describe(o)
	if o.State == from {
		return nil
	}
	o.FinishedAt = now
	o.LeaseUntil = time.Time{}
	level := LevelInfo
	if o.State == Failed {
		level = LevelError
	}
	return []Event{o.Event(now, EventFinished, level, from, o.Description)}
}

// Event makes an entry of the history about the orchestration as a whole.
func (o *Orchestration) Event(now time.Time, kind EventKind, level Level, from State, message string) Event {
	e := Event{At: now, Kind: kind, Level: level, OrchestrationID: o.ID, Message: Line(message)}
	if from != o.State {
		e.From, e.To = from, o.State
	}
	return e
}

// Resolve freezes the targets of a pending orchestration: all its operations are stored, and counted in counts. Without any
// that is open it ends at once.
func Resolve(o *Orchestration, counts Counts, leftOut int, why string, now time.Time) []Event {
	from := o.State
	o.ResolvedAt = now
	o.State = InProgress
	o.Counts, o.LeftOut, o.LeftOutWhy = counts, leftOut, why
	o.LeaseUntil = time.Time{}
	o.Description = Describe(o)
	events := []Event{o.Event(now, EventResolved, LevelInfo, from, o.Description)}
	return append(events, Settle(o, now)...)
}

// RefuseTargets ends a pending orchestration whose targets can never be resolved.
func RefuseTargets(o *Orchestration, reason error, now time.Time) []Event {
	from := o.State
	o.State = Failed
	o.ResolvedAt, o.FinishedAt, o.LeaseUntil = now, now, time.Time{}
	o.Description = Line("the targets cannot be resolved: " + reason.Error())
	return []Event{o.Event(now, EventFinished, LevelError, from, o.Description)}
}

// RequestCancel lets no further operation of a locked orchestration start. On one that is canceling or has ended nothing changes and false
// is returned.
func RequestCancel(o *Orchestration, now time.Time, actor Actor) ([]Event, bool) {
	if o.State != Pending && o.State != InProgress {
		return nil, false
	}
	from := o.State
	o.State = Canceling
	// Whoever resolves the targets at this moment finds its fence outdated.
	o.Fence++
	o.LeaseUntil = time.Time{}
	if !o.ResolvedAt.IsZero() {
		o.Description = Describe(o)
	} else {
		o.Description = "canceled before its targets were resolved"
	}
	e := o.Event(now, EventCancel, LevelInfo, from, "cancel requested")
	e.Actor = actor
	return []Event{e}, true
}

// SumUp says in words how often each reason occurs, the most frequent first.
func SumUp(rows []LeftOut) string {
	counts := map[string]int{}
	var reasons []string
	for _, row := range rows {
		if counts[row.Reason] == 0 {
			reasons = append(reasons, row.Reason)
		}
		counts[row.Reason]++
	}
	return sumUp(counts, reasons)
}
