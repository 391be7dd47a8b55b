package fleet

import (
	"time"

	"github.com/swell-fleet/swell/orchestration"
)

// WaitReason says why a pending operation does not run yet, and until when; zero where that is not known. Of several reasons the first in this
// order counts: the deferral, the window, the busy runtime, the backend, the number of workers. It is empty for operations that
// are not pending and for those that may start at this moment.
func WaitReason(view OperationView, o *Orchestration, now time.Time, backendDown bool) (orchestration.WaitReason, time.Time) {
	op := &view.Operation
	if op.State != Pending || o.State.Ended() || o.State == Canceling {
		return "", time.Time{}
	}
	notBefore := o.NotBefore
	if op.NotBefore.After(notBefore) {
		notBefore = op.NotBefore
	}
	if notBefore.After(now) {
		return orchestration.WaitNotBefore, notBefore
	}
	if !op.WindowOpen(now) {
		if !op.WindowPast(now) {
			return orchestration.WaitWindow, op.WindowBegin
		}
		// The move to the next window is about to be stored; it may be open already.
		next, err := op.NextWindow(now)
		if err != nil {
			return orchestration.WaitWindow, time.Time{}
		}
		if next.Begin.After(now) {
			return orchestration.WaitWindow, next.Begin
		}
	}
	switch {
	case view.RuntimeBusy:
		return orchestration.WaitRuntimeBusy, time.Time{}
	case backendDown:
		return orchestration.WaitBackendUnavailable, time.Time{}
	case o.FreeWorkers() == 0:
		return orchestration.WaitWorkerLimit, time.Time{}
	default:
		return "", time.Time{}
	}
}
