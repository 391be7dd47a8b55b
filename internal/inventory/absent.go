package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// putAbsent makes runtimes of this source deprovisioned whose Shoot is gone. One counts as gone after it was missing for a while from a cache that follows
// its source. A cache without any runtime looks like a wrong namespace or role, and makes nothing gone.
func (g *GardenerSource) putAbsent(ctx context.Context, shoots map[string]*gardencorev1beta1.Shoot, now time.Time) error {
	if len(shoots) == 0 || !g.shoots.Following() {
		return nil
	}
	known, err := g.store.RuntimesFrom(ctx, fleet.SourceGardener)
	if err != nil {
		return fmt.Errorf("list the runtimes of the Shoots: %w", err)
	}
	missing := make(map[string]time.Time, len(g.missing))
	var gone []string
	for _, r := range known {
		if shoots[r.RuntimeID] != nil {
			continue
		}
		since, ok := g.missing[r.InstanceID]
		if !ok || since.After(now) {
			since = now
		}
		missing[r.InstanceID] = since
		if now.Sub(since) >= g.grace {
			gone = append(gone, r.InstanceID)
		}
	}
	g.missing = missing
	for chunk := range slices.Chunk(gone, putChunk) {
		if err := g.putGone(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// putGone makes runtimes deprovisioned.
func (g *GardenerSource) putGone(ctx context.Context, instanceIDs []string) error {
	filter := fleet.RuntimeFilter{InstanceIDs: instanceIDs, States: []runtime.State{runtime.AllState}, WithoutOwn: true}
	rows, _, err := g.store.ListRuntimes(ctx, filter, fleet.Page{Number: 1, Size: len(instanceIDs)})
	if err != nil {
		return fmt.Errorf("read runtimes without a Shoot: %w", err)
	}
	docs := make([]runtime.RuntimeDTO, 0, len(rows))
	for i := range rows {
		if rows[i].Source != fleet.SourceGardener {
			continue
		}
		docs = append(docs, withoutShoot(rows[i].DTO, g.missing[rows[i].DTO.InstanceID]))
	}
	err = g.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) error {
		if _, err := tx.PutRuntimes(ctx, fleet.SourceGardener, docs); err != nil {
			return err
		}
		events := make([]fleet.Event, len(docs))
		for i := range docs {
			events[i] = fleet.Event{
				Kind: fleet.EventImported, Level: fleet.LevelInfo, RuntimeID: docs[i].RuntimeID, InstanceID: docs[i].InstanceID, ShootName: docs[i].ShootName,
				Message: fleet.Line("the Shoot " + docs[i].ShootName + " is gone; the runtime counts as deprovisioned"),
			}
		}
		return tx.AppendEvents(ctx, events)
	})
	if err != nil {
		return fmt.Errorf("write runtimes without a Shoot: %w", err)
	}
	for i := range docs {
		delete(g.missing, docs[i].InstanceID)
	}
	g.logger.InfoContext(ctx, "runtimes whose shoots are gone count as deprovisioned", "runtimes", len(docs))
	return nil
}

// withoutShoot returns the document of a runtime whose Shoot is missing since a point in time. A deletion that the Shoot showed before has succeeded.
func withoutShoot(doc runtime.RuntimeDTO, since time.Time) runtime.RuntimeDTO {
	since = since.UTC()
	deletion := runtime.Operation{CreatedAt: since, OperationID: "shoot-of-" + doc.RuntimeID + "-gone", FinishedStages: []string{}}
	if doc.Status.Deprovisioning != nil {
		deletion = *doc.Status.Deprovisioning
	}
	deletion.Type, deletion.State, deletion.UpdatedAt, deletion.Description = runtime.Deprovision, string(fleet.Succeeded), since, "the Shoot is gone"
	doc.Status.Deprovisioning = &deletion
	doc.Status.DeletedAt = &since
	doc.Status.State = ""
	return doc
}
