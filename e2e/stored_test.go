package e2e_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine/riverjobs"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// stored is an orchestration that is in the database before the server starts.
type stored struct {
	orchestration fleet.Orchestration
	operations    []fleet.Operation
}

// keep puts records into the database of a server that does not run, as of a time, beside the runtimes of the fleet.
func keep(t *testing.T, settings server.Settings, at time.Time, f *landscape.Fleet, records ...stored) {
	t.Helper()
	withStore(t, settings, at, func(ctx context.Context, tx fleet.Tx) error {
		if _, err := tx.PutRuntimes(ctx, "import", f.Runtimes(t).Data); err != nil {
			return err
		}
		for _, r := range records {
			o := r.orchestration
			for i := range r.operations {
				r.operations[i].OrchestrationID, r.operations[i].Position = o.ID, i
				o.Counts.Add(r.operations[i].State, 1)
			}
			o.CreatedAt, o.UpdatedAt = at, at
			if o.State != fleet.Pending {
				o.ResolvedAt = at
			}
			if err := tx.InsertOrchestration(ctx, &o); err != nil {
				return err
			}
			if err := tx.InsertOperations(ctx, r.operations); err != nil {
				return err
			}
		}
		return nil
	})
}

// withStore changes the database of a server that does not run, as of a time.
func withStore(t *testing.T, settings server.Settings, at time.Time, change func(ctx context.Context, tx fleet.Tx) error) {
	t.Helper()
	st, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{
		Dir: settings["data-dir"], Clock: func() time.Time { return at }, AfterMigrate: riverjobs.MigrateSQLite,
	})
	require.NoError(t, err)
	require.NoError(t, st.Update(t.Context(), change))
	require.NoError(t, st.Close())
}

// storedOrchestration is an orchestration in the form in which it is stored.
func storedOrchestration(id string, state fleet.State, p orchestration.Parameters) fleet.Orchestration {
	normal, notBefore, err := fleet.NormalizeParameters(orchestration.UpgradeClusterOrchestration, p, fleet.ParameterOptions{})
	if err != nil {
		panic(err)
	}
	return fleet.Orchestration{ID: id, Type: orchestration.UpgradeClusterOrchestration, State: state, Parameters: normal, NotBefore: notBefore}
}

// storedOperation is an operation on a Shoot of the fleet.
func storedOperation(t *testing.T, f *landscape.Fleet, shoot, id string, state fleet.State) fleet.Operation {
	t.Helper()
	rt := runtimeOf(t, f, shoot)
	return fleet.Operation{
		ID: id, Type: orchestration.UpgradeClusterOrchestration, State: state,
		RuntimeID: rt.RuntimeID, InstanceID: rt.InstanceID, GlobalAccountID: rt.GlobalAccountID, SubAccountID: rt.SubAccountID, ShootName: shoot,
	}
}

// runtimeOf returns the runtime of a Shoot.
func runtimeOf(t *testing.T, f *landscape.Fleet, shoot string) runtime.RuntimeDTO {
	t.Helper()
	for _, rt := range f.Runtimes(t).Data {
		if rt.ShootName == shoot {
			return rt
		}
	}
	t.Fatalf("no runtime has the Shoot %s", shoot)
	return runtime.RuntimeDTO{}
}
