package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// touchedRuntimes are the instance IDs of runtimes whose state may have changed. The value is false when all that happened is that an
// operation is in progress, which changes nothing for a runtime that is upgrading already.
type touchedRuntimes map[string]bool

func (t touchedRuntimes) add(instanceID string, state fleet.State) {
	if instanceID != "" {
		t[instanceID] = t[instanceID] || state != fleet.InProgress
	}
}

// refreshStates derives the states of runtimes anew and writes those that changed. The rows are locked first and in one order, so that an
// import at the same time neither misses the operations nor deadlocks with them.
func (t *Tx) refreshStates(ctx context.Context, touched touchedRuntimes) error {
	ids := slices.Sorted(maps.Keys(touched))
	for chunk := range slices.Chunk(ids, lookupChunk) {
		var rows []runtimeRow
		err := t.scan(ctx, "read states of runtimes", &rows,
			"SELECT instance_id, state, history FROM runtimes WHERE instance_id IN (?) ORDER BY instance_id"+rowLock(t.Dialect(), lockRow), bun.List(chunk))
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(r runtimeRow) bool {
			return !touched[r.InstanceID] && r.State == string(runtime.StateUpgrading)
		})
		if err := t.deriveStates(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// deriveStates writes the states of locked rows where they have changed.
func (t *Tx) deriveStates(ctx context.Context, rows []runtimeRow) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].InstanceID
	}
	own, err := ownMarks(ctx, t.tx, ids)
	if err != nil {
		return storeError(ctx, "read operations of runtimes", err)
	}
	var changes tupleValues
	counts := stateCounts{}
	for i := range rows {
		r := &rows[i]
		state := fleet.DeriveState(historyOf(r.History), own[r.InstanceID])
		if string(state) != r.State {
			changes = append(changes, []any{r.InstanceID, string(state), fleet.HiddenRuntimeState(state)})
			counts.move(r.State, string(state))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = t.exec(ctx, "save states of runtimes", `WITH v (v_id, v_state, v_hidden) AS (VALUES ?)
		UPDATE runtimes SET state = v.v_state, hidden = v.v_hidden FROM v WHERE runtimes.instance_id = v.v_id`, changes)
	if err != nil {
		return err
	}
	return t.addCounts(ctx, counts)
}

// ownMarks reads what Swell's own operations mean for the states of runtimes, by instance ID.
func ownMarks(ctx context.Context, db bun.IDB, instanceIDs []string) (map[string][]fleet.Mark, error) {
	out := make(map[string][]fleet.Mark, len(instanceIDs))
	for chunk := range slices.Chunk(instanceIDs, lookupChunk) {
		var rows []markRow
		if err := db.NewRaw(markQuery+" AND instance_id IN (?)", bun.List(chunk)).Scan(ctx, &rows); err != nil {
			return nil, err
		}
		for i := range rows {
			addMark(out, &rows[i])
		}
	}
	return out, nil
}

// ownOnly is the condition of the operations that have touched their runtimes. It repeats that of the index, for the sake of SQLite.
const ownOnly = "dry_run = FALSE AND state <> 'pending' AND state IN ('in progress', 'succeeded', 'failed')"

// markQuery reads what operations mean for the states of their runtimes.
const markQuery = "SELECT id, instance_id, type, state, started_at, created_at FROM operations WHERE " + ownOnly

// markRow is the part of an operation that markQuery reads.
type markRow struct {
	ID         string `bun:"id"`
	InstanceID string `bun:"instance_id"`
	Type       string `bun:"type"`
	State      string `bun:"state"`
	StartedAt  int64  `bun:"started_at"`
	CreatedAt  int64  `bun:"created_at"`
}

func addMark(marks map[string][]fleet.Mark, r *markRow) {
	op := fleet.Operation{
		ID: r.ID, Type: orchestration.Type(r.Type), State: stateOf(r.State), StartedAt: timeOf(r.StartedAt), CreatedAt: timeOf(r.CreatedAt),
	}
	if mark, ok := op.Mark(); ok {
		marks[r.InstanceID] = append(marks[r.InstanceID], mark)
	}
}

// historyOf reads a stored history. One that cannot be read is empty.
func historyOf(text string) fleet.History {
	var h fleet.History
	if text == "" || json.Unmarshal([]byte(text), &h) != nil {
		return fleet.History{}
	}
	return h
}

// stateCounts are changes of the numbers of runtimes by state.
type stateCounts map[string]int

func (c stateCounts) move(from, to string) {
	if from != "" {
		c[from]--
	}
	if to != "" {
		c[to]++
	}
}

// foldCounts is how many rows of runtime_counts are folded into one per state at a time, and, by the number that a transaction ends its clock
// with, about how rarely.
const (
	foldCounts = 2000
	foldEvery  = 64
)

// addCounts records changes of the numbers of runtimes by state.
func (t *Tx) addCounts(ctx context.Context, counts stateCounts) error {
	var rows tupleValues
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[state]; n != 0 {
			rows = append(rows, []any{state, n})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := t.exec(ctx, "count runtimes", "INSERT INTO runtime_counts (state, n) VALUES ?", rows); err != nil {
		return err
	}
	if t.now.UnixMicro()%foldEvery != 0 {
		return nil
	}
	return t.fold(ctx)
}

// fold puts the rows of runtime_counts together. Rows that another transaction folds at the same time are left to it.
func (t *Tx) fold(ctx context.Context) error {
	var removed []struct {
		State string `bun:"state"`
		N     int    `bun:"n"`
	}
	picked := "SELECT id FROM runtime_counts ORDER BY id LIMIT ?"
	condition := "id IN (" + picked + ")"
	if t.Dialect() == Postgres {
		condition = "id = ANY(ARRAY(" + picked + " FOR UPDATE SKIP LOCKED))"
	}
	if err := t.scan(ctx, "fold counts", &removed, "DELETE FROM runtime_counts WHERE "+condition+" RETURNING state, n", foldCounts); err != nil {
		return err
	}
	sums := stateCounts{}
	for _, r := range removed {
		sums[r.State] += r.N
	}
	var rows tupleValues
	for _, state := range slices.Sorted(maps.Keys(sums)) {
		if n := sums[state]; n != 0 {
			rows = append(rows, []any{state, n})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := t.exec(ctx, "fold counts", "INSERT INTO runtime_counts (state, n) VALUES ?", rows)
	return err
}
