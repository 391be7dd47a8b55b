package inventory

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/swell-fleet/swell/internal/fleet"
)

var _ fleet.Sightings = (*GardenerSource)(nil)

// ShootOf returns the name of the Shoot that has a runtime ID, also while it is being deleted; empty when none has it. A cache that does not follow the
// Shoots shows an old picture: what it does not have may be there, so it says nothing then.
func (g *GardenerSource) ShootOf(_ context.Context, runtimeID string) (string, error) {
	// The order counts: what is missing after the cache was seen to follow is not there.
	following := g.shoots.Following()
	shoots, err := g.shoots.lister.List(labels.Everything())
	if err != nil {
		return "", fmt.Errorf("list the Shoots: %w", err)
	}
	for _, shoot := range shoots {
		if runtimeIDOf(shoot) == runtimeID {
			return shoot.Name, nil
		}
	}
	if !following {
		return "", fleet.Unavailable("nobody can tell at the moment whether there is a Shoot of the runtime: the Shoots are not followed", nil)
	}
	return "", nil
}
