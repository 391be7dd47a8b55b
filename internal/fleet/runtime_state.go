package fleet

import (
	"slices"
	"strings"
	"time"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Mark is what the state of a runtime needs to know of one operation.
type Mark struct {
	Type runtime.OperationType `json:"t"`
	// State is InProgress, Succeeded or Failed. Operations in other states have not touched the runtime and leave no mark.
	State State `json:"s"`
	// At is when the operation was created, in microseconds since 1970; for Swell's own operations, which may wait for days before they
	// begin, it is when they were started.
	At int64  `json:"a"`
	ID string `json:"i,omitempty"`
	// Leftover is true for a deprovisioning with steps that were executed and not completed.
	Leftover bool `json:"l,omitempty"`
}

// History is what a document says about the past of its runtime, without what neither the state nor the resolver asks for.
type History struct {
	// Marks are in the order of time. Of upgrades and updates only the newest of each type is kept.
	Marks []Mark `json:"m,omitempty"`
	// State is the state that the document names, in lower case; empty when it is not a known one. It counts only as far as the operations do
	// not tell: a document that was read with the last operation alone says nothing about a suspension before it.
	State runtime.State `json:"d,omitempty"`
	// Cut is true when the document holds no provisioning, so that the operations do not begin at the runtime's begin.
	Cut bool `json:"c,omitempty"`
	// Waiting is true when the document holds operations, all of which are pending or canceled.
	Waiting bool `json:"w,omitempty"`
	// DeletedAt is when the runtime was deleted, in microseconds since 1970; 0 when it was not.
	DeletedAt int64 `json:"x,omitempty"`
}

// markRank orders the types of operations that were created at the same instant: in the order of a runtime's life, those that take the
// cluster away last.
var markRank = map[runtime.OperationType]int{
	runtime.Provision: 0, runtime.UpgradeKyma: 1, runtime.UpgradeCluster: 2, runtime.Update: 3,
	runtime.Unsuspension: 4, runtime.Suspension: 5, runtime.Deprovision: 6,
}

func compareMarks(a, b Mark) int {
	switch {
	case a.At != b.At:
		if a.At < b.At {
			return -1
		}
		return 1
	case a.Type != b.Type:
		return markRank[a.Type] - markRank[b.Type]
	default:
		return strings.Compare(a.ID, b.ID)
	}
}

// markState reads the state word of an operation of a document. It is false for those that have not touched the runtime.
func markState(word string) (State, bool) {
	s, ok := ParseState(word)
	return s, ok && (s == InProgress || s == Succeeded || s == Failed)
}

// RuntimeStates lists the states that a runtime can be in.
var RuntimeStates = []runtime.State{
	runtime.StateSucceeded, runtime.StateFailed, runtime.StateError, runtime.StateProvisioning, runtime.StateDeprovisioning,
	runtime.StateDeprovisioned, runtime.StateDeprovisionIncomplete, runtime.StateUpgrading, runtime.StateUpdating, runtime.StateSuspended,
}

// ParseRuntimeState reads the state word of a runtime in any letter case. Unknown words, and runtime.AllState, which is none, give false.
func ParseRuntimeState(word string) (runtime.State, bool) {
	s := runtime.State(strings.ToLower(word))
	return s, slices.Contains(RuntimeStates, s)
}

// HiddenRuntimeState reports whether a list without a state filter leaves out runtimes in this state.
func HiddenRuntimeState(s runtime.State) bool {
	return s == runtime.StateSuspended || s == runtime.StateDeprovisioned || s == runtime.StateDeprovisionIncomplete
}

// HistoryOf reads the past of a runtime out of its document. A suspension that is listed under deprovisioning too, with the same operation ID,
// is a suspension.
func HistoryOf(doc *runtime.RuntimeDTO) History {
	status := &doc.Status
	h := History{Cut: status.Provisioning == nil}
	if s, ok := ParseRuntimeState(string(status.State)); ok {
		h.State = s
	}
	if status.DeletedAt != nil {
		h.DeletedAt = status.DeletedAt.UnixMicro()
	}
	seen := false
	add := func(t runtime.OperationType, op *runtime.Operation) {
		seen = true
		if s, ok := markState(op.State); ok {
			h.Marks = append(h.Marks, Mark{
				Type: t, State: s, At: op.CreatedAt.UnixMicro(), ID: op.OperationID,
				Leftover: t == runtime.Deprovision && len(op.ExecutedButNotCompletedSteps) > 0,
			})
		}
	}
	addAll := func(t runtime.OperationType, list *runtime.OperationsData, newestOnly bool) {
		if list == nil {
			return
		}
		before := len(h.Marks)
		for i := range list.Data {
			add(t, &list.Data[i])
		}
		if own := h.Marks[before:]; newestOnly && len(own) > 1 {
			own[0] = slices.MaxFunc(own, compareMarks)
			h.Marks = h.Marks[:before+1]
		}
	}
	if status.Provisioning != nil {
		add(runtime.Provision, status.Provisioning)
	}
	addAll(runtime.Suspension, status.Suspension, false)
	addAll(runtime.Unsuspension, status.Unsuspension, false)
	addAll(runtime.UpgradeKyma, status.UpgradingKyma, true)
	addAll(runtime.UpgradeCluster, status.UpgradingCluster, true)
	addAll(runtime.Update, status.Update, true)
	if status.Deprovisioning != nil && !isSuspension(status) {
		add(runtime.Deprovision, status.Deprovisioning)
	}
	slices.SortStableFunc(h.Marks, compareMarks)
	h.Waiting = seen && len(h.Marks) == 0
	return h
}

// isSuspension reports whether the deprovisioning of a document is a suspension that is listed there too.
func isSuspension(status *runtime.RuntimeStatus) bool {
	op := status.Deprovisioning
	if op.Type == runtime.Suspension {
		return true
	}
	if status.Suspension == nil || op.OperationID == "" {
		return false
	}
	return slices.ContainsFunc(status.Suspension.Data, func(s runtime.Operation) bool { return s.OperationID == op.OperationID })
}

// RuntimeOperationType returns the type under which a list of runtimes shows the operations of an orchestration.
func RuntimeOperationType(t orchestration.Type) runtime.OperationType {
	if t == orchestration.UpgradeKymaOrchestration {
		return runtime.UpgradeKyma
	}
	return runtime.UpgradeCluster
}

// Mark returns what the operation means for the state of its runtime. It is false for a dry run and for an operation that has not touched
// the runtime.
func (o *Operation) Mark() (Mark, bool) {
	if o.DryRun || (o.State != InProgress && o.State != Succeeded && o.State != Failed) {
		return Mark{}, false
	}
	return Mark{Type: RuntimeOperationType(o.Type), State: o.State, At: o.touchedAt().UnixMicro(), ID: o.ID}, true
}

// touchedAt is when the operation began to change its runtime.
func (o *Operation) touchedAt() time.Time {
	if o.StartedAt.IsZero() {
		return o.CreatedAt
	}
	return o.StartedAt
}

// DeriveState returns the state of a runtime as the operations of its document and Swell's own ones tell it. An own operation takes the
// place of one with the same ID in the document.
//
// The newest operation decides, with these exceptions. A runtime that was suspended stays suspended, and one that was deprovisioned stays
// deprovisioned, whatever upgrades and updates come after. A suspension that failed has not suspended the runtime. Without any operation the
// state that the document names holds.
func DeriveState(h History, own []Mark) runtime.State {
	marks := slices.Clone(h.Marks)
	var fold stateFold
	if h.Cut && h.State != "" {
		// The operations before those of the document are unknown; what it says about itself is the best there is.
		fold.assume(h.State)
		newest := int64(-1 << 62)
		if len(marks) > 0 {
			newest = marks[len(marks)-1].At
		}
		known := marks
		marks = nil
		for _, m := range own {
			sameID := slices.ContainsFunc(known, func(k Mark) bool { return k.ID != "" && k.ID == m.ID })
			if m.At > newest || sameID {
				marks = append(marks, m)
			}
		}
	} else {
		for _, m := range own {
			if i := slices.IndexFunc(marks, func(k Mark) bool { return k.ID != "" && k.ID == m.ID }); i >= 0 {
				marks[i] = m
			} else {
				marks = append(marks, m)
			}
		}
	}
	slices.SortStableFunc(marks, compareMarks)
	for _, m := range marks {
		fold.add(m)
	}
	switch {
	case fold.state != "":
		return fold.state
	case h.State != "":
		return h.State
	case h.Waiting:
		return runtime.StateProvisioning
	default:
		return runtime.StateSucceeded
	}
}

// stateFold goes through the operations of a runtime in the order of time.
type stateFold struct {
	state runtime.State
	// away is the state of a runtime without a cluster: suspended or one of the two deprovisioned states. Empty while there is a cluster.
	away runtime.State
}

func (f *stateFold) assume(s runtime.State) {
	f.state = s
	if HiddenRuntimeState(s) {
		f.away = s
	}
}

func (f *stateFold) add(m Mark) {
	switch m.Type {
	case runtime.Provision, runtime.Unsuspension:
		switch m.State {
		case InProgress:
			f.state = runtime.StateProvisioning
		case Failed:
			f.state = runtime.StateFailed
		default:
			f.state, f.away = runtime.StateSucceeded, ""
		}
	case runtime.Suspension, runtime.Deprovision:
		switch m.State {
		case InProgress:
			f.state = runtime.StateDeprovisioning
		case Failed:
			f.state = runtime.StateFailed
		default:
			f.away = runtime.StateSuspended
			if m.Type == runtime.Deprovision {
				f.away = runtime.StateDeprovisioned
				if m.Leftover {
					f.away = runtime.StateDeprovisionIncomplete
				}
			}
			f.state = f.away
		}
	case runtime.UpgradeKyma, runtime.UpgradeCluster, runtime.Update:
		switch {
		case f.away != "":
			f.state = f.away
		case m.State == InProgress && m.Type == runtime.Update:
			f.state = runtime.StateUpdating
		case m.State == InProgress:
			f.state = runtime.StateUpgrading
		case m.State == Failed:
			f.state = runtime.StateError
		default:
			f.state = runtime.StateSucceeded
		}
	}
}
