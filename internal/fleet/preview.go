package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/swell-fleet/swell/internal/window"
	"github.com/swell-fleet/swell/orchestration"
)

// Previewer says what a request to upgrade would come to. It changes nothing and records nothing.
type Previewer interface {
	// PreviewOrchestration refuses what CreateOrchestration would refuse, with the same error.
	PreviewOrchestration(ctx context.Context, req PreviewRequest) (Preview, error)
}

// PreviewRequest asks what an upgrade would do.
type PreviewRequest struct {
	Type       orchestration.Type
	Parameters orchestration.Parameters
	// Page cuts the list of runtimes and the list of what is left out.
	Page Page
}

// Preview is what a request to upgrade would come to with the fleet as it is.
type Preview struct {
	// At is when the targets were resolved.
	At time.Time
	// Parameters are those of the request in their one stored form.
	Parameters orchestration.Parameters
	// NotBefore is when the orchestration would start at the earliest; zero means at once.
	NotBefore time.Time
	// Backend would carry the operations out.
	Backend Backend
	// Forecast is what would become of the targets. Its lists are cut to the page.
	Forecast
	// RuntimesTotal and LeftOutTotal are the lengths of the lists before they were cut.
	RuntimesTotal int
	LeftOutTotal  int
}

// Forecast says what would become of the targets of an orchestration.
type Forecast struct {
	// Runtimes are the targets in the order in which they would start if there were a worker for each; those that would be skipped come last.
	Runtimes []ForeseenRuntime
	// LeftOut are the runtimes and Shoots that the targets match and that would be left out.
	LeftOut []LeftOut
	// Reasons counts LeftOut by reason.
	Reasons map[string]int
	// Skipped is how many of the Runtimes would be skipped.
	Skipped int
	// FirstWindow and LastWindow are the earliest and the latest begin of a window that a runtime would wait for; zero when none would.
	FirstWindow time.Time
	LastWindow  time.Time
	// Unmatched lists the indexes of the include entries that match no Shoot at all.
	Unmatched []int
	// Revision is the same for forecasts with the same rows in the same order.
	Revision string
}

// ForeseenRuntime is a target, and what would become of it.
type ForeseenRuntime struct {
	// Target is the runtime.
	Target Target
	// Window is what the operation would wait for or start in; zero when it would use none.
	Window window.Interval
	// Skipped is why the operation would be skipped; empty when it would not.
	Skipped string
	// BusyWith is the orchestration that has an operation in progress on the runtime; empty when none has.
	BusyWith string
	// KymaVersion is the present version of Kyma, in previews of its upgrade and where it is known.
	KymaVersion string
}

// Foresee says what a pending orchestration would come to if its targets were resolved to found: at now, or at the time before which it does not
// start. It makes the very records that would be stored.
func Foresee(o *Orchestration, found Resolution, now time.Time) Forecast {
	at := now
	if o.NotBefore.After(at) {
		at = o.NotBefore
	}
	f := Forecast{
		LeftOut: found.LeftOut, Reasons: make(map[string]int), Unmatched: found.Unmatched,
	}
	rows, order := make([]ForeseenRuntime, len(found.Runtimes)), make([]int, len(found.Runtimes))
	for i, t := range found.Runtimes {
		op, _ := NewOperation(o, "", i, t, at)
		r := ForeseenRuntime{Target: t}
		switch {
		case op.State == Canceled:
			r.Skipped = op.Reason
			f.Skipped++
		case op.UsesWindow:
			r.Window = window.Interval{Begin: op.WindowBegin, End: op.WindowEnd}
			f.span(op.WindowBegin)
		}
		rows[i], order[i] = r, i
	}
	for _, row := range found.LeftOut {
		f.Reasons[row.Reason]++
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(startOrder(&rows[a], &rows[b], at), cmp.Compare(a, b)) })
	f.Runtimes = make([]ForeseenRuntime, len(rows))
	for i, row := range order {
		f.Runtimes[i] = rows[row]
	}
	f.Revision = f.revision()
	return f
}

// span takes the begin of a window into account.
func (f *Forecast) span(begin time.Time) {
	if f.FirstWindow.IsZero() || begin.Before(f.FirstWindow) {
		f.FirstWindow = begin
	}
	if begin.After(f.LastWindow) {
		f.LastWindow = begin
	}
}

// startOrder compares two runtimes as their admission would: when their windows open, then by the end of the window. What is equal stays in the
// order of the resolver.
func startOrder(a, b *ForeseenRuntime, at time.Time) int {
	if (a.Skipped == "") != (b.Skipped == "") {
		return cmp.Compare(len(a.Skipped), len(b.Skipped))
	}
	return cmp.Or(opens(a, at).Compare(opens(b, at)), a.Window.End.Compare(b.Window.End))
}

// opens returns when a runtime could start.
func opens(r *ForeseenRuntime, at time.Time) time.Time {
	if r.Window.Begin.Before(at) {
		return at
	}
	return r.Window.Begin
}

// revisionLength is how many bytes of the hash make a revision.
const revisionLength = 16

func (f *Forecast) revision() string {
	hash := sha256.New()
	rows := json.NewEncoder(hash)
	// A hash takes everything, and texts and times of windows have a JSON form always.
	for i := range f.Runtimes {
		r := &f.Runtimes[i]
		_ = rows.Encode([]string{r.Target.RuntimeID, r.Target.InstanceID, r.Target.ShootName, stamp(r.Window.Begin), stamp(r.Window.End), r.Skipped})
	}
	for i := range f.LeftOut {
		l := &f.LeftOut[i]
		_ = rows.Encode([]string{l.ShootName, l.RuntimeID, l.InstanceID, l.Reason})
	}
	return hex.EncodeToString(hash.Sum(nil)[:revisionLength])
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Cut keeps one page of the lists and returns how long they were.
func (f *Forecast) Cut(p Page) (runtimes, leftOut int) {
	runtimes, leftOut = len(f.Runtimes), len(f.LeftOut)
	f.Runtimes, f.LeftOut = cutTo(p, f.Runtimes), cutTo(p, f.LeftOut)
	return runtimes, leftOut
}

// cutTo copies one page of a list, so that the rest need not be kept.
func cutTo[T any](p Page, list []T) []T {
	begin := min(p.Offset(), len(list))
	return slices.Clone(list[begin:min(begin+p.Size, len(list))])
}
