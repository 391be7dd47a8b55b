package gardener

import (
	"encoding/json"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/swell-fleet/swell/internal/window"
)

// rollout follows a change of the specification that did not raise the generation. So it is with Shoots that confine rollouts to their
// maintenance window: Gardener takes the change up with the next reconciliation that begins inside one. Either that is one of the same generation,
// or Gardener's own maintenance raises the generation to bring it about.
type rollout struct {
	// Generation is the generation that the change was written into.
	Generation int64 `json:"generation"`
	// Before is the operation that the status showed when the change was written. While it is the last one nothing was rolled out.
	Before operation `json:"before"`
	// Begin is the begin of the window in which the rollout is expected; zero when there is no window to wait for.
	Begin time.Time `json:"begin,omitzero"`
	// Planned is true once Begin has been computed.
	Planned bool `json:"planned,omitempty"`
}

// operation is a last operation of a Shoot, as far as one can be told from another.
type operation struct {
	Type  gardencorev1beta1.LastOperationType  `json:"type,omitempty"`
	State gardencorev1beta1.LastOperationState `json:"state,omitempty"`
	At    time.Time                            `json:"at,omitzero"`
}

func operationOf(shoot *gardencorev1beta1.Shoot) operation {
	last := shoot.Status.LastOperation
	if last == nil {
		return operation{}
	}
	return operation{Type: last.Type, State: last.State, At: lastUpdate(shoot)}
}

// runs reports whether the operation has not ended. Gardener tries again by itself after an error.
func (o operation) runs() bool {
	switch o.State {
	case gardencorev1beta1.LastOperationStateProcessing, gardencorev1beta1.LastOperationStatePending, gardencorev1beta1.LastOperationStateError:
		return true
	case gardencorev1beta1.LastOperationStateSucceeded, gardencorev1beta1.LastOperationStateFailed, gardencorev1beta1.LastOperationStateAborted:
		return false
	default:
		return false
	}
}

// newRollout begins to follow a change that was written into a Shoot whose status is the given one.
func newRollout(shoot *gardencorev1beta1.Shoot) *rollout {
	return &rollout{Generation: shoot.Generation, Before: operationOf(shoot)}
}

// seen looks whether the status speaks about the change, and returns what is known then. An operation that ran already when the change was
// written ends without it, so the one after it is waited for.
func (r rollout) seen(shoot *gardencorev1beta1.Shoot) (rollout, bool) {
	if shoot.Status.ObservedGeneration > r.Generation {
		return r, true
	}
	now := operationOf(shoot)
	if !r.Before.runs() {
		return r, now != r.Before && shoot.Status.ObservedGeneration == r.Generation
	}
	if !now.runs() {
		r.Before, r.Begin, r.Planned = now, time.Time{}, false
	}
	return r, false
}

// plan returns the rollout with the window in which it is expected, computed once.
func (r rollout) plan(shoot *gardencorev1beta1.Shoot, now time.Time) rollout {
	if r.Planned {
		return r
	}
	r.Planned, r.Begin = true, nextRollout(shoot, now)
	return r
}

// nextRollout returns the begin of the next window in which Gardener rolls changes of the Shoot out; zero when it may do so now. It reconciles a Shoot
// once in each window, so a window in which it has done so is over for this purpose.
func nextRollout(shoot *gardencorev1beta1.Shoot, now time.Time) time.Time {
	w, ok := shootWindow(shoot)
	if !ok || !confinesRollout(shoot) {
		return time.Time{}
	}
	next, ok := w.Next(now)
	if ok && next.Contains(now) {
		if last := operationOf(shoot); last.runs() || !next.Contains(last.At) {
			return time.Time{}
		}
		next, ok = w.Next(next.End)
	}
	if !ok {
		return time.Time{}
	}
	return next.Begin
}

// shootWindow returns the Shoot's own maintenance window; false when it has none that can be read.
func shootWindow(shoot *gardencorev1beta1.Shoot) (window.Window, bool) {
	mt := shoot.Spec.Maintenance
	if mt == nil || mt.TimeWindow == nil {
		return window.Window{}, false
	}
	w, err := window.Parse(mt.TimeWindow.Begin, mt.TimeWindow.End, nil)
	return w, err == nil
}

// windowOpen reports whether Gardener may work on a Shoot with confined rollouts now. Without a readable window it always may.
func windowOpen(shoot *gardencorev1beta1.Shoot, now time.Time) bool {
	w, ok := shootWindow(shoot)
	if !ok {
		return true
	}
	next, ok := w.Next(now)
	return ok && next.Contains(now)
}

func confinesRollout(shoot *gardencorev1beta1.Shoot) bool {
	mt := shoot.Spec.Maintenance
	return mt != nil && mt.ConfineSpecUpdateRollout != nil && *mt.ConfineSpecUpdateRollout
}

// versionWrittenAt returns when the Kubernetes version was last written, as the Shoot's managed fields tell; zero when they do not. Shoots from
// the informer's cache have none.
func versionWrittenAt(shoot *gardencorev1beta1.Shoot) time.Time {
	var at time.Time
	for _, entry := range shoot.ManagedFields {
		if entry.FieldsV1 == nil || entry.Time == nil || entry.Subresource != "" || !entry.Time.After(at) {
			continue
		}
		var fields struct {
			Spec struct {
				Kubernetes struct {
					Version *struct{} `json:"f:version"`
				} `json:"f:kubernetes"`
			} `json:"f:spec"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && fields.Spec.Kubernetes.Version != nil {
			at = entry.Time.UTC()
		}
	}
	return at
}
