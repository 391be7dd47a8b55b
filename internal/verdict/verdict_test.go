package verdict_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/verdict"
)

var shoots = schema.GroupResource{Group: "core.gardener.cloud", Resource: "shoots"}

func forbidden(format string, args ...any) error {
	return apierrors.NewForbidden(shoots, "c-1", fmt.Errorf(format, args...))
}

// from is an error that has no more than a code, a reason and a message.
func from(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

// Whoever lacks a right, has no valid credentials or is refused by something in between has no access; in doubt it is that.
func TestRefusalsOfAccess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		says string
	}{
		"a right in a namespace": {
			forbidden(`User %q cannot patch resource "shoots" in API group "core.gardener.cloud" in the namespace "garden-x"`, "swell"), "a right is missing: "},
		"a right on a subresource, with a reason of RBAC": {
			forbidden(`User "system:serviceaccount:a:b" cannot update resource "shoots/status" in API group "" at the cluster scope: RBAC: role.rbac.authorization.k8s.io "x" not found`),
			"a right is missing: ",
		},
		"a user with quotes in the name": {forbidden(`User %q cannot patch resource "shoots" in API group ""`, `a "b" \ cannot`), "a right is missing: "},
		"nobody":                         {forbidden(`User "system:anonymous" cannot patch resource "shoots" in API group "x"`), "a right is missing: "},
		"a path":                         {from(403, metav1.StatusReasonForbidden, `forbidden: User "swell" cannot get path "/x"`), "a right is missing: "},
		"expired credentials":            {apierrors.NewUnauthorized("Unauthorized"), "the credentials are not accepted: "},
		"a gateway": {
			apierrors.NewGenericServerResponse(http.StatusForbidden, "patch", shoots, "c-1", "<html>", 0, true), "access is refused: "},
		"a 403 that says nothing":       {from(403, metav1.StatusReasonForbidden, "no"), "access is refused: no"},
		"a 403 without a reason":        {from(403, "", "no"), "access is refused: no"},
		"a login page in place of 401s": {apierrors.NewGenericServerResponse(http.StatusUnauthorized, "patch", shoots, "c-1", "<html>", 0, true), "the credentials are not accepted: "},
	} {
		for _, judge := range []func(error) error{verdict.OfWrite, verdict.OfRead} {
			got := judge(test.err)
			require.ErrorIs(t, got, fleet.ErrNoAccess, name)
			require.ErrorIs(t, got, test.err, name)
			require.Contains(t, got.Error(), test.says, name)
		}
	}
}

// What admission says about a change is no matter of access, however much it speaks of users and of what cannot be.
func TestRefusalsOfAChange(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"a plugin": forbidden("[spec.kubernetes.version: Unsupported value: \"1.20.0\"]"),
		"a plugin that says cannot": forbidden(
			`spec.purpose: the user "x" cannot change the resource "shoots" in API group "core.gardener.cloud"`),
		"a quota":   forbidden("exceeded quota: compute, requested: 3"),
		"a webhook": from(403, metav1.StatusReasonForbidden, `admission webhook "v.example.org" denied the request: User "x" wants too much`),
		"a policy":  forbidden(`ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`),
	} {
		require.Equal(t, err, verdict.OfWrite(err), name)
		require.ErrorIs(t, verdict.OfRead(err), fleet.ErrNoAccess, "nothing but the access is judged where something is read: %s", name)
	}
}

func TestOtherErrorsAreLeftAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		errors.New("connection refused"), apierrors.NewConflict(shoots, "c-1", errors.New("changed")), apierrors.NewNotFound(shoots, "c-1"),
		apierrors.NewBadRequest("no"), apierrors.NewInternalError(errors.New(`User "x" cannot patch resource "shoots"`)),
	} {
		require.Equal(t, err, verdict.OfWrite(err))
		require.Equal(t, err, verdict.OfRead(err))
	}
}

func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	require.True(t, verdict.Foreign(apierrors.NewGenericServerResponse(http.StatusNotFound, "get", shoots, "c-1", "404 page not found", 0, true)))
	require.False(t, verdict.Foreign(apierrors.NewNotFound(shoots, "c-1")))
	require.False(t, verdict.Foreign(errors.New("cut")))
}

func FuzzMessages(f *testing.F) {
	f.Add(`User "a" cannot patch resource "shoots" in API group ""`)
	f.Add(`admission webhook "a" denied the request`)
	f.Add("forbidden: User \"\\\"")
	f.Fuzz(func(t *testing.T, message string) {
		for _, err := range []error{from(403, metav1.StatusReasonForbidden, message), forbidden("%s", message)} {
			got := verdict.OfWrite(err)
			require.ErrorIs(t, got, err)
			require.ErrorIs(t, verdict.OfRead(err), fleet.ErrNoAccess)
		}
	})
}
