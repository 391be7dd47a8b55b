package gardenlet

import (
	"context"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// begin reports that an operation starts. The generation that it works on is
// observed in the same write, so that it fails if the Shoot has changed since.
func (g *Gardenlet) begin(ctx context.Context, f *fleet, current *run, shoot *gardencorev1beta1.Shoot) error {
	changed := shoot.DeepCopy()
	started(changed, current.kind, f.now())
	updated, err := g.client.CoreV1beta1().Shoots(shoot.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	f.wrote(updated)
	return nil
}

// advance makes the report that is due, if one is.
func (g *Gardenlet) advance(ctx context.Context, f *fleet, current *run, shoot *gardencorev1beta1.Shoot) (time.Duration, error) {
	f.mu.Lock()
	settings, now := f.settings, f.nowLocked()
	if current.outcome == faults.Stuck {
		// The plan may have changed since.
		current.outcome = settings.Plan.Outcome(shoot.Name, max(0, f.hits[shoot.Name]-1))
	}
	f.mu.Unlock()

	if current.waiting {
		if now.Before(current.resume) {
			return f.untilNext(current), nil
		}
		return g.again(ctx, f, current, shoot, settings)
	}
	if current.outcome == faults.Stuck && current.step > settings.Steps/2 {
		return 0, nil
	}
	if now.Before(current.dueAt(settings.Steps)) {
		return f.untilNext(current), nil
	}
	half := now.Sub(current.began) >= current.lasting/2
	switch {
	case half && current.outcome == faults.Fail:
		return 0, g.fail(ctx, f, shoot, settings)
	case half && current.outcome == faults.Recover:
		return g.err(ctx, f, current, shoot, settings)
	case current.step >= settings.Steps && current.outcome != faults.Stuck:
		return 0, g.succeed(ctx, f, current, shoot)
	}
	current.step++
	err := g.report(ctx, f, shoot, func(s *gardencorev1beta1.Shoot) {
		progress(s, current.step, settings.Steps+1, f.now())
	})
	return f.untilNext(current), err
}

func (g *Gardenlet) succeed(ctx context.Context, f *fleet, current *run, shoot *gardencorev1beta1.Shoot) error {
	if err := g.report(ctx, f, shoot, func(s *gardencorev1beta1.Shoot) { succeeded(s, f.now()) }); err != nil {
		return err
	}
	f.end(shoot.Name)
	if current.kind == gardencorev1beta1.LastOperationTypeDelete {
		return g.release(ctx, shoot)
	}
	g.enqueue(shoot)
	return nil
}

func (g *Gardenlet) fail(ctx context.Context, f *fleet, shoot *gardencorev1beta1.Shoot, settings Settings) error {
	err := g.report(ctx, f, shoot, func(s *gardencorev1beta1.Shoot) {
		failed(s, gardencorev1beta1.LastOperationStateFailed, failureCodes(settings.Plan, shoot.Name), f.now())
	})
	if err != nil {
		return err
	}
	f.end(shoot.Name)
	g.enqueue(shoot)
	return nil
}

// err reports state Error and has the run tried again after a while, as the real
// gardenlet does with errors that may pass.
func (g *Gardenlet) err(ctx context.Context, f *fleet, current *run, shoot *gardencorev1beta1.Shoot, settings Settings) (time.Duration, error) {
	err := g.report(ctx, f, shoot, func(s *gardencorev1beta1.Shoot) {
		failed(s, gardencorev1beta1.LastOperationStateError, passingCodes(settings.Plan, shoot.Name), f.now())
	})
	if err != nil {
		return 0, err
	}
	current.errors++
	current.waiting = true
	current.resume = f.now().Add(current.lasting / 2)
	return f.untilNext(current), nil
}

// again starts the run over after an error.
func (g *Gardenlet) again(ctx context.Context, f *fleet, current *run, shoot *gardencorev1beta1.Shoot, settings Settings) (time.Duration, error) {
	if err := g.begin(ctx, f, current, shoot); err != nil {
		return 0, err
	}
	current.waiting, current.step, current.began = false, 0, f.now()
	if current.errors >= settings.Plan.ErrorTimes() {
		current.outcome = faults.Succeed
	}
	return f.untilNext(current), nil
}

// report changes the status. When somebody else has written in between, it does
// so on the newest version: a run that has begun goes on whatever the spec says
// by now, and what it has observed stays as it was.
func (g *Gardenlet) report(ctx context.Context, f *fleet, shoot *gardencorev1beta1.Shoot, change func(*gardencorev1beta1.Shoot)) error {
	shoots := g.client.CoreV1beta1().Shoots(shoot.Namespace)
	changed := shoot.DeepCopy()
	for {
		if f.isHeld(shoot.Name) {
			return nil
		}
		change(changed)
		updated, err := shoots.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
		if err == nil {
			f.wrote(updated)
			return nil
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		if changed, err = shoots.Get(ctx, shoot.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if changed.UID != shoot.UID {
			return apierrors.NewNotFound(gardencorev1beta1.Resource("shoots"), shoot.Name)
		}
	}
}

// release lets a Shoot go whose deletion has succeeded.
func (g *Gardenlet) release(ctx context.Context, shoot *gardencorev1beta1.Shoot) error {
	shoots := g.client.CoreV1beta1().Shoots(shoot.Namespace)
	for {
		newest, err := shoots.Get(ctx, shoot.Name, metav1.GetOptions{})
		if err != nil {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		}
		newest.Finalizers = slices.DeleteFunc(newest.Finalizers, func(name string) bool { return name == gardencorev1beta1.GardenerName })
		if _, err = shoots.Update(ctx, newest, metav1.UpdateOptions{}); err == nil || !apierrors.IsConflict(err) {
			return err
		}
	}
}
