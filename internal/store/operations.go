package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/swell-fleet/swell/internal/fleet"
)

// How many rows one statement carries: enough to make the round trip cheap, and few enough to keep the text of a statement in memory.
const (
	insertChunk = 500
	changeChunk = 500
	lookupChunk = 2000
)

// InsertOperations adds records. CreatedAt is set to the time of the transaction where it is zero; UpdatedAt always.
func (t *Tx) InsertOperations(ctx context.Context, ops []fleet.Operation) error {
	touched := touchedRuntimes{}
	for chunk := range slices.Chunk(ops, insertChunk) {
		rows := make([]operationRow, len(chunk))
		for i := range chunk {
			o := &chunk[i]
			if o.CreatedAt.IsZero() {
				o.CreatedAt = t.now
			}
			o.UpdatedAt = t.now
			rows[i] = newOperationRow(o)
			if _, ok := o.Mark(); ok {
				touched.add(o.InstanceID, o.State)
			}
		}
		if _, err := t.tx.NewInsert().Model(&rows).Returning("NULL").Exec(ctx); err != nil {
			return insertError(ctx, "insert operations", err)
		}
	}
	return t.refreshStates(ctx, touched)
}

// DeleteUnresolved removes operations and left-out rows of an orchestration whose resolution was cut short.
func (t *Tx) DeleteUnresolved(ctx context.Context, orchestrationID string, limit int) (int, error) {
	o, err := t.LockOrchestration(ctx, orchestrationID)
	if err != nil {
		return 0, err
	}
	if !o.ResolvedAt.IsZero() {
		return 0, fleet.Conflictf("the orchestration is resolved")
	}
	if _, err := t.exec(ctx, "delete what was left out", "DELETE FROM left_out WHERE orchestration_id = ?", orchestrationID); err != nil {
		return 0, err
	}
	return t.exec(ctx, "delete operations",
		"DELETE FROM operations WHERE id IN (SELECT id FROM operations WHERE orchestration_id = ? LIMIT ?)", orchestrationID, limit)
}

// InsertLeftOut adds rows to the list of what was left out.
func (t *Tx) InsertLeftOut(ctx context.Context, left []fleet.LeftOut) error {
	for chunk := range slices.Chunk(left, insertChunk) {
		rows := make([]leftOutRow, len(chunk))
		for i, l := range chunk {
			rows[i] = leftOutRow{
				OrchestrationID: l.OrchestrationID, Position: l.Position, ShootName: l.ShootName, RuntimeID: l.RuntimeID,
				InstanceID: l.InstanceID, Reason: l.Reason, Description: l.Description,
			}
		}
		if _, err := t.tx.NewInsert().Model(&rows).Returning("NULL").Exec(ctx); err != nil {
			return insertError(ctx, "insert what was left out", err)
		}
	}
	return nil
}

// changeColumns are the mutable columns of an operation with the type that PostgreSQL has to be told, because the rows of VALUES have none.
var changeColumns = []struct {
	name, cast string
	value      func(r *operationRow) any
}{
	{"state", "text", func(r *operationRow) any { return r.State }},
	{"description", "text", func(r *operationRow) any { return r.Description }},
	{"reason", "text", func(r *operationRow) any { return r.Reason }},
	{"uses_window", "boolean", func(r *operationRow) any { return r.UsesWindow }},
	{"window_rule", "text", func(r *operationRow) any { return r.WindowRule }},
	{"window_begin", "bigint", func(r *operationRow) any { return r.WindowBegin }},
	{"window_end", "bigint", func(r *operationRow) any { return r.WindowEnd }},
	{"not_before", "bigint", func(r *operationRow) any { return r.NotBefore }},
	{"attempt", "integer", func(r *operationRow) any { return r.Attempt }},
	{"fence", "bigint", func(r *operationRow) any { return r.Fence }},
	{"lease_until", "bigint", func(r *operationRow) any { return r.LeaseUntil }},
	{"check_at", "bigint", func(r *operationRow) any { return r.CheckAt }},
	{"sent", "boolean", func(r *operationRow) any { return r.Sent }},
	{"uncertain", "boolean", func(r *operationRow) any { return r.Uncertain }},
	{"following", "boolean", func(r *operationRow) any { return r.Following }},
	{"failures", "integer", func(r *operationRow) any { return r.Failures }},
	{"memo", "text", func(r *operationRow) any { return r.Memo }},
	{"time_limit_from", "bigint", func(r *operationRow) any { return r.TimeLimitFrom }},
	{"version", "text", func(r *operationRow) any { return r.Version }},
	{"kyma_config", "text", func(r *operationRow) any { return r.KymaConfig }},
	{"cluster_config", "text", func(r *operationRow) any { return r.ClusterConfig }},
	{"finished_stages", "text", func(r *operationRow) any { return r.FinishedStages }},
	{"superseded", "boolean", func(r *operationRow) any { return r.Superseded }},
	{"started_at", "bigint", func(r *operationRow) any { return r.StartedAt }},
	{"finished_at", "bigint", func(r *operationRow) any { return r.FinishedAt }},
	{"job_id", "bigint", func(r *operationRow) any { return r.JobID }},
	{"updated_at", "bigint", func(r *operationRow) any { return r.UpdatedAt }},
}

// saveQuery writes many records in one statement. Its condition is the ID and the fence alone: with the state in it PostgreSQL may take a
// partial index of that state instead of the primary key.
var saveQuery = func() string {
	names := make([]string, len(changeColumns))
	sets := make([]string, len(changeColumns))
	for i, c := range changeColumns {
		names[i] = "v_" + c.name
		sets[i] = c.name + " = CAST(v.v_" + c.name + " AS " + c.cast + ")"
	}
	return "WITH v (v_id, v_if_fence, " + strings.Join(names, ", ") + ") AS (VALUES ?) UPDATE operations SET " + strings.Join(sets, ", ") +
		" FROM v WHERE operations.id = v.v_id AND operations.fence = v.v_if_fence RETURNING operations.id, operations.instance_id"
}()

// changeValues writes the rows of saveQuery.
type changeValues struct {
	fences []int64
	rows   []operationRow
}

// AppendQuery writes the rows.
func (v changeValues) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) {
	for i := range v.rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '(')
		b = gen.Dialect().AppendString(b, v.rows[i].ID)
		b = append(b, ',')
		b = strconv.AppendInt(b, v.fences[i], 10)
		for _, c := range changeColumns {
			b = append(b, ',')
			switch value := c.value(&v.rows[i]).(type) {
			case *string:
				if value == nil {
					b = append(b, "NULL"...)
				} else {
					b = gen.Dialect().AppendString(b, *value)
				}
			default:
				b = gen.Append(b, value)
			}
		}
		b = append(b, ')')
	}
	return b, nil
}

// SaveOperations writes the mutable fields of the records where the stored fence still is IfFence. It returns the IDs of those that had another.
func (t *Tx) SaveOperations(ctx context.Context, changes []fleet.OperationChange) (fenced []string, err error) {
	touched := touchedRuntimes{}
	for chunk := range slices.Chunk(changes, changeChunk) {
		values := changeValues{fences: make([]int64, len(chunk)), rows: make([]operationRow, len(chunk))}
		for i := range chunk {
			values.fences[i] = chunk[i].IfFence
			values.rows[i] = newOperationRow(&chunk[i].Operation)
			values.rows[i].UpdatedAt = micros(t.now)
		}
		var saved []operationRow
		if err := t.scan(ctx, "save operations", &saved, saveQuery, values); err != nil {
			return nil, err
		}
		instances := make(map[string]string, len(saved))
		for i := range saved {
			instances[saved[i].ID] = saved[i].InstanceID
		}
		for i := range chunk {
			op := &chunk[i].Operation
			instance, written := instances[cleanText(op.ID)]
			switch {
			case !written:
				fenced = append(fenced, op.ID)
			case !op.DryRun && !unstarted(op):
				// The runtime may have got another instance ID since the record was read.
				touched.add(instance, op.State)
			}
		}
	}
	return fenced, t.refreshStates(ctx, touched)
}

// unstarted reports whether an operation cannot have touched the state of its runtime, now or before this change.
func unstarted(op *fleet.Operation) bool {
	return op.StartedAt.IsZero() && op.Attempt == 0 && op.State != fleet.InProgress
}

// Claim takes operations that are in progress with the given attempt.
func (t *Tx) Claim(ctx context.Context, claims []fleet.Claim) ([]fleet.Operation, error) {
	// The state is compared as an expression, so that PostgreSQL does not take the partial index of that state instead of the primary key.
	const condition = " FROM v WHERE operations.id = v.v_id AND operations.attempt = v.v_attempt AND operations.state || '' = 'in progress' RETURNING "
	var out []fleet.Operation
	for chunk := range slices.Chunk(claims, changeChunk) {
		tuples := make([][]any, len(chunk))
		for i, c := range chunk {
			tuples[i] = []any{c.OperationID, c.Attempt, micros(t.now.Add(c.Lease))}
		}
		var rows []operationRow
		err := t.scan(ctx, "claim operations", &rows,
			"WITH v (v_id, v_attempt, v_lease) AS (VALUES ?) UPDATE operations SET fence = fence + 1, lease_until = v.v_lease"+
				condition+columns[operationRow](t.tx, "operations."), tupleValues(tuples))
		if err != nil {
			return nil, err
		}
		out = append(out, operationRecords(rows)...)
	}
	return out, nil
}

// tupleValues writes rows of values without brackets around them all.
type tupleValues [][]any

// AppendQuery writes the rows.
func (v tupleValues) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) {
	for i, tuple := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '(')
		for j, value := range tuple {
			if j > 0 {
				b = append(b, ',')
			}
			b = gen.Append(b, value)
		}
		b = append(b, ')')
	}
	return b, nil
}

// Operations returns records by ID.
func (t *Tx) Operations(ctx context.Context, ids []string) ([]fleet.Operation, error) {
	var out []fleet.Operation
	for chunk := range slices.Chunk(ids, lookupChunk) {
		var rows []operationRow
		err := t.scan(ctx, "read operations", &rows,
			"SELECT "+columns[operationRow](t.tx, "")+" FROM operations WHERE id IN (?)", bun.List(chunk))
		if err != nil {
			return nil, err
		}
		out = append(out, operationRecords(rows)...)
	}
	return out, nil
}

// busyColumn tells whether another operation is in progress on the runtime of a pending one.
const busyColumn = "(state = 'pending' AND EXISTS (SELECT 1 FROM operations AS b WHERE b.runtime_id = operations.runtime_id AND b.state = 'in progress')) AS busy"

// operationViewRow is an operation as lists show it.
type operationViewRow struct {
	operationRow `bun:",extend"`

	Busy bool `bun:"busy,scanonly"`
}

func (r *operationViewRow) view() fleet.OperationView {
	return fleet.OperationView{Operation: r.record(), RuntimeBusy: r.Busy}
}

// Operation returns one operation of one orchestration, superseded ones too.
func (s *Store) Operation(ctx context.Context, orchestrationID, operationID string) (fleet.OperationView, error) {
	var row operationViewRow
	err := s.read.NewRaw("SELECT "+columns[operationRow](s.read, "")+", "+busyColumn+
		" FROM operations WHERE id = ? AND orchestration_id = ?", operationID, orchestrationID).Scan(ctx, &row)
	if errors.Is(err, sql.ErrNoRows) {
		return fleet.OperationView{}, fleet.NotFoundf("the operation does not exist")
	}
	if err != nil {
		return fleet.OperationView{}, storeError(ctx, "read an operation", err)
	}
	return row.view(), nil
}

// ListOperations returns a page of the operations of an orchestration that are not superseded, newest first and then by position.
func (s *Store) ListOperations(ctx context.Context, f fleet.OperationFilter, p fleet.Page) ([]fleet.OperationView, int, error) {
	if err := checkPage(p); err != nil {
		return nil, 0, err
	}
	q := listQuery{table: "operations", key: "id", order: []string{"created_at DESC", "position", "id"}}
	q.and("orchestration_id = ? AND superseded = FALSE", f.OrchestrationID)
	if len(f.States) > 0 {
		q.split("state", textValues(storedStates(f.States)))
	}
	var rows []operationViewRow
	var total int
	err := s.snapshot(ctx, func(ctx context.Context, tx bun.Tx) error {
		counters, known, err := operationCounters(ctx, tx, f)
		if err != nil {
			return err
		}
		picked := columns[operationRow](tx, "") + ", " + busyColumn
		if !known {
			total, err = readList(ctx, tx, &q, p, picked, &rows)
			return err
		}
		query, args := q.rows(picked, p)
		if err := tx.NewRaw(query, args...).Scan(ctx, &rows); err != nil {
			return err
		}
		switch {
		case len(rows) == p.Size:
			total = max(counters, p.Offset()+len(rows))
		case len(rows) > 0 || p.Offset() == 0:
			// The last page tells the total by itself.
			total = p.Offset() + len(rows)
		default:
			query, args := q.count()
			return tx.NewRaw(query, args...).Scan(ctx, &total)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	out := make([]fleet.OperationView, len(rows))
	for i := range rows {
		out[i] = rows[i].view()
	}
	return out, total, nil
}

// operationCounters returns how many operations a filter selects as the counters of the orchestration tell, which spares counting a hundred
// thousand rows. They are complete once its targets are resolved; before that, and for words that are no state of an operation, it is false.
func operationCounters(ctx context.Context, tx bun.Tx, f fleet.OperationFilter) (int, bool, error) {
	o, err := oneOrchestration(ctx, tx, "WHERE id = ?", f.OrchestrationID)
	if errors.Is(err, fleet.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil || o.ResolvedAt.IsZero() {
		return 0, false, err
	}
	if len(f.States) == 0 {
		return o.Counts.Total(), true, nil
	}
	total := 0
	for _, state := range storedStates(f.States) {
		switch state {
		case fleet.Pending:
			total += o.Counts.Pending
		case fleet.InProgress:
			total += o.Counts.InProgress
		case fleet.Succeeded:
			total += o.Counts.Succeeded
		case fleet.Failed:
			total += o.Counts.Failed
		case fleet.Canceled:
			total += o.Counts.Canceled
		case fleet.Canceling:
		default:
			return 0, false, nil
		}
	}
	return total, true, nil
}

// ListLeftOut returns a page of what an orchestration left out, in the resolver's order.
func (s *Store) ListLeftOut(ctx context.Context, orchestrationID string, p fleet.Page) ([]fleet.LeftOut, int, error) {
	q := listQuery{table: "left_out", key: "position", order: []string{"position"}}
	q.and("orchestration_id = ?", orchestrationID)
	q.within = "orchestration_id = ?"
	q.withinArgs = []any{orchestrationID}
	rows, total, err := list[leftOutRow](ctx, s, q, p)
	if err != nil {
		return nil, 0, err
	}
	out := make([]fleet.LeftOut, len(rows))
	for i, r := range rows {
		out[i] = fleet.LeftOut{
			OrchestrationID: r.OrchestrationID, Position: r.Position, ShootName: r.ShootName, RuntimeID: r.RuntimeID,
			InstanceID: r.InstanceID, Reason: r.Reason, Description: r.Description,
		}
	}
	return out, total, nil
}
