package gqlschema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/dtotest"
)

func TestTypesKeepTheirJSONForm(t *testing.T) {
	t.Parallel()
	dtotest.RoundTrip[KymaConfigInput](t, "kyma_config_input")
	dtotest.RoundTrip[GardenerConfigInput](t, "gardener_config_input")
	dtotest.RoundTrip[UpgradeRuntimeInput](t, "upgrade_runtime_input")
	dtotest.RoundTrip[UpgradeShootInput](t, "upgrade_shoot_input")
	dtotest.RoundTrip[OperationStatus](t, "operation_status")
	dtotest.RoundTrip[RuntimeStatus](t, "runtime_status")
}

func TestUnknownEnumValuesAreKept(t *testing.T) {
	t.Parallel()
	var status OperationStatus
	require.NoError(t, json.Unmarshal([]byte(`{"operation":"MoveToTheMoon","state":"Paused"}`), &status))
	require.Equal(t, OperationType("MoveToTheMoon"), status.Operation)
	require.Equal(t, OperationState("Paused"), status.State)
	require.False(t, status.Operation.IsValid())
	require.False(t, status.State.IsValid())

	var kyma KymaConfigInput
	require.NoError(t, json.Unmarshal([]byte(`{"profile":"Tiny","conflictStrategy":"Ask","components":[{"conflictStrategy":""}]}`), &kyma))
	require.Equal(t, KymaProfile("Tiny"), *kyma.Profile)
	require.Equal(t, ConflictStrategy("Ask"), *kyma.ConflictStrategy)
	require.Equal(t, ConflictStrategy(""), *kyma.Components[0].ConflictStrategy)

	back, err := json.Marshal(status)
	require.NoError(t, err)
	require.JSONEq(t, `{"operation":"MoveToTheMoon","state":"Paused"}`, string(back))
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":"2.20.0","profile":"Tiny","components":[null,{"component":"istio","configuration":[{"key":"a","value":"b","secret":true}]}]}`))
	f.Add([]byte(`{"name":"c-aa11","volumeSizeGB":50,"providerSpecificConfig":{"awsConfig":{"awsZones":[{"name":"a"}]}},"oidcConfig":{"signingAlgs":null}}`))
	f.Add([]byte(`{"state":"Paused","lastError":{"errMessage":"quota"},"runtimeConfiguration":{"clusterConfig":{"seed":null}}}`))
	f.Add([]byte(`{"autoScalerMax":1e400}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		decodeTwice[KymaConfigInput](t, data)
		decodeTwice[GardenerConfigInput](t, data)
		decodeTwice[UpgradeShootInput](t, data)
		decodeTwice[RuntimeStatus](t, data)
	})
}

// decodeTwice checks that what was read is written in a form that reads as the same.
func decodeTwice[T any](t *testing.T, data []byte) {
	t.Helper()
	var first, second T
	if json.Unmarshal(data, &first) != nil {
		return
	}
	written, err := json.Marshal(first)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(written, &second))
	again, err := json.Marshal(second)
	require.NoError(t, err)
	require.JSONEq(t, string(written), string(again))
}
