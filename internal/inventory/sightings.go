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

var _ fleet.Shoots = (*Shoots)(nil)

// RuntimeIDs returns the runtime IDs of all Shoots, also of those that are being deleted. A cache that does not follow the Shoots says nothing about what is
// missing, and neither does one without any runtime, which looks like a wrong namespace or role.
func (s *Shoots) RuntimeIDs(context.Context) (map[string]bool, error) {
	// The order counts: what is missing after the cache was seen to follow is not there.
	following := s.Following()
	shoots, err := s.lister.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list the Shoots: %w", err)
	}
	if !following {
		return nil, fleet.Unavailable("nobody can tell at the moment which runtimes have no Shoot: the Shoots are not followed", nil)
	}
	ids := make(map[string]bool, len(shoots))
	for _, shoot := range shoots {
		if id := runtimeIDOf(shoot); id != "" {
			ids[id] = true
		}
	}
	if len(ids) == 0 {
		return nil, fleet.Unavailable("nobody can tell which runtimes have no Shoot: there is no Shoot of any runtime, as if the namespace or the role were wrong", nil)
	}
	return ids, nil
}
