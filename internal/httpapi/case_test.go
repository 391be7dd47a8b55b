package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// A filter of runtimes brings what it names and nothing else: names are exact, states are those of the runtimes now, and a word that is not
// known is refused.
func TestCase_F1(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	suspended := done(runtime.Suspension, orchestration.Succeeded, 11)
	f.addRuntimes(
		document("rt-1", "c-123"),
		document("rt-2", "c-1234"),
		document("rt-3", "c-9", suspended),
		document("rt-4", "c-4", done(runtime.Deprovision, orchestration.Succeeded, 11)),
		document("rt-5", "c-5", suspended, done(runtime.Unsuspension, orchestration.Succeeded, 12)),
	)
	for query, want := range map[string][]string{
		"shoot=c-123":                         {"rt-1"},
		"shoot=c-123&shoot=c-9&state=all":     {"rt-1", "rt-3"},
		"shoot=c-123&shoot=c-9":               {"rt-1"},
		"shoot=c.123":                         nil,
		"shoot=c-12":                          nil,
		"shoot=C-123":                         nil,
		"shoot=":                              nil,
		"shoot=c-123&runtime_id=rt-2":         nil,
		"state=suspended":                     {"rt-3"},
		"state=Suspended":                     {"rt-3"},
		"state=suspended&state=deprovisioned": {"rt-3", "rt-4"},
		"state=ALL":                           {"rt-1", "rt-2", "rt-3", "rt-4", "rt-5"},
		"":                                    {"rt-1", "rt-2", "rt-5"},
	} {
		page := read[runtime.RuntimesPage](t, f.get("/runtimes?"+query))
		var got []string
		for _, doc := range page.Data {
			got = append(got, doc.RuntimeID)
		}
		require.Equal(t, want, got, query)
		require.Equal(t, len(want), page.Count, query)
		require.Equal(t, len(want), page.TotalCount, query)
	}
	for _, word := range []string{"succeded", "", "retrying", "succeeded,failed"} {
		p := problem(t, f.get("/runtimes?state="+word), http.StatusBadRequest, "state")
		require.Contains(t, p.Detail, fmt.Sprintf("%q", word))
	}
	problem(t, f.get("/runtimes?state=suspended&state=succeded"), http.StatusBadRequest, "state")
}

// Walking through operations by pages brings each one once, with the same filter and total on every page.
func TestCase_P1(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var ops []fleet.Operation
	for i, state := range []fleet.State{fleet.Failed, fleet.Pending, fleet.Failed, fleet.Pending, fleet.Failed} {
		ops = append(ops, fleet.Operation{ID: fmt.Sprintf("op-%d", i+1), State: state, InstanceID: fmt.Sprintf("in-%d", i+1)})
	}
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress}, ops...)
	walk := func(query string, sizes ...int) (seen []string) {
		for page, size := range sizes {
			r := f.get(fmt.Sprintf("/orchestrations/o-1/operations?%s&page_size=2&page=%d", query, page+1))
			list := read[orchestration.OperationResponseList](t, r)
			require.Len(t, list.Data, size)
			require.Equal(t, size, list.Count)
			for _, op := range list.Data {
				require.NotContains(t, seen, op.OperationID)
				seen = append(seen, op.OperationID)
			}
			require.Equal(t, read[orchestration.OperationResponseList](t, f.get("/orchestrations/o-1/operations?"+query)).TotalCount, list.TotalCount)
			if size == 0 {
				require.Contains(t, r.text, `"data":[]`)
			}
		}
		return seen
	}
	require.Len(t, walk("state=failed&state=pending", 2, 2, 1, 0), 5)
	require.ElementsMatch(t, []string{"op-1", "op-3", "op-5"}, walk("state=failed", 2, 1, 0))
	require.ElementsMatch(t, []string{"op-2", "op-4"}, walk("state=retrying", 2, 0), "retrying is an older word for pending")
	require.ElementsMatch(t, []string{"op-2", "op-4"}, walk("state=PENDING&state=retrying", 2, 0))
	require.Empty(t, walk("state=canceling", 0))
}

// The state of a runtime says what it is now, and is the same however many of its operations are shown.
func TestCase_ST1(t *testing.T) {
	t.Parallel()
	suspended := done(runtime.Suspension, orchestration.Succeeded, 11)
	removed := done(runtime.Deprovision, orchestration.Succeeded, 11)
	leftOver := removed
	leftOver.ExecutedButNotCompletedSteps = []string{"Remove_Shoot"}
	suspending := done(runtime.Suspension, orchestration.InProgress, 11)
	tests := map[string]struct {
		then []runtime.Operation
		want runtime.State
	}{
		"a": {[]runtime.Operation{suspended, done(runtime.Update, orchestration.Succeeded, 12)}, runtime.StateSuspended},
		"b": {[]runtime.Operation{suspended, done(runtime.Update, orchestration.Failed, 12)}, runtime.StateSuspended},
		"c": {[]runtime.Operation{done(runtime.Suspension, orchestration.Failed, 11)}, runtime.StateFailed},
		"d": {[]runtime.Operation{suspending}, runtime.StateDeprovisioning},
		"e": {[]runtime.Operation{suspended, done(runtime.Unsuspension, orchestration.InProgress, 12)}, runtime.StateProvisioning},
		"f": {[]runtime.Operation{suspended, done(runtime.Unsuspension, orchestration.Succeeded, 12)}, runtime.StateSucceeded},
		"g": {[]runtime.Operation{removed}, runtime.StateDeprovisioned},
		"h": {[]runtime.Operation{leftOver}, runtime.StateDeprovisionIncomplete},
		"i": {[]runtime.Operation{done(runtime.UpgradeCluster, orchestration.InProgress, 11)}, runtime.StateUpgrading},
		"j": {[]runtime.Operation{done(runtime.UpgradeCluster, orchestration.Failed, 11)}, runtime.StateError},
	}
	f := newFixture(t)
	for name, test := range tests {
		doc := document(name, "c-"+name, test.then...)
		if name == "d" {
			// Some servers list a suspension that runs as a deprovisioning too.
			twin := suspending
			doc.Status.Deprovisioning = &twin
		}
		f.addRuntimes(doc)
	}
	for name, test := range tests {
		for _, detail := range []string{"", "&op_detail=all", "&op_detail=last"} {
			page := read[runtime.RuntimesPage](t, f.get("/runtimes?state=all&runtime_id="+name+detail))
			require.Len(t, page.Data, 1)
			require.Equal(t, test.want, page.Data[0].Status.State, name+detail)
			if name == "d" {
				require.Nil(t, page.Data[0].Status.Deprovisioning, detail)
			}
		}
		page := read[runtime.RuntimesPage](t, f.get("/runtimes?runtime_id="+name+"&state="+string(test.want)))
		require.Len(t, page.Data, 1, "the filter and the answer agree about the state of "+name)
	}
	problem(t, f.get("/runtimes?op_detail=first"), http.StatusBadRequest, "op_detail")
	problem(t, f.get("/runtimes?op_detail=all&op_detail=last"), http.StatusBadRequest, "op_detail")
}

// A target that selects nothing by name is refused by the name of the entry, and nothing is stored.
func TestCase_R3(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for body, field := range map[string]string{
		`{"targets":{"include":[{}]}}`:                  "targets.include[0]",
		`{"targets":{"include":[{"runtime":"rt-1"}]}}`:  "targets.include[0].runtime",
		`{"targets":{"include":[]}}`:                    "targets.include",
		`{}`:                                            "targets.include",
		`{"targets":null}`:                              "targets.include",
		`{"targets":{"include":[{"target":"all"},{}]}}`: "targets.include[1]",
		`{"targets":{"include":[{"target":"all"}],"exclude":[{}]}}`:                 "targets.exclude[0]",
		`{"targets":{"include":[{"target":"All"}]}}`:                                "targets.include[0].target",
		`{"targets":{"include":[null]}}`:                                            "targets.include[0]",
		`{"targets":{"include":[{"RuntimeID":"rt-1"}]}}`:                            "targets.include[0].RuntimeID",
		`{"targets":{"include":[{"runtimeID":"rt-1","runtimeID":"rt-2"}]}}`:         "targets.include[0].runtimeID",
		`{"targets":{"include":[{"region":"("}]}}`:                                  "targets.include[0].region",
		`{"targets":{"include":[{"region":" "}]}}`:                                  "targets.include[0].region",
		`{"targets":{"includes":[{"target":"all"}],"include":[{"target":"all"}]}}`:  "targets.includes",
		`{"targets":{"include":[{"target":"all"}],"excludes":[{"runtimeID":"a"}]}}`: "targets.excludes",
	} {
		problem(t, f.post("/upgrade/cluster", body), http.StatusBadRequest, field)
	}
	require.Zero(t, f.orchestrations())

	r := f.post("/upgrade/cluster", `{"targets":{"include":[{"runtimeID":"rt-1","planName":"trial"}]}}`)
	require.Equal(t, http.StatusAccepted, r.status, r.text)
	created := decode[orchestration.UpgradeResponse](t, r)
	got := read[orchestration.StatusResponse](t, f.get("/orchestrations/"+created.OrchestrationID))
	require.Equal(t, []orchestration.RuntimeTarget{{RuntimeID: "rt-1", PlanName: "trial"}}, got.Parameters.Targets.Include)
}

// A request without a strategy, or with zero workers, means parallel, at once, one worker; what can never run is refused.
func TestCase_S1(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) {
		o.Parameters = fleet.ParameterOptions{MaxWorkers: 20, DefaultKymaVersion: "regular"}
	})
	for _, path := range []string{"/upgrade/kyma", "/upgrade/cluster"} {
		for _, body := range []string{
			`{"targets":{"include":[{"target":"all"}]}}`,
			`{"targets":{"include":[{"target":"all"}]},"strategy":{"type":"parallel","schedule":"immediate","parallel":{"workers":0}}}`,
			`{"targets":{"include":[{"target":"all"}]},"strategy":{"schedule":"now"}}`,
			`{"targets":{"include":[{"target":"all"}]},"strategy":null}`,
		} {
			r := f.post(path, body)
			require.Equal(t, http.StatusAccepted, r.status, r.text)
			created := decode[orchestration.UpgradeResponse](t, r)
			got := read[orchestration.StatusResponse](t, f.get("/orchestrations/"+created.OrchestrationID))
			require.Equal(t, orchestration.StrategySpec{
				Type: orchestration.ParallelStrategy, Schedule: orchestration.Immediate, Parallel: orchestration.ParallelStrategySpec{Workers: 1},
			}, got.Parameters.Strategy)
		}
		for strategy, field := range map[string]string{
			`{"parallel":{"workers":-1}}`:  "strategy.parallel.workers",
			`{"parallel":{"workers":21}}`:  "strategy.parallel.workers",
			`{"parallel":{"workers":1.5}}`: "strategy.parallel.workers",
			`{"type":"serial"}`:            "strategy.type",
			`{"type":"Parallel"}`:          "strategy.type",
		} {
			before := f.orchestrations()
			problem(t, f.post(path, `{"targets":{"include":[{"target":"all"}]},"strategy":`+strategy+`}`), http.StatusBadRequest, field)
			require.Equal(t, before, f.orchestrations())
		}
	}
	r := f.post("/upgrade/cluster", `{"targets":{"include":[{"target":"all"}]},"strategy":{"parallel":{"workers":5}}}`)
	require.Equal(t, http.StatusAccepted, r.status, r.text)
}

// Cancelling answers 200 with the state canceling at once; again, and on what has ended, nothing changes.
func TestCase_C1(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress, ResolvedAt: noon},
		fleet.Operation{ID: "op-1", State: fleet.InProgress, InstanceID: "in-1"}, fleet.Operation{ID: "op-2", State: fleet.Pending, InstanceID: "in-2"})
	f.addOrchestration(fleet.Orchestration{ID: "o-0", State: fleet.Succeeded, ResolvedAt: noon})
	for id, want := range map[string]string{"o-1": orchestration.Canceling, "o-0": orchestration.Succeeded} {
		var events int
		for range 2 {
			r := f.send(request(http.MethodPut, "/orchestrations/"+id+"/cancel", nil))
			require.Equal(t, orchestration.UpgradeResponse{OrchestrationID: id}, read[orchestration.UpgradeResponse](t, r))
			require.Equal(t, want, read[orchestration.StatusResponse](t, f.get("/orchestrations/"+id)).State)
			history := read[orchestration.EventList](t, f.get("/orchestrations/"+id+"/events"))
			if events != 0 {
				require.Equal(t, events, history.TotalCount, "the second call changes nothing")
			}
			events = history.TotalCount
		}
	}
	problem(t, f.send(request(http.MethodPut, "/orchestrations/o-9/cancel", nil)), http.StatusNotFound, "")
}

// Rows of older versions are listed beside each other; one that cannot be read says so and hides none of the others.
func TestCase_D1(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for id, parameters := range map[string]string{
		"a": `{"targets":{"include":[{"target":"all"}]},"retryoperation":{"immediate":"true"}}`,
		"b": `{"targets":{"include":[{"target":"all"}]},"retryoperation":{"immediate":""}}`,
		"c": `{"targets":{"include":[{"runtimeID":"rt-1"}]},"strategy":{"type":"parallel","schedule":"maintenanceWindow","parallel":{"workers":2}}}`,
		"d": `{"targets":{"include":[]},"kyma":null,"kubernetes":null}`,
		"e": `{"targets":`,
		"f": `{"strategy":{"schedule":"sometimes"}}`,
	} {
		f.addOrchestration(fleet.Orchestration{ID: id, State: fleet.Pending})
		_, err := f.store.SQL().ExecContext(t.Context(), "UPDATE orchestrations SET parameters = ? WHERE id = ?", parameters, id)
		require.NoError(t, err)
	}
	r := f.get("/orchestrations")
	list := read[orchestration.StatusResponseList](t, r)
	require.Len(t, list.Data, 6)
	require.NotContains(t, r.text, `"include":null`)
	for _, o := range list.Data {
		require.Equal(t, o, read[orchestration.StatusResponse](t, f.get("/orchestrations/"+o.OrchestrationID)))
		switch o.OrchestrationID {
		case "c":
			require.Equal(t, orchestration.MaintenanceWindow, o.Parameters.Strategy.Schedule)
			require.True(t, o.Parameters.Strategy.MaintenanceWindow)
		case "e", "f":
			require.Contains(t, o.Description, "cannot be read")
		default:
			require.NotContains(t, o.Description, "cannot be read")
		}
	}
}

// What is not there is left out: an immediate operation has no window, a waiting one has not started, and both can be read.
func TestCase_U1(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress}, fleet.Operation{ID: "op-1", State: fleet.Pending})
	r := f.get("/orchestrations/o-1/operations/op-1")
	op := read[orchestration.OperationDetailResponse](t, r)
	require.Contains(t, r.text, `"maintenanceWindowBegin":"0001-01-01T00:00:00Z","maintenanceWindowEnd":"0001-01-01T00:00:00Z"`)
	require.Equal(t, orchestration.Pending, op.State)
	for _, absent := range []string{"startedAt", "finishedAt", "waitUntil", "null"} {
		require.NotContains(t, r.text, absent)
	}
	f.addOrchestration(fleet.Orchestration{ID: "o-2", State: fleet.Pending})
	r = f.get("/orchestrations/o-2")
	require.Equal(t, http.StatusOK, r.status)
	for _, absent := range []string{"operationStats", "startsAt", "null"} {
		require.NotContains(t, r.text, absent)
	}
}
