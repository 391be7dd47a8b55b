package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

func (f *fixture) forget(instanceID string) reply {
	return f.send(request(http.MethodDelete, "/runtimes/"+url.PathEscape(instanceID), nil))
}

func TestForgetRuntime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addRuntimes(document("rt-1", "c-1"), document("rt-2", "c-2"), document("rt-3", "c-3"))
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress, ResolvedAt: noon},
		fleet.Operation{ID: "op-1", RuntimeID: "rt-1", InstanceID: "in-rt-1", State: fleet.InProgress},
		fleet.Operation{ID: "op-2", RuntimeID: "rt-2", InstanceID: "in-rt-2", State: fleet.Pending})

	p := problem(t, f.forget("in-rt-1"), http.StatusConflict, "")
	require.Contains(t, p.Detail, "the operation op-1 of the orchestration o-1 is in progress")
	problem(t, f.forget("in-rt-9"), http.StatusNotFound, "")
	problem(t, f.forget("rt-2"), http.StatusNotFound, "")
	problem(t, f.forget("all"), http.StatusNotFound, "")
	require.Equal(t, 3, read[runtime.RuntimesPage](t, f.get("/runtimes")).TotalCount)

	require.Equal(t, orchestration.ForgetResponse{InstanceID: "in-rt-2", CanceledOperations: 1}, read[orchestration.ForgetResponse](t, f.forget("in-rt-2")))
	require.Equal(t, orchestration.ForgetResponse{InstanceID: "in-rt-2"}, read[orchestration.ForgetResponse](t, f.forget("in-rt-2")), "again nothing changes")
	require.Equal(t, 2, read[runtime.RuntimesPage](t, f.get("/runtimes?state=all")).TotalCount)
	op := read[orchestration.OperationDetailResponse](t, f.get("/orchestrations/o-1/operations/op-2"))
	require.Equal(t, orchestration.Canceled, op.State)
	require.Equal(t, "canceled: the runtime was forgotten", op.Description)
	require.Equal(t, 1, read[orchestration.StatusResponse](t, f.get("/orchestrations/o-1")).OperationStats[orchestration.Canceled])
	events := read[[]orchestration.Event](t, f.get("/events?instance_ids=in-rt-2"))
	require.Equal(t, string(fleet.EventForgotten), events[0].Kind)
	require.Equal(t, "local", events[0].User)

	// What was forgotten may be imported again, and forgotten again.
	f.addRuntimes(document("rt-2", "c-2"))
	require.Equal(t, 3, read[runtime.RuntimesPage](t, f.get("/runtimes")).TotalCount)
	require.Equal(t, http.StatusOK, f.forget("in-rt-2").status)
	require.Len(t, read[[]orchestration.Event](t, f.get("/events?instance_ids=in-rt-2")), 3)
}

// A Shoot does not tell the instance ID; the runtime ID stands in its place, and names the runtime here too.
func TestARuntimeWithoutAnInstanceIDIsForgottenByItsRuntimeID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	doc := document("rt-1", "c-1")
	doc.InstanceID = ""
	f.putRuntimes(fleet.SourceGardener, doc)
	listed := read[runtime.RuntimesPage](t, f.get("/runtimes")).Data[0].InstanceID
	require.Equal(t, "rt-1", listed)
	require.Equal(t, http.StatusOK, f.forget(listed).status)
	require.Zero(t, read[runtime.RuntimesPage](t, f.get("/runtimes?state=all")).TotalCount)
}

// IDs come from outside, so they may look like anything.
func TestForgettingRuntimesWithOddIDs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, id := range []string{"import", "a/b", "a b%2F?x=1#y", "ü'; DROP TABLE runtimes; --", "*", strings.Repeat("i", 256)} {
		odd, other := document("rt-1", "c-1"), document("rt-2", "c-2")
		odd.InstanceID = id
		f.addRuntimes(odd, other)
		require.Equal(t, id, read[orchestration.ForgetResponse](t, f.forget(id)).InstanceID)
		require.Equal(t, 1, read[runtime.RuntimesPage](t, f.get("/runtimes")).TotalCount, id)
	}
	problem(t, f.forget(strings.Repeat("i", 257)), http.StatusNotFound, "")
	problem(t, f.forget("\x00"), http.StatusNotFound, "")
	require.Equal(t, "DELETE, POST", f.get("/runtimes/import").header.Get("Allow"))
	require.Equal(t, "DELETE", f.get("/runtimes/in-rt-2").header.Get("Allow"))
}
