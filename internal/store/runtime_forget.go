package store

import (
	"context"

	"github.com/swell-fleet/swell/internal/fleet"
)

// LockRuntime returns the present record of a runtime and keeps others from changing it until the transaction ends.
func (t *Tx) LockRuntime(ctx context.Context, instanceID string) (fleet.Runtime, error) {
	var rows []runtimeRow
	err := t.scan(ctx, "lock a runtime", &rows,
		"SELECT "+columns[runtimeRow](t.tx, "")+" FROM runtimes WHERE instance_id = ?"+rowLock(t.Dialect(), lockRow), cleanText(instanceID))
	if err != nil {
		return fleet.Runtime{}, err
	}
	if len(rows) == 0 {
		return fleet.Runtime{}, fleet.NotFoundf("the runtime does not exist")
	}
	return rows[0].record(), nil
}

// OpenOperations returns the operations on a runtime of an instance that are pending or in progress, by ID.
func (t *Tx) OpenOperations(ctx context.Context, instanceID, runtimeID string) ([]fleet.Operation, error) {
	return t.operations(ctx, "find open operations",
		"WHERE runtime_id = ? AND instance_id = ? AND state IN ('pending', 'in progress') ORDER BY id", cleanText(runtimeID), cleanText(instanceID))
}

// DeleteRuntime removes the record of a runtime. Its operations and its events stay.
func (t *Tx) DeleteRuntime(ctx context.Context, instanceID string) error {
	var states []string
	if err := t.scan(ctx, "delete a runtime", &states, "DELETE FROM runtimes WHERE instance_id = ? RETURNING state", cleanText(instanceID)); err != nil {
		return err
	}
	if len(states) == 0 {
		return fleet.NotFoundf("the runtime does not exist")
	}
	counts := stateCounts{}
	counts.move(states[0], "")
	return t.addCounts(ctx, counts)
}
