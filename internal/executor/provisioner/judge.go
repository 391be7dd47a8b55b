package provisioner

import (
	"fmt"
	"strings"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/fleet"
)

// judge says how an operation stands whose counterpart at the Provisioner is not known by ID. The order of the questions matters: whether the
// runtime is being removed, what is ours, what runs, what is there already, and only then what to start.
func (e *Executor) judge(t fleet.Task, m memo, status *Status) fleet.Result {
	last, want := status.LastOperationStatus, wanted(t)
	if removes(last) {
		return gone(fmt.Sprintf("the runtime is being removed or was removed (%s, %s)", last.Operation, last.State))
	}
	has := e.kind.has(status, want)
	if t.DryRun {
		return e.rehearse(status, want, has)
	}
	if follows(m, last, e.kind, has) {
		m.Operation = last.Id
		r := e.follow(t, m, last)
		e.kind.describe(&r, status, want)
		return r
	}
	if running(last) {
		return fleet.Result{
			Outcome: fleet.Again, NextObserve: true, After: e.checkEvery, Sent: t.Sent, Version: want.version,
			Description: fleet.Line(fmt.Sprintf("the Provisioner is busy with another operation on the runtime (%s, %s)", last.Operation, last.State)),
		}
	}
	if has && !failed(last, e.kind) {
		r := fleet.Result{Outcome: fleet.Done, Sent: t.Sent, Version: want.version, Description: "already has " + want.String()}
		e.kind.describe(&r, status, want)
		return r
	}
	if refusal := e.kind.refuses(status); refusal != "" {
		return refused(refusal)
	}
	r := fleet.Result{Outcome: fleet.NeedsStart, Sent: t.Sent, Version: want.version}
	e.kind.describe(&r, status, want)
	return r
}

// rehearse says what a real run would do now. The Provisioner has no dry run of its own, so nothing is sent.
func (e *Executor) rehearse(status *Status, want target, has bool) fleet.Result {
	last := status.LastOperationStatus
	if refusal := e.kind.refuses(status); refusal != "" {
		return refused(refusal)
	}
	r := fleet.Result{Outcome: fleet.Done, Version: want.version}
	switch {
	case running(last) && last.Operation == e.kind.operation() && has:
		r.Description = "dry run: the Provisioner is already upgrading to " + want.String()
	case running(last):
		r.Description = fmt.Sprintf("dry run: the Provisioner would be asked for %s after the operation that it is busy with (%s)", want, last.Operation)
	case has && !failed(last, e.kind):
		r.Description = "dry run: already has " + want.String()
	default:
		r.Description = "dry run: the Provisioner would be asked for " + want.String()
	}
	r.Description = fleet.Line(r.Description + "; nothing was changed")
	e.kind.describe(&r, status, want)
	return r
}

// follows says whether the newest operation is to be followed: it runs and does what is wanted, or it has appeared since we looked, so that it
// answers our request. Of those that have appeared and failed the configuration says nothing, since the Provisioner may have taken it back; they count as ours,
// because starting a second upgrade would be worse than a wrong failure.
func follows(m memo, last *Operation, k kind, has bool) bool {
	if last == nil || last.Id == "" || last.Operation != k.operation() {
		return false
	}
	appeared := m.Watched && last.Id != m.Before
	if running(last) {
		return has
	}
	return appeared && (has || last.State == gqlschema.OperationStateFailed)
}

// running reports whether an operation has not ended. A state that is not known is one of a newer Provisioner and says nothing about the end.
func running(last *Operation) bool {
	if last == nil {
		return false
	}
	switch last.State {
	case gqlschema.OperationStateSucceeded, gqlschema.OperationStateFailed:
		return false
	case gqlschema.OperationStatePending, gqlschema.OperationStateInProgress:
		return true
	default:
		return true
	}
}

// failed says whether the newest operation was an upgrade of this kind that failed, so that having the version in the configuration means nothing.
func failed(last *Operation, k kind) bool {
	return last != nil && last.Operation == k.operation() && last.State == gqlschema.OperationStateFailed
}

// removes says whether the newest operation takes the runtime away.
func removes(last *Operation) bool {
	return last != nil && (last.Operation == gqlschema.OperationTypeDeprovision || last.Operation == gqlschema.OperationTypeDeprovisionNoInstall)
}

func idOf(last *Operation) string {
	if last == nil {
		return ""
	}
	return last.Id
}

// follow turns the state of the Provisioner's operation into that of ours.
func (e *Executor) follow(t fleet.Task, m memo, op *Operation) fleet.Result {
	r := fleet.Result{Sent: true, Memo: m.raw(), Version: wanted(t).version, Description: fleet.Line(op.Message)}
	switch op.State {
	case gqlschema.OperationStateSucceeded:
		r.Outcome, r.Stage = fleet.Done, finishedStage
		r.Description = "has " + wanted(t).String()
	case gqlschema.OperationStateFailed:
		r.Outcome, r.Reason = fleet.Refused, reason(op)
		r.Description = r.Reason
	case gqlschema.OperationStatePending, gqlschema.OperationStateInProgress:
		r.Outcome, r.After = fleet.Again, e.checkEvery
	default:
		r.Outcome, r.After = fleet.Again, e.checkEvery
		r.Description = fleet.Line(fmt.Sprintf("in the state %q, which is not known; waiting for its end: %s", op.State, op.Message))
	}
	return r
}

// reason says why the Provisioner's operation failed.
func reason(op *Operation) string {
	text := op.Message
	if e := op.LastError; e != nil && e.ErrMessage != "" {
		text = e.ErrMessage
		var details []string
		if e.Reason != "" {
			details = append(details, "reason "+e.Reason)
		}
		if e.Component != "" {
			details = append(details, "component "+e.Component)
		}
		if len(details) > 0 {
			text += " (" + strings.Join(details, ", ") + ")"
		}
	}
	if text == "" {
		text = "no reason is given"
	}
	return fleet.Line("the Provisioner's operation failed: " + text)
}

func refused(reason string) fleet.Result {
	reason = fleet.Line(reason)
	return fleet.Result{Outcome: fleet.Refused, Reason: reason, Description: reason}
}

func gone(reason string) fleet.Result {
	reason = fleet.Line(reason)
	return fleet.Result{Outcome: fleet.Gone, Reason: reason, Description: reason}
}
