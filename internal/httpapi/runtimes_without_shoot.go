package httpapi

import (
	"context"
	"fmt"
	"slices"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// maxWithoutShoot is how many runtimes without a Shoot a list can be about. There are more only where deprovisioned ones are asked for.
const maxWithoutShoot = 10_000

// keepWithoutShoot narrows a filter down to the runtimes that have no Shoot now. It returns false when there is none.
func (a *api) keepWithoutShoot(ctx context.Context, f *fleet.RuntimeFilter) (bool, error) {
	if a.Shoots == nil {
		return false, badRequest(runtime.WithoutShootParam, "cannot be told here, because the server has no Gardener project to look at")
	}
	// In this order a runtime that is new at this moment is not taken for one whose Shoot is gone.
	known, err := a.Reader.AllRuntimes(ctx)
	if err != nil {
		return false, fmt.Errorf("list the runtimes: %w", err)
	}
	seen, err := a.Shoots.RuntimeIDs(ctx)
	if err != nil {
		return false, fmt.Errorf("look for the Shoots: %w", err)
	}
	gone := fleet.WithoutShoot(known, seen, len(f.States) > 0)
	if len(f.InstanceIDs) > 0 {
		gone = slices.DeleteFunc(gone, func(id string) bool { return !slices.Contains(f.InstanceIDs, id) })
	}
	if len(gone) > maxWithoutShoot {
		return false, badRequest(runtime.WithoutShootParam, fmt.Sprintf("is true for more than %d runtimes; without a state, or with other ones, there are fewer", maxWithoutShoot))
	}
	f.InstanceIDs = gone
	return len(gone) > 0, nil
}
