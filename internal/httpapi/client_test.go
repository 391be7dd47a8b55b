package httpapi_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// The published clients speak to the API as it is: every call, with values set and with none.
func TestThePublishedClients(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) {
		o.BasePath, o.PageSize = "/api", 2
		o.Parameters = fleet.ParameterOptions{DefaultKymaVersion: "regular"}
	})
	server := httptest.NewServer(f.handler)
	t.Cleanup(server.Close)
	client := orchestration.NewExtendedClient(t.Context(), server.URL+"/api/", nil)
	runtimes := runtime.NewClient(server.URL+"/api", server.Client())

	var docs []runtime.RuntimeDTO
	for i := range 5 {
		docs = append(docs, document(fmt.Sprintf("rt-%d", i), fmt.Sprintf("c-%d", i)))
	}
	imported, err := client.ImportRuntimes(runtime.RuntimesPage{Data: docs, Count: 5, TotalCount: 5})
	require.NoError(t, err)
	require.Equal(t, orchestration.ImportResponse{Imported: 5}, imported)
	page, err := runtimes.ListRuntimes(runtime.ListParameters{})
	require.NoError(t, err)
	require.Len(t, page.Data, 5, "all pages")
	page, err = runtimes.ListRuntimes(runtime.ListParameters{
		Page: 1, PageSize: 3, OperationDetail: runtime.LastOperation, KymaConfig: true, ClusterConfig: true, GlobalAccountIDs: []string{""}, SubAccountIDs: []string{""},
		InstanceIDs: []string{"in-rt-1"}, RuntimeIDs: []string{"rt-1"}, Regions: []string{""}, Shoots: []string{"c-1", "c-2"}, Plans: []string{"aws"},
		States: []runtime.State{runtime.AllState}, Expired: false, Events: "all",
	})
	require.NoError(t, err)
	require.Len(t, page.Data, 1)

	_, err = client.UpgradeCluster(orchestration.Parameters{})
	var refused *orchestration.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 400, refused.Status)
	require.ErrorContains(t, err, "targets.include")
	all := orchestration.Parameters{Targets: orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{{Target: orchestration.TargetAll}}}}
	kyma, err := client.UpgradeKyma(all)
	require.NoError(t, err)
	cluster, err := client.UpgradeCluster(all)
	require.NoError(t, err)
	status, err := client.GetOrchestration(kyma.OrchestrationID)
	require.NoError(t, err)
	require.Equal(t, "regular", status.Parameters.Version)
	// What a client has read it can send again.
	again, err := client.UpgradeKyma(status.Parameters)
	require.NoError(t, err)
	require.NotEqual(t, kyma, again)
	require.NoError(t, client.CancelOrchestration(cluster.OrchestrationID))
	require.NoError(t, client.CancelOrchestration(cluster.OrchestrationID))
	list, err := client.ListOrchestrations(orchestration.ListParameters{States: []string{orchestration.Pending}})
	require.NoError(t, err)
	require.Len(t, list.Data, 2)

	states := []fleet.State{fleet.Failed, fleet.Pending, fleet.Failed, fleet.Pending, fleet.Failed}
	var ops []fleet.Operation
	for i, state := range states {
		ops = append(ops, fleet.Operation{ID: fmt.Sprintf("op-%d", i), State: state, RuntimeID: fmt.Sprintf("rt-%d", i), InstanceID: fmt.Sprintf("in-rt-%d", i)})
	}
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress, ResolvedAt: noon}, ops...)
	filter := []string{orchestration.Failed, orchestration.Pending}
	operations, err := client.ListOperations("o-1", orchestration.ListParameters{States: filter})
	require.NoError(t, err)
	require.Len(t, operations.Data, 5)
	require.Equal(t, []string{orchestration.Failed, orchestration.Pending}, filter)
	detail, err := client.GetOperation("o-1", "op-0")
	require.NoError(t, err)
	require.Equal(t, "op-0", detail.OperationID)
	retried, err := client.RetryOrchestration("o-1", []string{"op-0", "a & b"}, true)
	require.NoError(t, err)
	require.Len(t, retried.RetryShoots, 1)
	require.Equal(t, []string{"a & b"}, retried.InvalidOperations)
	who, err := client.WhoAmI()
	require.NoError(t, err)
	require.Equal(t, orchestration.Identity{User: "local", Roles: []string{"admin"}}, who)
	logins, err := client.ListLogins()
	require.NoError(t, err)
	require.Equal(t, orchestration.LoginList{Data: []orchestration.Login{}}, logins)
	left, err := client.ListLeftOut("o-1", orchestration.ListParameters{})
	require.NoError(t, err)
	require.Empty(t, left.Data)
	_, err = client.GetOperation("o-1", "op-9")
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 404, refused.Status)
}
