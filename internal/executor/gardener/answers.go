package gardener

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/internal/fleet"
)

// lookAgain is how long to wait before a Shoot is looked at again that somebody else has just changed.
const lookAgain = time.Second

// afterWrite turns the refusal of a write into what follows from it: look again after a conflict, give up when Gardener judges the change
// to be wrong, and repeat what may pass.
func afterWrite(t fleet.Task, err error) (fleet.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return fleet.Result{Outcome: fleet.Again, After: lookAgain, NextObserve: true, Description: "the Shoot was changed by somebody else; looking again"}, nil
	case apierrors.IsNotFound(err):
		return afterRead(t, err)
	case lacksPermission(err), unexpected(err):
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
	return fleet.Result{}, fmt.Errorf("read the Shoot: %w", err)
}

// absent reports whether Gardener itself says that it has nothing of this name. A 404 of something in between, such as a gateway that
// has lost its backend, says nothing about a Shoot.
func absent(err error, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || unexpected(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == name
}

// unexpected reports whether the answer did not come in the form that Gardener's errors have.
func unexpected(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}

// lacksPermission reports whether the program may not do at all what it was about to do, as opposed to an admission that judges this change.
// Roles are mended by people, after which the operation goes on; a fleet must not fail because of one.
func lacksPermission(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ") && strings.Contains(err.Error(), " in API group ")
}

func refused(reason string) fleet.Result {
	return fleet.Result{Outcome: fleet.Refused, Reason: reason, Description: reason}
}

func gone(reason string) fleet.Result {
	return fleet.Result{Outcome: fleet.Gone, Reason: reason, Description: reason}
}
