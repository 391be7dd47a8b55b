package store

import (
	"context"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// RuntimesFrom returns the runtimes whose documents are of a source, by instance ID, without those that are deprovisioned.
func (s *Store) RuntimesFrom(ctx context.Context, source string) ([]fleet.SourcedRuntime, error) {
	var rows []runtimeRow
	err := s.read.NewRaw("SELECT instance_id, runtime_id, shoot_name FROM runtimes WHERE source = ? AND state NOT IN (?, ?) ORDER BY instance_id",
		source, string(runtime.StateDeprovisioned), string(runtime.StateDeprovisionIncomplete)).Scan(ctx, &rows)
	if err != nil {
		return nil, storeError(ctx, "list the runtimes of a source", err)
	}
	out := make([]fleet.SourcedRuntime, len(rows))
	for i, r := range rows {
		out[i] = fleet.SourcedRuntime{InstanceID: r.InstanceID, RuntimeID: r.RuntimeID, ShootName: r.ShootName}
	}
	return out, nil
}
