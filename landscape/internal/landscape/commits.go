package landscape

import (
	"time"

	"github.com/swell-fleet/swell/landscape/internal/audit"
	"github.com/swell-fleet/swell/landscape/internal/shootstore"
)

// committed records a change of a Shoot, unless only its status or metadata
// changed, or the simulator has laid it down.
func (l *Landscape) committed(change shootstore.Change) {
	commit := audit.Commit{
		Time: time.Now().UTC(), Namespace: change.Namespace, Name: change.Name, Revision: change.Revision, Change: audit.Updated,
	}
	if change.Before != nil {
		commit.OldVersion, commit.OldGeneration = change.Before.Version, change.Before.Generation
	}
	if change.After != nil {
		commit.NewVersion, commit.NewGeneration = change.After.Spec.Kubernetes.Version, change.After.Generation
	}
	switch {
	case change.Before == nil:
		if len(change.After.ManagedFields) == 0 {
			return // It did not come through the API.
		}
		commit.Change = audit.Created
	case change.After == nil:
		commit.Change = audit.Deleted
	case commit.OldVersion == commit.NewVersion && commit.OldGeneration == commit.NewGeneration:
		return
	}
	l.audit.AddCommit(commit)
}
