package orchestration_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/dtotest"
	"github.com/swell-fleet/swell/orchestration"
)

func TestTypesKeepTheirJSONForm(t *testing.T) {
	t.Parallel()
	dtotest.RoundTrip[orchestration.Parameters](t, "parameters")
	dtotest.RoundTrip[orchestration.KymaParameters](t, "kyma_parameters")
	dtotest.RoundTrip[orchestration.KubernetesParameters](t, "kubernetes_parameters")
	dtotest.RoundTrip[orchestration.TargetSpec](t, "target_spec")
	dtotest.RoundTrip[orchestration.RuntimeTarget](t, "runtime_target")
	dtotest.RoundTrip[orchestration.StrategySpec](t, "strategy_spec")
	dtotest.RoundTrip[orchestration.ParallelStrategySpec](t, "parallel_strategy_spec")
	dtotest.RoundTrip[orchestration.UpgradeResponse](t, "upgrade_response")
	dtotest.RoundTrip[orchestration.RetryResponse](t, "retry_response")
	dtotest.RoundTrip[orchestration.ImportResponse](t, "import_response")
	dtotest.RoundTrip[orchestration.ForgetResponse](t, "forget_response")
	dtotest.RoundTrip[orchestration.StatusResponse](t, "status_response")
	dtotest.RoundTrip[orchestration.StatusResponseList](t, "status_response_list")
	dtotest.RoundTrip[orchestration.OperationResponse](t, "operation_response")
	dtotest.RoundTrip[orchestration.OperationResponseList](t, "operation_response_list")
	dtotest.RoundTrip[orchestration.OperationDetailResponse](t, "operation_detail_response")
	dtotest.RoundTrip[orchestration.Runtime](t, "runtime")
	dtotest.RoundTrip[orchestration.RuntimeOperation](t, "runtime_operation")
	dtotest.RoundTrip[orchestration.LeftOut](t, "left_out")
	dtotest.RoundTrip[orchestration.LeftOutList](t, "left_out_list")
	dtotest.RoundTrip[orchestration.Resolution](t, "resolution")
	dtotest.RoundTrip[orchestration.Event](t, "event")
	dtotest.RoundTrip[orchestration.EventList](t, "event_list")
	dtotest.RoundTrip[orchestration.Identity](t, "identity")
	dtotest.RoundTrip[orchestration.Login](t, "login")
	dtotest.RoundTrip[orchestration.LoginList](t, "login_list")
}

// The zero values that older clients always send mean that nothing was set.
func TestZeroValuesOfOlderClients(t *testing.T) {
	t.Parallel()
	var got orchestration.Parameters
	require.NoError(t, json.Unmarshal([]byte(`{"version":"","targets":{"include":null},"strategy":{"type":"","schedule":"",
		"parallel":{"workers":0}},"dryRun":false,"kyma":null,"kubernetes":null}`), &got))
	require.Equal(t, orchestration.Parameters{}, got)
}

// The fields of the embedded operation and those beside it are in one object, in both directions.
func TestEmbeddedTypesAreFlat(t *testing.T) {
	t.Parallel()
	detail := orchestration.OperationDetailResponse{}
	detail.OperationID, detail.KymaConfig.Version, detail.ClusterConfig.Name = "op-1", "2.20.5", "c-aa11"
	encoded, err := json.Marshal(detail)
	require.NoError(t, err)
	var flat map[string]any
	require.NoError(t, json.Unmarshal(encoded, &flat))
	require.Equal(t, "op-1", flat["operationID"])
	require.Contains(t, flat, "kymaConfig")
	require.Contains(t, flat, "clusterConfig")
	require.NotContains(t, flat, "OperationResponse")

	operation := orchestration.RuntimeOperation{Runtime: orchestration.Runtime{RuntimeID: "rt-1"}, ID: "op-1", DryRun: true}
	encoded, err = json.Marshal(operation)
	require.NoError(t, err)
	flat = nil
	require.NoError(t, json.Unmarshal(encoded, &flat))
	require.Equal(t, map[string]any{
		"runtimeId": "rt-1", "globalAccountId": "", "subaccountId": "", "shootName": "", "dryRun": true,
		"maintenanceWindowBegin": "0001-01-01T00:00:00Z", "maintenanceWindowEnd": "0001-01-01T00:00:00Z",
	}, flat)
}

// What a server sends in times of a window that has no date stays as it is.
func TestTimeOfDayStaysInItsOffset(t *testing.T) {
	t.Parallel()
	const document = `{"maintenanceWindowBegin":"0000-01-01T00:30:00+05:30","maintenanceWindowEnd":"0000-01-01T00:00:00+14:00"}`
	var operation orchestration.RuntimeOperation
	require.NoError(t, json.Unmarshal([]byte(document), &operation))
	encoded, err := json.Marshal(operation)
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"maintenanceWindowBegin":"0000-01-01T00:30:00+05:30"`)
	require.Contains(t, string(encoded), `"maintenanceWindowEnd":"0000-01-01T00:00:00+14:00"`)
	require.True(t, operation.MaintenanceWindowBegin.Before(time.Time{}))
}
