package fleet

import (
	"context"

	"github.com/swell-fleet/swell/runtime"
)

// Shoots tell which runtimes have a Shoot at present.
type Shoots interface {
	// RuntimeIDs returns the runtime IDs of all Shoots, also of those that are being deleted. While nobody can tell what is missing, it returns an error
	// of KindUnavailable.
	RuntimeIDs(ctx context.Context) (map[string]bool, error)
}

// WithoutShoot returns the instance IDs of the runtimes whose runtime ID no Shoot has, in their order. Those in states that a list leaves out
// are among them only where all is true: suspended and deprovisioned runtimes are meant to have none.
func WithoutShoot(known []runtime.RuntimeDTO, seen map[string]bool, all bool) []string {
	var found []string
	for i := range known {
		if (all || !HiddenRuntimeState(known[i].Status.State)) && !seen[known[i].RuntimeID] {
			found = append(found, known[i].InstanceID)
		}
	}
	return found
}
