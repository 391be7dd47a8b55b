package gardener

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/swell-fleet/swell/internal/fleet"
)

type runtimeObject = runtime.Object

var shootResource = schema.GroupResource{Group: "core.gardener.cloud", Resource: "shoots"}

// apiFaults are answers that say nothing about what was asked for.
func apiFaults() map[string]error {
	return map[string]error{
		"connection refused":      errors.New("dial tcp 127.0.0.1:443: connect: connection refused"),
		"context":                 context.DeadlineExceeded,
		"internal":                apierrors.NewInternalError(errors.New("boom")),
		"away":                    apierrors.NewServiceUnavailable("away"),
		"too many":                apierrors.NewTooManyRequests("slower", 1),
		"timeout":                 apierrors.NewServerTimeout(shootResource, "get", 1),
		"login":                   apierrors.NewUnauthorized("token expired"),
		"404 of a gateway":        apierrors.NewGenericServerResponse(http.StatusNotFound, "get", shootResource, "c-aa11", "404 page not found", 0, true),
		"404 without a name":      apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "fault plan", 0, false),
		"404 of another resource": apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "garden-demo"),
		"403 of a gateway":        apierrors.NewGenericServerResponse(http.StatusForbidden, "patch", shootResource, "c-aa11", "<html>", 0, true),
		"the role lacks the verb": apierrors.NewForbidden(shootResource, "c-aa11", errors.New(`User "swell" cannot patch resource "shoots" in API group "core.gardener.cloud" in the namespace "garden-demo"`)),
	}
}

// Answers that say nothing about the Shoot fail the step, which is repeated, and never the operation.
func TestFaultsPass(t *testing.T) {
	t.Parallel()
	for name, fault := range apiFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, fault }
			e, client := newExecutor(t, newShoot(), newProfile())
			client.PrependReactor("patch", "shoots", fail)
			_, err := e.Start(t.Context(), newTask("1.34.7"), pass)
			require.ErrorIs(t, err, fault)

			client.PrependReactor("get", "shoots", fail)
			_, err = e.Observe(t.Context(), newTask("1.34.7"))
			require.ErrorIs(t, err, fault)
			_, err = e.Start(t.Context(), newTask("1.34.7"), pass)
			require.ErrorIs(t, err, fault)
			_, err = e.Check(t.Context(), newTask("1.34.7", written("1.34.7", 8)), pass)
			require.ErrorIs(t, err, fault)
		})
	}
}

// Whoever may not do a thing waits for access, and says what is missing; see package verdict for what counts as that.
func TestRefusedAccessIsKnownAsSuch(t *testing.T) {
	t.Parallel()
	faults := apiFaults()
	for name, says := range map[string]string{
		"login":                   "access is refused: the credentials are not accepted: token expired",
		"the role lacks the verb": "access is refused: a right is missing: ",
	} {
		fail := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, faults[name] }
		for verb, resource := range map[string]string{"get": "shoots", "patch": "shoots", "*": "cloudprofiles"} {
			e, client := newExecutor(t, newShoot(), newProfile())
			client.PrependReactor(verb, resource, fail)
			_, err := e.Start(t.Context(), newTask("1.34.7"), pass)
			require.ErrorIs(t, err, fleet.ErrNoAccess, "%s: %s %s", name, verb, resource)
			require.ErrorContains(t, err, says)
		}
	}
}

// What Gardener says about the change ends the operation or has the Shoot looked at again.
func TestJudgementsOfAWrite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer error
		want   fleet.Result
	}{
		"conflict": {
			apierrors.NewConflict(shootResource, "c-aa11", errors.New("the object has been modified")),
			fleet.Result{Outcome: fleet.Again, After: lookAgain, NextObserve: true, Description: "the Shoot was changed by somebody else; looking again"}},
		"admission": {
			apierrors.NewForbidden(shootResource, "c-aa11", errors.New("spec.kubernetes.version: \x1b[1mUnsupported\nvalue")),
			refused(`Gardener refuses the change: shoots.core.gardener.cloud "c-aa11" is forbidden: spec.kubernetes.version: [1mUnsupported value`)},
		"validation": {
			apierrors.NewInvalid(schema.GroupKind{Kind: "Shoot"}, "c-aa11", nil), refused(`Gardener refuses the change: Shoot "c-aa11" is invalid`)},
		"bad request": {apierrors.NewBadRequest("no"), refused("Gardener refuses the change: no")},
		"gone":        {apierrors.NewNotFound(shootResource, "c-aa11"), gone("the Shoot c-aa11 does not exist any more")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, client := newExecutor(t, newShoot(), newProfile())
			client.PrependReactor("patch", "shoots", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.answer })
			got, err := e.Start(t.Context(), newTask("1.34.7"), pass)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
			patches := 0
			for _, action := range client.Actions() {
				if action.GetVerb() == "patch" {
					patches++
				}
			}
			require.Equal(t, 1, patches, "wrote again blindly")
		})
	}
}

// A Shoot that Gardener does not know is gone, before and after the write.
func TestMissingShoot(t *testing.T) {
	t.Parallel()
	e, _ := newExecutor(t, newProfile())
	want := gone("the Shoot c-aa11 does not exist any more")
	got, err := e.Observe(t.Context(), newTask("1.34.7"))
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = e.Start(t.Context(), newTask("1.34.7"), pass)
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = e.Check(t.Context(), newTask("1.34.7", written("1.34.7", 8)), pass)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
