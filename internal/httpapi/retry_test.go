package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

const form = "application/x-www-form-urlencoded"

// failedFixture has a failed orchestration of two failed operations and one that succeeded.
func failedFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.addRuntimes(document("rt-1", "c-1"), document("rt-2", "c-2"), document("rt-3", "c-3"))
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.Failed, ResolvedAt: noon, FinishedAt: noon},
		fleet.Operation{ID: "op-1", State: fleet.Failed, RuntimeID: "rt-1", InstanceID: "in-rt-1", ShootName: "c-1", StartedAt: hour(11), FinishedAt: noon},
		fleet.Operation{ID: "op-2", State: fleet.Failed, RuntimeID: "rt-2", InstanceID: "in-rt-2", ShootName: "c-2", StartedAt: hour(11), FinishedAt: noon},
		fleet.Operation{ID: "op-3", State: fleet.Succeeded, RuntimeID: "rt-3", InstanceID: "in-rt-3", ShootName: "c-3", StartedAt: hour(11), FinishedAt: noon})
	return f
}

// A retry repeats what is named and can be repeated, tells the rest apart, and the orchestration counts the newest operation of each runtime.
func TestCase_ST3(t *testing.T) {
	t.Parallel()
	f := failedFixture(t)
	r := f.post("/orchestrations/o-1/retry", "operation-id=op-1&operation-id=nope", "Content-Type", form)
	require.Equal(t, http.StatusAccepted, r.status, r.text)
	got := decode[orchestration.RetryResponse](t, r)
	require.Equal(t, "o-1", got.OrchestrationID)
	require.Equal(t, []string{"c-1"}, got.RetryShoots)
	require.Equal(t, []string{"nope"}, got.InvalidOperations)
	require.Empty(t, got.OldOperations)
	require.NotEmpty(t, got.Msg)
	require.NotContains(t, r.text, "null")

	status := read[orchestration.StatusResponse](t, f.get("/orchestrations/o-1"))
	require.Equal(t, orchestration.InProgress, status.State)
	require.Equal(t, map[string]int{"pending": 1, "failed": 1, "succeeded": 1}, status.OperationStats)
	failed := read[orchestration.OperationResponseList](t, f.get("/orchestrations/o-1/operations?state=failed"))
	require.Len(t, failed.Data, 1)
	require.Equal(t, "op-2", failed.Data[0].OperationID)
	require.Equal(t, 3, read[orchestration.OperationResponseList](t, f.get("/orchestrations/o-1/operations")).TotalCount)
	read[orchestration.OperationDetailResponse](t, f.get("/orchestrations/o-1/operations/op-1"))

	r = f.post("/orchestrations/o-1/retry", `{"operation-id":["nope"]}`)
	require.Equal(t, http.StatusAccepted, r.status, r.text)
	require.NotEmpty(t, decode[orchestration.RetryResponse](t, r).Msg)
	require.Equal(t, status, read[orchestration.StatusResponse](t, f.get("/orchestrations/o-1")), "a retry of nothing changes nothing")
}

func TestARetryMeansTheSameAsAFormAndAsJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		media, body string
		want        []string
	}{
		{form, "operation-id=op-2", []string{"c-2"}},
		{form + "; charset=utf-8", "operation-id=op-2&immediate=true", []string{"c-2"}},
		{form, "immediate=", []string{"c-1", "c-2"}},
		{form, "", []string{"c-1", "c-2"}},
		{"application/json", "", []string{"c-1", "c-2"}},
		{"application/json", `{}`, []string{"c-1", "c-2"}},
		{"application/json", `{"operation-id":null,"operationIDs":[],"immediate":"false"}`, []string{"c-1", "c-2"}},
		{"application/json; charset=utf-8", `{"operation-id":["op-2"],"immediate":true}`, []string{"c-2"}},
		{"application/json", `{"operation-id":"op-2","immediate":"true"}`, []string{"c-2"}},
		{"application/json", `{"operationIDs":["op-1","op-2"]}`, []string{"c-1", "c-2"}},
	} {
		f := failedFixture(t)
		r := f.post("/orchestrations/o-1/retry", test.body, "Content-Type", test.media)
		require.Equal(t, http.StatusAccepted, r.status, r.text)
		require.Equal(t, test.want, decode[orchestration.RetryResponse](t, r).RetryShoots, test.body)
	}
	f := failedFixture(t)
	r := f.send(request(http.MethodPost, "/orchestrations/o-1/retry", nil))
	require.Equal(t, http.StatusAccepted, r.status, r.text)
	require.Len(t, decode[orchestration.RetryResponse](t, r).RetryShoots, 2, "no body and no content type repeat everything that failed")
}

// A field that is not understood must not make a retry of everything.
func TestRetriesThatAreNotUnderstoodAreRefused(t *testing.T) {
	t.Parallel()
	f := failedFixture(t)
	for body, field := range map[string]string{
		"operation-id=":                   "operation-id",
		"operation-id=op-1&operation-id=": "operation-id",
		"operationid=op-1":                "operationid",
		"immediate=yes":                   "immediate",
		"immediate=true&immediate=true":   "immediate",
		"operation-id=%00":                "operation-id",
		"operation-id=%zz":                "",
		"a;b":                             "",
	} {
		problem(t, f.post("/orchestrations/o-1/retry", body, "Content-Type", form), http.StatusBadRequest, field)
	}
	for body, field := range map[string]string{
		`{"operation-id":""}`:                               "operation-id",
		`{"operation-id":[""]}`:                             "operation-id",
		`{"operation-id":[null]}`:                           "operation-id[0]",
		`{"operation-id":[1]}`:                              "operation-id[0]",
		`{"operation-id":{}}`:                               "operation-id",
		`{"operationid":["op-1"]}`:                          "operationid",
		`{"operation-id":["op-1"],"operationIDs":["op-2"]}`: "operationIDs",
		`{"immediate":1}`:                                   "immediate",
		`[]`:                                                "",
		`null`:                                              "",
		`operation-id=op-1`:                                 "",
	} {
		problem(t, f.post("/orchestrations/o-1/retry", body), http.StatusBadRequest, field)
	}
	problem(t, f.post("/orchestrations/o-1/retry?operation-id=op-1", ""), http.StatusBadRequest, "operation-id")
	problem(t, f.post("/orchestrations/o-1/retry", "operation-id=op-1", "Content-Type", "text/plain"), http.StatusUnsupportedMediaType, "")
	problem(t, f.post("/orchestrations/o-1/retry", strings.Repeat("a", 2<<20), "Content-Type", form), http.StatusRequestEntityTooLarge, "")
	problem(t, f.post("/orchestrations/o-9/retry", ""), http.StatusNotFound, "")
	require.Equal(t, map[string]int{"failed": 2, "succeeded": 1}, read[orchestration.StatusResponse](t, f.get("/orchestrations/o-1")).OperationStats)

	f.addOrchestration(fleet.Orchestration{ID: "o-2", State: fleet.Canceling})
	problem(t, f.post("/orchestrations/o-2/retry", ""), http.StatusConflict, "")
}

func TestARetryWithAKeyIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	f := failedFixture(t)
	first := f.post("/orchestrations/o-1/retry", "operation-id=op-1", "Content-Type", form, "Idempotency-Key", "k-1")
	require.Equal(t, http.StatusAccepted, first.status, first.text)
	require.Equal(t, []string{"c-1"}, decode[orchestration.RetryResponse](t, first).RetryShoots)
	again := f.post("/orchestrations/o-1/retry", "operation-id=op-1", "Content-Type", form, "Idempotency-Key", "k-1")
	require.Equal(t, first.text, again.text)
	asJSON := f.post("/orchestrations/o-1/retry", `{"operation-id":["op-1"]}`, "Idempotency-Key", "k-1")
	require.Equal(t, first.text, asJSON.text, "the same request in another form")
	other := f.post("/orchestrations/o-1/retry", "operation-id=op-1&immediate=true", "Content-Type", form, "Idempotency-Key", "k-1")
	require.Equal(t, http.StatusConflict, other.status, other.text)
	status := read[orchestration.StatusResponse](t, f.get("/orchestrations/o-1"))
	require.Equal(t, map[string]int{"pending": 1, "failed": 1, "succeeded": 1}, status.OperationStats)
	fresh := f.post("/orchestrations/o-1/retry", "operation-id=op-1", "Content-Type", form, "Idempotency-Key", "k-2")
	require.Equal(t, []string{"op-1"}, decode[orchestration.RetryResponse](t, fresh).OldOperations, "another key is another request")
}
