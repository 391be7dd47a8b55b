package gardenlet

import (
	"context"
	"strconv"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// run is one reconciliation under way.
type run struct {
	uid     types.UID
	kind    gardencorev1beta1.LastOperationType
	outcome faults.Outcome
	// began and lasting are times of the simulated clock.
	began   time.Time
	lasting time.Duration
	// step is how many progress reports have been made.
	step int
	// errors is how often the run has gone to state Error.
	errors int
	// waiting says that the run is in state Error, until resume.
	waiting bool
	resume  time.Time
}

// reconcile does the next thing that is due for the Shoot and returns in how much
// real time something will be due without any change of the Shoot. 0: nothing.
func (g *Gardenlet) reconcile(ctx context.Context, f *fleet, shoot *gardencorev1beta1.Shoot) (time.Duration, error) {
	if current := f.run(shoot); current != nil {
		return g.advance(ctx, f, current, shoot)
	}
	kind, wait := f.due(shoot)
	if kind == "" {
		return wait, g.annotations(ctx, f, shoot)
	}
	current := f.newRun(shoot, kind)
	if err := g.begin(ctx, f, current, shoot); err != nil {
		return 0, err
	}
	f.began(shoot.Name, current)
	return f.untilNext(current), nil
}

func (f *fleet) run(shoot *gardencorev1beta1.Shoot) *run {
	f.mu.Lock()
	defer f.mu.Unlock()
	current := f.runs[shoot.Name]
	if current != nil && current.uid != shoot.UID {
		// It was removed and made anew under the same name.
		delete(f.runs, shoot.Name)
		delete(f.hits, shoot.Name)
		return nil
	}
	return current
}

func (f *fleet) newRun(shoot *gardencorev1beta1.Shoot, kind gardencorev1beta1.LastOperationType) *run {
	f.mu.Lock()
	defer f.mu.Unlock()
	spread := 0.5 + faults.Draw(f.settings.Plan.Seed, "time", shoot.Name, strconv.FormatInt(shoot.Generation, 10))
	outcome := faults.Succeed
	if kind != gardencorev1beta1.LastOperationTypeDelete {
		outcome = f.settings.Plan.Outcome(shoot.Name, f.hits[shoot.Name])
	}
	return &run{
		uid: shoot.UID, kind: kind, outcome: outcome, began: f.nowLocked(),
		lasting: time.Duration(float64(f.settings.ReconcileTime) * spread),
	}
}

func (f *fleet) began(shoot string, current *run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs[shoot] = current
	if current.outcome != faults.Succeed {
		f.hits[shoot]++
	}
}

func (f *fleet) end(shoot string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.runs, shoot)
}

// due returns what kind of operation has to begin now, or else in how much real
// time that has to be asked again.
func (f *fleet) due(shoot *gardencorev1beta1.Shoot) (gardencorev1beta1.LastOperationType, time.Duration) {
	ignored, _ := strconv.ParseBool(shoot.Annotations[v1beta1constants.ShootIgnore])
	last := shoot.Status.LastOperation
	upToDate := shoot.Generation == shoot.Status.ObservedGeneration
	failed := last != nil && last.State == gardencorev1beta1.LastOperationStateFailed && upToDate
	switch {
	case ignored || failed:
		return "", 0
	case shoot.DeletionTimestamp != nil:
		return gardencorev1beta1.LastOperationTypeDelete, 0
	case last == nil || last.Type == gardencorev1beta1.LastOperationTypeCreate && last.State != gardencorev1beta1.LastOperationStateSucceeded:
		return gardencorev1beta1.LastOperationTypeCreate, 0
	case !upToDate || last.State != gardencorev1beta1.LastOperationStateSucceeded:
		return gardencorev1beta1.LastOperationTypeReconcile, 0
	case !confined(shoot):
		return "", 0
	}
	open, wait := windowOf(shoot, f.now())
	if open {
		return gardencorev1beta1.LastOperationTypeReconcile, 0
	}
	return "", f.real(wait)
}

// annotations carries out the operations that the API server leaves to the
// controllers: an extra maintenance, and the retry that a confined Shoot is
// owed in its next window.
func (g *Gardenlet) annotations(ctx context.Context, f *fleet, shoot *gardencorev1beta1.Shoot) error {
	last := shoot.Status.LastOperation
	failed := last != nil && last.State == gardencorev1beta1.LastOperationStateFailed
	operation := v1beta1constants.GardenerOperationReconcile
	if failed {
		operation = v1beta1constants.ShootOperationRetry
	}
	switch {
	case shoot.Annotations[v1beta1constants.GardenerOperation] == v1beta1constants.ShootOperationMaintain:
	case failed && shoot.Annotations[v1beta1constants.FailedShootNeedsRetryOperation] == "true" && within(shoot, f.now()):
	default:
		return nil
	}
	changed := shoot.DeepCopy()
	changed.Annotations[v1beta1constants.GardenerOperation] = operation
	delete(changed.Annotations, v1beta1constants.FailedShootNeedsRetryOperation)
	updated, err := g.client.CoreV1beta1().Shoots(shoot.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	f.wrote(updated)
	g.enqueue(updated)
	return nil
}

// untilNext returns in how much real time the run has its next report to make. 0:
// never, it is stuck.
func (f *fleet) untilNext(current *run) time.Duration {
	f.mu.Lock()
	steps, now := f.settings.Steps, f.nowLocked()
	f.mu.Unlock()
	if current.waiting {
		return f.real(current.resume.Sub(now))
	}
	if current.outcome == faults.Stuck && current.step > steps/2 {
		return 0
	}
	return f.real(current.dueAt(steps).Sub(now))
}

// dueAt returns when the run makes its next report: progress after equal parts
// of its time, and the end at its end. A run that fails, or errs, does so half
// way through.
func (r *run) dueAt(steps int) time.Time {
	share := float64(r.step+1) / float64(steps+1)
	if (r.outcome == faults.Fail || r.outcome == faults.Recover) && share > 0.5 {
		share = 0.5
	}
	return r.began.Add(time.Duration(share * float64(r.lasting)))
}
