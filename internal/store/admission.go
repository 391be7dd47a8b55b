package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// candidateRow is a pending operation with what is known of its runtime.
type candidateRow struct {
	operationRow `bun:",extend"`

	KnownID    string `bun:"known_id,scanonly"`
	KnownState string `bun:"known_state,scanonly"`
}

// Candidates returns pending operations that may start now, in the order of admission.
//
// A window that has a begin and no end is open from its begin on. An operation that needs a window and has none never comes.
func (t *Tx) Candidates(ctx context.Context, orchestrationID string, limit int) ([]fleet.Candidate, error) {
	now := micros(t.now)
	var rows []candidateRow
	err := t.scan(ctx, "find candidates", &rows, `
		WITH picked AS (
			SELECT id FROM operations
			WHERE orchestration_id = ? AND state = 'pending' AND not_before <= ?
				AND (uses_window = FALSE OR (window_begin <> 0 AND window_begin <= ? AND window_order > ?))
				AND NOT EXISTS (SELECT 1 FROM operations AS b WHERE b.runtime_id = operations.runtime_id AND b.state = 'in progress')
			ORDER BY window_order, position LIMIT ?)
		SELECT `+columns[operationRow](t.tx, "op.")+`, coalesce(r.runtime_id, '') AS known_id, coalesce(r.state, '') AS known_state
		FROM picked JOIN operations AS op ON op.id = picked.id LEFT JOIN runtimes AS r ON r.instance_id = op.instance_id
		ORDER BY op.window_order, op.position`,
		orchestrationID, now, now, now, limit)
	if err != nil {
		return nil, err
	}
	if err := t.findInstances(ctx, rows); err != nil {
		return nil, err
	}
	out := make([]fleet.Candidate, len(rows))
	for i := range rows {
		out[i].Operation = rows[i].record()
		if rows[i].KnownState != "" && rows[i].KnownID == rows[i].RuntimeID {
			out[i].RuntimeKnown = true
			out[i].RuntimeState = runtime.State(rows[i].KnownState)
		}
	}
	return out, nil
}

// findInstances gives operations whose runtime was known by its runtime ID alone, when the targets were resolved, the instance ID that has become known
// since.
func (t *Tx) findInstances(ctx context.Context, candidates []candidateRow) error {
	var ids []string
	for i := range candidates {
		if c := &candidates[i]; c.KnownState == "" && c.InstanceID == c.RuntimeID {
			ids = append(ids, c.RuntimeID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []runtimeRow
	err := t.scan(ctx, "find runtimes", &rows, "SELECT instance_id, runtime_id, state FROM runtimes WHERE runtime_id IN (?) ORDER BY created_at, instance_id", bun.List(ids))
	if err != nil || len(rows) == 0 {
		return err
	}
	known := make(map[string]*runtimeRow, len(rows))
	for i := range rows {
		known[rows[i].RuntimeID] = &rows[i]
	}
	var moves tupleValues
	for i := range candidates {
		c := &candidates[i]
		if r := known[c.RuntimeID]; r != nil && c.KnownState == "" && c.InstanceID == c.RuntimeID {
			c.InstanceID, c.KnownID, c.KnownState = r.InstanceID, r.RuntimeID, r.State
			moves = append(moves, []any{c.ID, r.InstanceID})
		}
	}
	_, err = t.exec(ctx, "move operations", "WITH v (v_id, v_new) AS (VALUES ?) UPDATE operations SET instance_id = v.v_new FROM v WHERE operations.id = v.v_id", moves)
	return err
}

// PastWindows returns pending operations whose window has ended, the earliest first.
func (t *Tx) PastWindows(ctx context.Context, orchestrationID string, limit int) ([]fleet.Operation, error) {
	return t.operations(ctx, "find ended windows",
		"WHERE orchestration_id = ? AND state = 'pending' AND window_order <= ? AND uses_window = TRUE ORDER BY window_order, position LIMIT ?",
		orchestrationID, micros(t.now), limit)
}

// PendingOperations returns pending operations by position.
func (t *Tx) PendingOperations(ctx context.Context, orchestrationID string, limit int) ([]fleet.Operation, error) {
	return t.operations(ctx, "find pending operations",
		"WHERE orchestration_id = ? AND state = 'pending' ORDER BY position, id LIMIT ?", orchestrationID, limit)
}

// ExpiredOperations returns operations in progress whose lease has run out, skipping rows that another transaction holds.
func (t *Tx) ExpiredOperations(ctx context.Context, limit int) ([]fleet.Operation, error) {
	return t.operations(ctx, "find expired leases",
		"WHERE state = 'in progress' AND lease_until <= ? ORDER BY lease_until, id LIMIT ?"+rowLock(t.Dialect(), lockRowSkip),
		micros(t.now), limit)
}

// operations reads records by the end of a query.
func (t *Tx) operations(ctx context.Context, doing, where string, args ...any) ([]fleet.Operation, error) {
	var rows []operationRow
	if err := t.scan(ctx, doing, &rows, "SELECT "+columns[operationRow](t.tx, "")+" FROM operations "+where, args...); err != nil {
		return nil, err
	}
	return operationRecords(rows), nil
}

// NewestOnRuntimes returns for each runtime ID the newest operation of that type that is not a dry run and was not canceled.
func (t *Tx) NewestOnRuntimes(ctx context.Context, kind orchestration.Type, runtimeIDs []string) (map[string]fleet.Operation, error) {
	out := make(map[string]fleet.Operation, len(runtimeIDs))
	for chunk := range slices.Chunk(runtimeIDs, lookupChunk) {
		ops, err := t.operations(ctx, "find the newest operations", `
			WHERE id IN (SELECT id FROM (
				SELECT id, row_number() OVER (PARTITION BY runtime_id ORDER BY created_at DESC, id DESC) AS age FROM operations
				WHERE runtime_id IN (?) AND type = ? AND dry_run = FALSE AND state <> 'canceled') AS aged WHERE age = 1)`,
			bun.List(chunk), string(kind))
		if err != nil {
			return nil, err
		}
		for _, op := range ops {
			out[op.RuntimeID] = op
		}
	}
	return out, nil
}

// RetryCandidates returns operations of an orchestration that failed or were canceled and are not superseded, by position.
func (t *Tx) RetryCandidates(ctx context.Context, orchestrationID string) ([]fleet.Operation, error) {
	return t.operations(ctx, "find what may be repeated",
		"WHERE orchestration_id = ? AND superseded = FALSE AND state IN ('failed', 'canceled') ORDER BY position, id", orchestrationID)
}

// InFlight returns the operations in progress.
func (s *Store) InFlight(ctx context.Context) ([]fleet.InFlight, error) {
	var rows []operationRow
	err := s.read.NewRaw("SELECT id, orchestration_id, type, runtime_id, shoot_name, job_id FROM operations WHERE state = 'in progress'").Scan(ctx, &rows)
	if err != nil {
		return nil, storeError(ctx, "list operations in progress", err)
	}
	out := make([]fleet.InFlight, len(rows))
	for i, r := range rows {
		out[i] = fleet.InFlight{
			OperationID: r.ID, OrchestrationID: r.OrchestrationID, Type: orchestration.Type(r.Type), RuntimeID: r.RuntimeID,
			ShootName: r.ShootName, JobID: r.JobID,
		}
	}
	return out, nil
}
