package verdict

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/internal/fleet"
)

// OfWrite makes a refusal of access known: the error that it returns wraps err and, when the server does not let the program in or not do such a
// thing at all, fleet.ErrNoAccess, with what is missing. A change that admission judged to be wrong is none, nor is any other error; they are
// returned as they are. In doubt it is the access: people mend that, and a fleet must not fail because of it.
func OfWrite(err error) error {
	if apierrors.IsForbidden(err) && byAdmission(err) && !lacksRight(err) {
		return err
	}
	return OfRead(err)
}

// OfRead is OfWrite for requests that change nothing, which no admission judges.
func OfRead(err error) error {
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: the credentials are not accepted: %w", fleet.ErrNoAccess, err)
	case apierrors.IsForbidden(err) && lacksRight(err):
		return fmt.Errorf("%w: a right is missing: %w", fleet.ErrNoAccess, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: %w", fleet.ErrNoAccess, err)
	default:
		return err
	}
}

// Foreign reports whether the answer did not come in the form that API servers give their errors, as that of a gateway.
func Foreign(err error) bool {
	status, ok := statusOf(err)
	return ok && status.Details != nil &&
		slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}

// authorizer is how the authorizing part of every API server says no, whatever makes its decisions. The name of the user is quoted as in Go.
var authorizer = regexp.MustCompile(`(^|forbidden: )User "(\\.|[^"\\])*" cannot [^ ]+ (resource|path) "`)

func lacksRight(err error) bool {
	status, ok := statusOf(err)
	return ok && authorizer.MatchString(status.Message)
}

// byAdmission reports whether the refusal speaks about one change: a plugin of the server names the object, a webhook itself.
func byAdmission(err error) bool {
	status, ok := statusOf(err)
	if !ok || Foreign(err) {
		return false
	}
	return status.Details != nil && status.Details.Name != "" || strings.HasPrefix(status.Message, "admission webhook ")
}

func statusOf(err error) (metav1.Status, bool) {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		return metav1.Status{}, false
	}
	return known.Status(), true
}
