package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/orchestration"
)

// uuids are what differs from run to run.
var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// storyFixture holds something of everything that the API can tell.
func storyFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, func(o *httpapi.Options) {
		o.Checks = []httpapi.Check{
			{Name: "store", Run: func(context.Context) error { return nil }},
			{Name: "gardener source", Optional: true, Run: func(context.Context) error {
				return fleet.Unavailable("no picture for 5 minutes", errors.New("secret"))
			}},
		}
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprintln(w, "up 1")
		})
	})
	rt1 := document("rt-1", "c-1")
	rt1.GlobalAccountID, rt1.SubAccountID, rt1.ProviderRegion = "ga-blue", "sa-blue-1", "eu-demo-1"
	f.addRuntimes(rt1, document("rt-2", "c-2"), document("rt-3", "c-3"), document("rt-4", "c-4"))
	later := time.Date(2030, 1, 2, 21, 0, 0, 0, time.UTC)
	windows, _, err := fleet.NormalizeParameters(orchestration.UpgradeClusterOrchestration, orchestration.Parameters{
		Version: "1.33.4", Targets: orchestration.TargetSpec{
			Include: []orchestration.RuntimeTarget{{Shoot: "c-1"}, {Target: "all"}}, Exclude: []orchestration.RuntimeTarget{{PlanName: "trial"}},
		},
		Strategy:   orchestration.StrategySpec{Schedule: orchestration.MaintenanceWindow, Parallel: orchestration.ParallelStrategySpec{Workers: 2}},
		Kubernetes: &orchestration.KubernetesParameters{MachineImage: "gardenlinux", MachineImageVersion: "1592.1.0"},
	}, fleet.ParameterOptions{})
	require.NoError(t, err)
	o1 := fleet.Orchestration{
		ID: "o-1", Type: orchestration.UpgradeClusterOrchestration, State: fleet.InProgress, Description: "1 of 4 upgraded; 1 left out", Parameters: windows,
		CreatedAt: hour(9), ResolvedAt: hour(9), CreatedBy: "local", LeftOut: 1,
	}
	at := func(op fleet.Operation) fleet.Operation {
		op.CreatedAt = hour(9)
		op.InstanceID, op.ShootName = "in-"+op.RuntimeID, strings.Replace(op.RuntimeID, "rt", "c", 1)
		op.ServicePlanID, op.ServicePlanName, op.GlobalAccountID, op.SubAccountID = "plan-1", "aws", "ga-blue", "sa-blue-1"
		return op
	}
	f.addOrchestration(o1,
		at(fleet.Operation{ID: "op-1", RuntimeID: "rt-1", State: fleet.Succeeded, Description: "Kubernetes 1.33.4", StartedAt: hour(10), FinishedAt: hour(11),
			WindowBegin: hour(10), WindowEnd: hour(12), UsesWindow: true, Version: "1.33.4", FinishedStages: []string{"upgrade"},
			ClusterConfig: json.RawMessage(`{"name":"c-1","kubernetesVersion":"1.33.4","provider":"aws","targetSecret":"","region":"eu-demo-1","machineType":"m5.large"}`)}),
		at(fleet.Operation{ID: "op-2", RuntimeID: "rt-2", State: fleet.Failed, Description: "reconcile", Reason: "quota exceeded", StartedAt: hour(10), FinishedAt: hour(11), UsesWindow: true,
			WindowBegin: hour(10), WindowEnd: hour(12)}),
		at(fleet.Operation{ID: "op-3", RuntimeID: "rt-3", State: fleet.InProgress, Description: "Processing, 40 %", StartedAt: hour(11), WindowBegin: hour(11), WindowEnd: hour(13), UsesWindow: true}),
		at(fleet.Operation{ID: "op-4", RuntimeID: "rt-4", State: fleet.Pending, WindowBegin: hour(22), WindowEnd: hour(23), UsesWindow: true}))
	f.addOrchestration(fleet.Orchestration{ID: "o-2", State: fleet.Pending, Description: "starts later", NotBefore: later, CreatedAt: hour(8), Type: orchestration.UpgradeKymaOrchestration})
	f.write(func(ctx context.Context, tx fleet.Tx) error {
		if err := tx.InsertLeftOut(ctx, []fleet.LeftOut{
			{OrchestrationID: "o-1", ShootName: "c-9", RuntimeID: "rt-9", InstanceID: "in-9", Reason: "unknown_runtime", Description: "no source knows the runtime"},
		}); err != nil {
			return err
		}
		return tx.AppendEvents(ctx, []fleet.Event{
			{At: hour(9), Kind: fleet.EventCreated, OrchestrationID: "o-1", Message: "created", To: fleet.Pending, Actor: fleet.Actor{User: "local", RequestID: "req-1", RemoteAddr: "127.0.0.1"}},
			{At: hour(10), Kind: fleet.EventAdmitted, OrchestrationID: "o-1", OperationID: "op-1", RuntimeID: "rt-1", InstanceID: "in-rt-1", From: fleet.Pending, To: fleet.InProgress, Message: "started"},
			{At: hour(11), Kind: fleet.EventFinished, Level: fleet.LevelError, OrchestrationID: "o-1", OperationID: "op-2", RuntimeID: "rt-2", InstanceID: "in-rt-2", From: fleet.InProgress, To: fleet.Failed, Message: "quota <exceeded>"},
		})
	})
	return f
}

// The answers of every route, byte by byte, and all of them as the OpenAPI document says. go test ./internal/httpapi -update writes them.
func TestAnswersAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	f := storyFixture(t)
	api := readDocument(t, f)
	seen := map[string]bool{}
	var text strings.Builder
	for _, call := range []struct{ method, pattern, path, body string }{
		{"GET", "/healthz", "", ""},
		{"GET", "/readyz", "", ""},
		{"GET", "/metrics", "", ""},
		{"GET", "/whoami", "", ""},
		{"GET", "/logins", "", ""},
		{"GET", "/runtimes", "/runtimes?page_size=1", ""},
		{"GET", "/runtimes", "/runtimes?shoot=c-1&op_detail=last&kyma_config=true", ""},
		{"GET", "/runtimes", "/runtimes?shoot=none", ""},
		{"GET", "/runtimes", "/runtimes?state=succeded", ""},
		{"GET", "/orchestrations", "", ""},
		{"GET", "/orchestrations", "/orchestrations?page=9", ""},
		{"GET", "/orchestrations/{orchestration_id}", "/orchestrations/o-1", ""},
		{"GET", "/orchestrations/{orchestration_id}", "/orchestrations/o-9", ""},
		{"GET", "/orchestrations/{orchestration_id}/operations", "/orchestrations/o-1/operations", ""},
		{"GET", "/orchestrations/{orchestration_id}/operations", "/orchestrations/o-2/operations?state=failed", ""},
		{"GET", "/orchestrations/{orchestration_id}/operations/{operation_id}", "/orchestrations/o-1/operations/op-1", ""},
		{"GET", "/orchestrations/{orchestration_id}/operations/{operation_id}", "/orchestrations/o-1/operations/op-4", ""},
		{"GET", "/orchestrations/{orchestration_id}/leftout", "/orchestrations/o-1/leftout", ""},
		{"GET", "/orchestrations/{orchestration_id}/events", "/orchestrations/o-1/events", ""},
		{"GET", "/orchestrations/{orchestration_id}/events", "/orchestrations/o-1/events?operation_id=op-2&instance_ids=in-rt-2&level=error", ""},
		{"GET", "/orchestrations/{orchestration_id}/events", "/orchestrations/o-1/events?operation_id=none", ""},
		{"GET", "/orchestrations/{orchestration_id}/events", "/orchestrations/o-1/events?before=3&page_size=1", ""},
		{"GET", "/orchestrations/{orchestration_id}/events", "/orchestrations/o-1/events?before=3&page=1", ""},
		{"GET", "/events", "/events?instance_ids=in-rt-1,in-rt-2", ""},
		{"GET", "/events", "/events?before=2", ""},
		{"GET", "/events", "/events?before=1", ""},
		{"GET", "/events", "/events?instance_ids=in-rt-2&instance_ids=in-rt-1&level=info", ""},
		{"GET", "/events", "/events?instance_ids=none", ""},
		{"PUT", "/orchestrations/{orchestration_id}/cancel", "/orchestrations/o-2/cancel", ""},
		{"POST", "/orchestrations/{orchestration_id}/retry", "/orchestrations/o-1/retry", `{"operation-id":["op-2","op-1","none"]}`},
		{"POST", "/orchestrations/{orchestration_id}/retry", "/orchestrations/o-2/retry", ``},
		{"POST", "/upgrade/cluster", "", `{"targets":{"include":[{"target":"all"}]}}`},
		{"POST", "/upgrade/cluster", "", `{"targets":{"include":[{}]}}`},
		{"POST", "/upgrade/kyma", "", `{"version":"fast","targets":{"include":[{"target":"all"}]}}`},
		{"POST", "/upgrade/kyma", "", `{"targets":{"include":[{"target":"all"}]}}`},
		{"POST", "/upgrade/cluster/preview", "/upgrade/cluster/preview?page_size=2", `{"targets":{"include":[{"target":"all"},{"shoot":"c-77"}]},"strategy":{"maintenanceWindow":true,"parallel":{"workers":5}}}`},
		{"POST", "/upgrade/cluster/preview", "/upgrade/cluster/preview?page=9", `{"targets":{"include":[{"target":"all"}]}}`},
		{"POST", "/upgrade/cluster/preview", "", `{"targets":{"include":[{}]}}`},
		{"POST", "/upgrade/kyma/preview", "", `{"version":"fast","targets":{"include":[{"shoot":"c-1"}]},"strategy":{"scheduleTime":"2030-01-02T21:00:00Z"}}`},
		{"POST", "/runtimes/import", "", page(t, document("rt-5", "c-5"))},
		{"POST", "/runtimes/import", "", `{"data":[{"instanceID":""}]}`},
		{"DELETE", "/runtimes/{instance_id}", "/runtimes/in-rt-3", ""},
		{"DELETE", "/runtimes/{instance_id}", "/runtimes/in-rt-4", ""},
		{"DELETE", "/runtimes/{instance_id}", "/runtimes/in-rt-4", ""},
		{"DELETE", "/runtimes/{instance_id}", "/runtimes/in-rt-9", ""},
	} {
		if call.path == "" {
			call.path = call.pattern
		}
		r := f.send(request(call.method, call.path, strings.NewReader(call.body), "X-Request-Id", "request-1"))
		api.conforms(t, call.pattern, call.method, r)
		seen[call.method+" "+call.pattern] = true
		fmt.Fprintf(&text, "%s %s\n%s", call.method, call.path, call.body)
		if call.body != "" {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "%d %s\n", r.status, r.header.Get("Content-Type"))
		if total := r.header.Get("X-Total-Count"); total != "" {
			fmt.Fprintf(&text, "X-Total-Count: %s\n", total)
		}
		fmt.Fprintf(&text, "%s\n", uuids.ReplaceAllString(r.text, "(uuid)"))
	}
	golden(t, "answers.txt", text.String())
	for _, route := range httpapi.Routes() {
		require.True(t, seen[route.Method+" "+route.Pattern] || route.ID == "openAPI", "no golden answer of "+route.ID)
	}
}
