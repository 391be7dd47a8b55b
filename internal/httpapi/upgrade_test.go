package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// The bodies of clients of either age in which nothing is set.
const (
	olderZero = `{"version":"","targets":{"include":null},"strategy":{"type":"","parallel":{"workers":0}}}`
	newerZero = `{"targets":{"include":null},"strategy":{"type":"","ScheduleTime":"0001-01-01T00:00:00Z","parallel":{"workers":0}},"retryoperation":{}}`
	everyZero = `{"version":"","targets":{"include":[],"exclude":null},"strategy":{"type":"","schedule":"","scheduleTime":null,"ScheduleTime":"","maintenanceWindow":false,
		"parallel":{}},"dryRun":false,"kyma":{"version":""},"kubernetes":{"kubernetesVersion":"","machineImage":"","machineImageVersion":""},
		"retryoperation":{"retryoperations":null,"immediate":""},"notification":false}`
)

func zeroBodies(t *testing.T) map[string]string {
	t.Helper()
	parameters, err := json.Marshal(orchestration.Parameters{})
	require.NoError(t, err)
	page, err := json.Marshal(runtime.RuntimesPage{})
	require.NoError(t, err)
	return map[string]string{
		"this client": string(parameters), "older client": olderZero, "newer client": newerZero, "every key": everyZero,
		"runtimes": string(page), "object": `{}`, "nothing": ``,
	}
}

// A body in which nothing is set asks for nothing: no route fails over it, and none makes an upgrade of everything out of it.
func TestZeroValuedBodiesOfEveryClientThroughEveryRoute(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-9", State: fleet.Succeeded, ResolvedAt: noon}, fleet.Operation{ID: "op-9", State: fleet.Succeeded})
	f.addRuntimes(document("9", "c-9"))
	for name, body := range zeroBodies(t) {
		for _, route := range httpapi.Routes() {
			r := f.send(request(route.Method, example(route), strings.NewReader(body)))
			switch {
			case strings.HasPrefix(route.Pattern, "/upgrade/"):
				field := "targets.include"
				switch {
				case name == "nothing":
					field = ""
				case name == "runtimes":
					field = "data"
				case route.ID == "upgradeKyma" || route.ID == "previewKyma":
					field = "version"
				}
				problem(t, r, http.StatusBadRequest, field)
			case route.ID == "importRuntimes":
				require.Equal(t, http.StatusBadRequest, r.status, r.text)
			case route.ID == "retryOrchestration" && name != "object" && name != "nothing":
				require.Equal(t, http.StatusBadRequest, r.status, r.text)
			case route.ID == "retryOrchestration":
				require.Equal(t, http.StatusAccepted, r.status, r.text)
			case route.ID == "metrics":
				require.Equal(t, http.StatusNotFound, r.status, r.text)
			default:
				require.Equal(t, http.StatusOK, r.status, route.ID+": "+r.text)
			}
		}
	}
	require.Equal(t, 1, f.orchestrations())
}

// The same bodies with targets in them are accepted and mean parallel, at once, one worker, no version.
func TestZeroValuesBesideTargetsMeanTheDefaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := `"targets":{"include":[{"target":"all"}]}`
	for _, zero := range []string{olderZero, newerZero, everyZero} {
		body := strings.NewReplacer(`"targets":{"include":null}`, all, `"targets":{"include":[],"exclude":null}`, all).Replace(zero)
		r := f.post("/upgrade/cluster", body)
		require.Equal(t, http.StatusAccepted, r.status, r.text)
		id := decode[orchestration.UpgradeResponse](t, r).OrchestrationID
		got := f.get("/orchestrations/" + id)
		require.Contains(t, got.text, `"parameters":{"version":"","targets":{"include":[{"target":"all"}]},"strategy":{"type":"parallel","schedule":"immediate","parallel":{"workers":1}}}`)
	}
}

// Each key of either dialect is honoured, and the answer has it where clients of either age look.
func TestBothDialectsOverHTTP(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const targets = `"targets":{"include":[{"instanceID":"in-1"}]}`
	for _, test := range []struct{ path, body, want string }{
		{"/upgrade/kyma", `{"version":"2.0.1",` + targets + `}`,
			`{"version":"2.0.1",` + targets + `,"strategy":{"type":"parallel","schedule":"immediate","parallel":{"workers":1}},"kyma":{"version":"2.0.1"}}`},
		{"/upgrade/kyma", `{"kyma":{"version":"2.0.1"},` + targets + `}`,
			`{"version":"2.0.1",` + targets + `,"strategy":{"type":"parallel","schedule":"immediate","parallel":{"workers":1}},"kyma":{"version":"2.0.1"}}`},
		{"/upgrade/cluster", `{"dryRun":true,"kubernetes":{"kubernetesVersion":"1.33.4","machineImage":"gardenlinux","machineImageVersion":"1592.1.0"},` + targets + `}`,
			`{"version":"1.33.4",` + targets + `,"strategy":{"type":"parallel","schedule":"immediate","parallel":{"workers":1}},"dryRun":true,` +
				`"kubernetes":{"kubernetesVersion":"1.33.4","machineImage":"gardenlinux","machineImageVersion":"1592.1.0"}}`},
		{"/upgrade/cluster", `{` + targets + `,"strategy":{"type":"parallel","schedule":"maintenanceWindow","parallel":{"workers":3}}}`,
			`{"version":"",` + targets + `,"strategy":{"type":"parallel","schedule":"maintenanceWindow","parallel":{"workers":3},"maintenanceWindow":true}}`},
		{"/upgrade/cluster", `{` + targets + `,"strategy":{"schedule":"now","maintenanceWindow":true}}`,
			`{"version":"",` + targets + `,"strategy":{"type":"parallel","schedule":"maintenanceWindow","parallel":{"workers":1},"maintenanceWindow":true}}`},
		{"/upgrade/cluster", `{` + targets + `,"strategy":{"schedule":"2030-01-02T22:00:00+01:00","ScheduleTime":"0001-01-01T00:00:00Z"}}`,
			`{"version":"",` + targets + `,"strategy":{"type":"parallel","schedule":"immediate","parallel":{"workers":1},"scheduleTime":"2030-01-02T21:00:00Z"}}`},
		{"/upgrade/cluster", `{` + targets + `,"strategy":{"ScheduleTime":"2030-01-02T22:00:00+01:00","maintenanceWindow":true}}`,
			`{"version":"",` + targets + `,"strategy":{"type":"parallel","schedule":"maintenanceWindow","parallel":{"workers":1},"maintenanceWindow":true,"scheduleTime":"2030-01-02T21:00:00Z"}}`},
		{"/upgrade/cluster", `{` + targets + `,"strategy":{"scheduleTime":"2030-01-02T22:00:00+01:00","ScheduleTime":"2030-01-02T21:00:00Z"}}`,
			`{"version":"",` + targets + `,"strategy":{"type":"parallel","schedule":"immediate","parallel":{"workers":1},"scheduleTime":"2030-01-02T21:00:00Z"}}`},
	} {
		r := f.post(test.path, test.body, "Content-Type", "application/json; charset=UTF-8")
		require.Equal(t, http.StatusAccepted, r.status, r.text)
		require.Equal(t, fmt.Sprintf("{\"orchestrationID\":%q}\n", decode[orchestration.UpgradeResponse](t, r).OrchestrationID), r.text)
		got := f.get("/orchestrations/" + decode[orchestration.UpgradeResponse](t, r).OrchestrationID)
		require.Contains(t, got.text, `"parameters":`+test.want)
		require.Equal(t, strings.Contains(test.want, "scheduleTime"), strings.Contains(got.text, `"startsAt":"2030-01-02T21:00:00Z"`))

		// The answer sent back as a request asks for the same.
		again := f.post(test.path, test.want)
		require.Equal(t, http.StatusAccepted, again.status, again.text)
		require.Contains(t, f.get("/orchestrations/"+decode[orchestration.UpgradeResponse](t, again).OrchestrationID).text, `"parameters":`+test.want)
	}
}

func TestWhatIsSetIsHonouredOrRefusedByName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for body, field := range map[string]string{
		`"version":"1","kubernetes":{"kubernetesVersion":"2"}`:                                     "kubernetes.kubernetesVersion",
		`"kyma":{"version":"2"}`:                                                                   "kyma.version",
		`"kyma":{"Version":"2"}`:                                                                   "kyma.Version",
		`"notification":true`:                                                                      "notification",
		`"notification":"false"`:                                                                   "notification",
		`"retryoperation":{"retryoperations":["op-1"]}`:                                            "retryoperation",
		`"retryoperation":{"immediate":"true"}`:                                                    "retryoperation",
		`"retryoperation":{"immediate":true}`:                                                      "retryoperation",
		`"retryoperation":{"immediate":"perhaps"}`:                                                 "retryoperation.immediate",
		`"retryOperation":{}`:                                                                      "retryOperation",
		`"strategy":{"schedule":"2030-01-01T00:00:00+24:00"}`:                                      "strategy.schedule",
		`"strategy":{"scheduleTime":"2030-01-01T00:00:00+24:00"}`:                                  "strategy.scheduleTime",
		`"strategy":{"scheduleTime":"2030-01-01T00:00:00+23:60"}`:                                  "strategy.scheduleTime",
		`"strategy":{"scheduleTime":"2030-01-01T00:00:00,5Z"}`:                                     "strategy.scheduleTime",
		`"strategy":{"schedule":"tomorrow"}`:                                                       "strategy.schedule",
		`"strategy":{"schedule":"now","scheduleTime":"2030-01-02T22:00:00Z"}`:                      "strategy.scheduleTime",
		`"strategy":{"schedule":"2031-01-02T22:00:00Z","scheduleTime":"2030-01-02T22:00:00Z"}`:     "strategy.schedule",
		`"strategy":{"scheduleTime":"2030-01-02T22:00:00Z","ScheduleTime":"2030-01-02T22:00:01Z"}`: "strategy.ScheduleTime",
		`"strategy":{"scheduletime":"2030-01-02T22:00:00Z"}`:                                       "strategy.scheduletime",
		`"strategy":{"maintenancewindow":true}`:                                                    "strategy.maintenancewindow",
		`"strategy":{"maintenanceWindow":"true"}`:                                                  "strategy.maintenanceWindow",
		`"strategy":{"workers":3}`:                                                                 "strategy.workers",
		`"dryrun":true`:                                                                            "dryrun",
		`"$schema":"x"`:                                                                            "$schema",
		`"version":"` + strings.Repeat("1", 200) + `"`:                                             "version",
	} {
		problem(t, f.post("/upgrade/cluster", `{"targets":{"include":[{"target":"all"}]},`+body+`}`), http.StatusBadRequest, field)
	}
	problem(t, f.post("/upgrade/kyma", `{"targets":{"include":[{"target":"all"}]}}`), http.StatusBadRequest, "version")
	problem(t, f.post("/upgrade/kyma", `{"version":"2","kubernetes":{"machineImage":"x"},"targets":{"include":[{"target":"all"}]}}`), http.StatusBadRequest, "kubernetes")
	require.Zero(t, f.orchestrations())
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := `{"version":"1.33.4","targets":{"include":[{"target":"all"}]}}`
	create := func(path, body, key string) reply { return f.post(path, body, "Idempotency-Key", key) }
	first := create("/upgrade/cluster", body, "key-1")
	require.Equal(t, http.StatusAccepted, first.status, first.text)
	for _, same := range []string{body, ` { "targets" : {"include":[{"target":"all"}]}, "version":"1.33.4"} `} {
		again := create("/upgrade/cluster", same, "key-1")
		require.Equal(t, http.StatusAccepted, again.status)
		require.Equal(t, first.text, again.text)
	}
	require.Equal(t, 1, f.orchestrations())
	problem(t, create("/upgrade/cluster", `{"version":"1.33.5","targets":{"include":[{"target":"all"}]}}`, "key-1"), http.StatusConflict, "")
	problem(t, create("/upgrade/kyma", body, "key-1"), http.StatusConflict, "")
	require.Equal(t, 1, f.orchestrations())
	require.NotEqual(t, first.text, create("/upgrade/cluster", body, "key-2").text)
	require.NotEqual(t, f.post("/upgrade/cluster", body).text, f.post("/upgrade/cluster", body).text, "without a key every request is its own")
	for _, key := range []string{"", " ", "a b", "é", strings.Repeat("x", 256)} {
		problem(t, create("/upgrade/cluster", body, key), http.StatusBadRequest, "Idempotency-Key")
	}
	r := request(http.MethodPost, "/upgrade/cluster", strings.NewReader(body))
	r.Header["Idempotency-Key"] = []string{"a", "b"}
	problem(t, f.send(r), http.StatusBadRequest, "Idempotency-Key")
}
