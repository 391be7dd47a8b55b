package runtime

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/dtotest"
)

func TestTypesKeepTheirJSONForm(t *testing.T) {
	t.Parallel()
	dtotest.RoundTrip[RuntimeDTO](t, "runtime_dto")
	dtotest.RoundTrip[RuntimeStatus](t, "runtime_status")
	dtotest.RoundTrip[Operation](t, "operation")
	dtotest.RoundTrip[OperationsData](t, "operations_data")
	dtotest.RoundTrip[RuntimesPage](t, "runtimes_page")
}

func TestUnknownStatesAreKept(t *testing.T) {
	t.Parallel()
	var status RuntimeStatus
	require.NoError(t, json.Unmarshal([]byte(`{"state":"hibernated","provisioning":{"state":"queued","type":"move"}}`), &status))
	require.Equal(t, State("hibernated"), status.State)
	require.Equal(t, OperationType("move"), status.Provisioning.Type)
}
