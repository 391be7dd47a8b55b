package gardener

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/verdict"
)

// lookAgain is how long to wait before a Shoot is looked at again that somebody else has just changed.
const lookAgain = time.Second

// afterWrite turns the refusal of a write into what follows from it: look again after a conflict, give up when Gardener judges the change
// to be wrong, and repeat what may pass.
func afterWrite(t fleet.Task, err error) (fleet.Result, error) {
	err = verdict.OfWrite(err)
	switch {
	case apierrors.IsConflict(err):
		return fleet.Result{Outcome: fleet.Again, After: lookAgain, NextObserve: true, Description: "the Shoot was changed by somebody else; looking again"}, nil
	case apierrors.IsNotFound(err):
		return afterRead(t, err)
	case errors.Is(err, fleet.ErrNoAccess), verdict.Foreign(err):
		return fleet.Result{}, fmt.Errorf("write the Shoot: %w", err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err), apierrors.IsRequestEntityTooLargeError(err):
		return refused("Gardener refuses the change: " + oneLine(err.Error())), nil
	default:
		return fleet.Result{}, fmt.Errorf("write the Shoot: %w", err)
	}
}

// afterRead tells a Shoot that is gone from one that cannot be read now.
func afterRead(t fleet.Task, err error) (fleet.Result, error) {
	if absent(err, t.ShootName) {
		return gone(fmt.Sprintf("the Shoot %s does not exist any more", t.ShootName)), nil
	}
	return fleet.Result{}, fmt.Errorf("read the Shoot: %w", verdict.OfRead(err))
}

// absent reports whether Gardener itself says that it has nothing of this name. A 404 of something in between, such as a gateway that
// has lost its backend, says nothing about a Shoot.
func absent(err error, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || verdict.Foreign(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == name
}

func refused(reason string) fleet.Result {
	return fleet.Result{Outcome: fleet.Refused, Reason: reason, Description: reason}
}

func gone(reason string) fleet.Result {
	return fleet.Result{Outcome: fleet.Gone, Reason: reason, Description: reason}
}
