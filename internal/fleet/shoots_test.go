package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

func TestRuntimesWhoseIDNoShootHas(t *testing.T) {
	t.Parallel()
	known := []runtime.RuntimeDTO{{InstanceID: "i-1", RuntimeID: "rt-1"}, {InstanceID: "i-2", RuntimeID: "rt-2"}, {InstanceID: "i-3"}, {InstanceID: "i-4", RuntimeID: "rt-4"}}
	known[3].Status.State = runtime.StateSuspended
	seen := map[string]bool{"rt-1": true}
	require.Equal(t, []string{"i-2", "i-3"}, fleet.WithoutShoot(known, seen, false))
	require.Equal(t, []string{"i-2", "i-3", "i-4"}, fleet.WithoutShoot(known, seen, true), "a suspended one has none either")
	require.Empty(t, fleet.WithoutShoot(known[:1], seen, true))
}
