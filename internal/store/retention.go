package store

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
)

// eventsPerOrchestration bounds how many old events a call of DeleteFinishedBefore removes, by its limit of orchestrations.
const eventsPerOrchestration = 1000

// DeleteFinishedBefore removes ended orchestrations that are older than before, with all that belongs to them, and old events; at most limit
// orchestrations and a thousand times as many events. It returns how many orchestrations it removed.
func (t *Tx) DeleteFinishedBefore(ctx context.Context, before time.Time, limit int) (int, error) {
	var ids []string
	err := t.scan(ctx, "find old orchestrations", &ids,
		"SELECT id FROM orchestrations WHERE finished_at > 0 AND finished_at < ? AND state IN ('succeeded', 'failed', 'canceled') ORDER BY finished_at LIMIT ?"+
			rowLock(t.Dialect(), lockRow), micros(before), limit)
	if err != nil {
		return 0, err
	}
	if _, err := t.exec(ctx, "delete old events", "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at < ? ORDER BY at LIMIT ?)",
		micros(before), max(limit, 1)*eventsPerOrchestration); err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		return 0, nil
	}
	var instances []string
	err = t.scan(ctx, "find runtimes of old orchestrations", &instances,
		"SELECT DISTINCT instance_id FROM operations WHERE orchestration_id IN (?) AND started_at > 0 AND dry_run = FALSE", bun.List(ids))
	if err != nil {
		return 0, err
	}
	for _, query := range []string{
		"DELETE FROM events WHERE orchestration_id IN (?) AND orchestration_id <> ''",
		"DELETE FROM operations WHERE orchestration_id IN (?)",
		"DELETE FROM left_out WHERE orchestration_id IN (?)",
		"DELETE FROM retries WHERE orchestration_id IN (?)",
		"DELETE FROM orchestrations WHERE id IN (?)",
	} {
		if _, err := t.exec(ctx, "delete old orchestrations", query, bun.List(ids)); err != nil {
			return 0, err
		}
	}
	slices.Sort(instances)
	touched := touchedRuntimes{}
	for _, id := range instances {
		touched.add(id, fleet.Succeeded)
	}
	return len(ids), t.refreshStates(ctx, touched)
}
