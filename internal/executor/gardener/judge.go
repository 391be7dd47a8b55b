package gardener

import (
	"fmt"
	"strconv"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// farLook is how long to wait for the next look while nothing can happen before a window opens. A watch wakes the operation earlier.
const farLook = 5 * time.Minute

// unreachable says whether the Shoot may not be changed at all, or is not the runtime that the operation is about.
func unreachable(t fleet.Task, m memo, shoot *gardencorev1beta1.Shoot) (fleet.Result, bool) {
	if shoot.DeletionTimestamp != nil {
		return gone(fmt.Sprintf("the Shoot %s is being deleted", shoot.Name)), true
	}
	switch id := runtimeID(shoot); {
	case t.RuntimeID == "" || id == t.RuntimeID:
	case id == "":
		return gone(fmt.Sprintf("the Shoot %s does not carry a runtime ID any more", shoot.Name)), true
	default:
		return gone(fmt.Sprintf("the Shoot %s belongs to another runtime now: %s", shoot.Name, oneLine(id))), true
	}
	if m.UID != "" && m.UID != shoot.UID {
		return gone(fmt.Sprintf("the Shoot %s was deleted and another one was created under its name", shoot.Name)), true
	}
	if !t.Sent && m.Generation == 0 && ignored(shoot) {
		return refused(fmt.Sprintf("the Shoot is ignored by Gardener: it has the annotation %s", constants.ShootIgnore)), true
	}
	return fleet.Result{}, false
}

func ignored(shoot *gardencorev1beta1.Shoot) bool {
	value, err := strconv.ParseBool(shoot.Annotations[constants.ShootIgnore])
	return err == nil && value
}

func runtimeID(shoot *gardencorev1beta1.Shoot) string {
	if id := shoot.Annotations[orchestration.RuntimeIDAnnotation]; id != "" {
		return id
	}
	return shoot.Annotations[orchestration.InfrastructureManagerRuntimeIDAnnotation]
}

// judge says how an operation stands, from the Shoot's specification and status, and what is to be kept of it.
func judge(t fleet.Task, shoot *gardencorev1beta1.Shoot, m memo, want change) (fleet.Result, memo) {
	if !want.in(shoot) {
		if m.Generation != 0 {
			// One operation writes a specification once: what came after is somebody's decision.
			return refused(fmt.Sprintf("somebody changed the Shoot after %s was written: it has %s now", want.words(), wordsOf(shoot))), m
		}
		return fleet.Result{Outcome: fleet.NeedsStart, Sent: t.Sent}, m
	}
	if t.DryRun {
		return judgeDryRun(t, shoot, want), m
	}
	m, seen := observed(shoot, m)
	following := fleet.Result{Outcome: fleet.Again, Sent: t.Sent, Description: progress(shoot)}
	if m.Rollout != nil && !m.Rollout.Begin.After(t.Now) {
		// Nobody may have looked since long before the window, and the limit would have passed meanwhile.
		following.TimeLimitFrom = m.Rollout.Begin
	}
	if !seen {
		return waiting(t, shoot, m, following)
	}
	last := shoot.Status.LastOperation
	if last == nil {
		following.Description = "waiting for Gardener to begin"
		return following, m
	}
	switch last.State {
	case gardencorev1beta1.LastOperationStateSucceeded:
		if last.Type != gardencorev1beta1.LastOperationTypeCreate && last.Type != gardencorev1beta1.LastOperationTypeReconcile {
			return following, m
		}
		return fleet.Result{Outcome: fleet.Done, Sent: t.Sent, Stage: "shoot_reconciled", Description: done(shoot, want)}, m
	case gardencorev1beta1.LastOperationStateFailed, gardencorev1beta1.LastOperationStateAborted:
		return failed(t, shoot, m, following), m
	case gardencorev1beta1.LastOperationStateProcessing, gardencorev1beta1.LastOperationStatePending, gardencorev1beta1.LastOperationStateError:
		return following, m
	default:
		return following, m
	}
}

// judgeDryRun judges a Shoot whose specification has what is wanted. A dry run follows nothing: it says what would be written.
func judgeDryRun(t fleet.Task, shoot *gardencorev1beta1.Shoot, want change) fleet.Result {
	if last := shoot.Status.LastOperation; last != nil && !seesRetry(shoot) &&
		(last.State == gardencorev1beta1.LastOperationStateFailed || last.State == gardencorev1beta1.LastOperationStateAborted) {
		return fleet.Result{Outcome: fleet.NeedsStart}
	}
	return fleet.Result{Outcome: fleet.Done, Sent: t.Sent, Description: "dry run: the Shoot already " + done(shoot, want) + "; nothing would be written"}
}

// waiting describes an operation whose change Gardener has not taken up yet.
func waiting(t fleet.Task, shoot *gardencorev1beta1.Shoot, m memo, following fleet.Result) (fleet.Result, memo) {
	following.Description = "waiting for Gardener to begin"
	if ignored(shoot) {
		following.Description = fmt.Sprintf("waiting for Gardener, which ignores the Shoot: it has the annotation %s", constants.ShootIgnore)
		return following, m
	}
	if m.Rollout == nil {
		return following, m
	}
	planned := m.Rollout.plan(shoot, t.Now)
	m.Rollout = &planned
	if wait := planned.Begin.Sub(t.Now); wait > 0 {
		following.Description = "Gardener rolls changes of this Shoot out in its own maintenance window only, next from " + planned.Begin.Format(time.RFC3339)
		// The time limit counts from the window on; until then it begins anew with every look.
		following.TimeLimitFrom = planned.Begin
		following.After = min(wait, farLook)
	}
	return following, m
}

// failed tells a failure of our run, which is final, from one that was there before: then Gardener is told to try again, once.
func failed(t fleet.Task, shoot *gardencorev1beta1.Shoot, m memo, following fleet.Result) fleet.Result {
	if m.Generation != 0 || lastUpdate(shoot).After(t.StartedAt) {
		return refused(failure(shoot))
	}
	if seesRetry(shoot) {
		return following
	}
	return fleet.Result{Outcome: fleet.NeedsStart, Sent: t.Sent}
}

// seesRetry reports whether Gardener has been told to try again and has not done so yet.
func seesRetry(shoot *gardencorev1beta1.Shoot) bool {
	return shoot.Annotations[constants.GardenerOperation] != "" || shoot.Annotations[constants.FailedShootNeedsRetryOperation] == "true"
}

func lastUpdate(shoot *gardencorev1beta1.Shoot) time.Time {
	if shoot.Status.LastOperation == nil || shoot.Status.LastOperation.LastUpdateTime.IsZero() {
		return time.Time{}
	}
	return shoot.Status.LastOperation.LastUpdateTime.UTC()
}

// observed says whether the status speaks about the wanted specification, and what is known of the rollout then. After a write of ours
// that is told by the generation; without one every change of the specification up to now counts. A change that did not raise the generation
// is followed by its rollout.
func observed(shoot *gardencorev1beta1.Shoot, m memo) (memo, bool) {
	if m.Rollout != nil {
		now, seen := m.Rollout.seen(shoot)
		m.Rollout = &now
		return m, seen
	}
	if m.Generation != 0 {
		return m, shoot.Status.ObservedGeneration >= m.Generation
	}
	if shoot.Status.ObservedGeneration < shoot.Generation {
		return m, false
	}
	if at := versionWrittenAt(shoot); confinesRollout(shoot) && !at.IsZero() && !at.Before(lastUpdate(shoot)) {
		m.Rollout = newRollout(shoot)
		return m, false
	}
	return m, true
}
