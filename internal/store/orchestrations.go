package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
)

// InsertOrchestration adds a record. CreatedAt is set to the time of the transaction when it is zero; UpdatedAt always.
func (t *Tx) InsertOrchestration(ctx context.Context, o *fleet.Orchestration) error {
	if o.CreatedAt.IsZero() {
		o.CreatedAt = t.now
	}
	o.UpdatedAt = t.now
	for field, value := range map[string]string{"Idempotency-Key": o.IdempotencyKey, "user": o.CreatedBy} {
		if err := checkLength(field, value); err != nil {
			return err
		}
	}
	row := orchestrationRow{
		ID: o.ID, Type: string(o.Type), State: string(o.State), Description: o.Description, Parameters: jsonText(o.Parameters),
		NotBefore: micros(o.NotBefore), CreatedAt: micros(o.CreatedAt), UpdatedAt: micros(o.UpdatedAt),
		ResolvedAt: micros(o.ResolvedAt), FinishedAt: micros(o.FinishedAt),
		CreatedBy: o.CreatedBy, IdempotencyKey: o.IdempotencyKey, BodyHash: o.BodyHash,
		Fence: o.Fence, LeaseUntil: micros(o.LeaseUntil), LeftOut: o.LeftOut, LeftOutWhy: o.LeftOutWhy,
		CountPending: o.Counts.Pending, CountInProgress: o.Counts.InProgress, CountSucceeded: o.Counts.Succeeded,
		CountFailed: o.Counts.Failed, CountCanceled: o.Counts.Canceled,
	}
	_, err := t.tx.NewInsert().Model(&row).Returning("NULL").Exec(ctx)
	return insertError(ctx, "insert an orchestration", err)
}

// insertError makes a conflict of a record that is there already. A collision that the transaction may get over by being repeated stays visible.
func insertError(ctx context.Context, doing string, err error) error {
	if err != nil && duplicate(err) && ctx.Err() == nil {
		return &fleet.Error{Kind: fleet.KindConflict, Message: "a record with this ID exists already", Err: fmt.Errorf("%s: %w", doing, err)}
	}
	return storeError(ctx, doing, err)
}

// OrchestrationByKey returns the orchestration that a user made with this idempotency key.
func (t *Tx) OrchestrationByKey(ctx context.Context, createdBy, key string) (fleet.Orchestration, error) {
	if key == "" {
		return fleet.Orchestration{}, fleet.NotFoundf("there is no orchestration without an idempotency key")
	}
	return oneOrchestration(ctx, t.tx, "WHERE idempotency_key = ? AND created_by = ?", key, createdBy)
}

// LockOrchestration returns the present record and keeps others from locking it until the transaction ends.
func (t *Tx) LockOrchestration(ctx context.Context, id string) (fleet.Orchestration, error) {
	return oneOrchestration(ctx, t.tx, "WHERE id = ?"+rowLock(t.Dialect(), lockRow), id)
}

func oneOrchestration(ctx context.Context, db bun.IDB, where string, args ...any) (fleet.Orchestration, error) {
	var row orchestrationRow
	err := db.NewRaw("SELECT "+columns[orchestrationRow](db, "")+" FROM orchestrations "+where, args...).Scan(ctx, &row)
	if errors.Is(err, sql.ErrNoRows) {
		return fleet.Orchestration{}, fleet.NotFoundf("the orchestration does not exist")
	}
	if err != nil {
		return fleet.Orchestration{}, storeError(ctx, "read an orchestration", err)
	}
	return row.record(), nil
}

// SaveOrchestration writes the mutable fields of a locked record and sets UpdatedAt.
func (t *Tx) SaveOrchestration(ctx context.Context, o *fleet.Orchestration) error {
	o.UpdatedAt = t.now
	n, err := t.exec(ctx, "save an orchestration", `
		UPDATE orchestrations SET state = ?, description = ?, not_before = ?, updated_at = ?, resolved_at = ?, finished_at = ?,
			fence = ?, lease_until = ?, count_pending = ?, count_in_progress = ?, count_succeeded = ?, count_failed = ?, count_canceled = ?,
			left_out = ?, left_out_why = ?
		WHERE id = ?`,
		string(o.State), o.Description, micros(o.NotBefore), micros(o.UpdatedAt), micros(o.ResolvedAt), micros(o.FinishedAt),
		o.Fence, micros(o.LeaseUntil), o.Counts.Pending, o.Counts.InProgress, o.Counts.Succeeded, o.Counts.Failed, o.Counts.Canceled,
		o.LeftOut, o.LeftOutWhy, o.ID)
	if err == nil && n == 0 {
		return fleet.NotFoundf("the orchestration does not exist")
	}
	return err
}

// Orchestration returns one record.
func (s *Store) Orchestration(ctx context.Context, id string) (fleet.Orchestration, error) {
	return oneOrchestration(ctx, s.read, "WHERE id = ?", id)
}

// ListOrchestrations returns a page of the orchestrations, newest first.
func (s *Store) ListOrchestrations(ctx context.Context, f fleet.OrchestrationFilter, p fleet.Page) ([]fleet.Orchestration, int, error) {
	q := listQuery{table: "orchestrations", key: "id", order: []string{"created_at DESC", "id"}}
	if len(f.Types) > 0 {
		q.in("type", textValues(f.Types))
	}
	if len(f.States) > 0 {
		q.split("state", textValues(storedStates(f.States)))
	}
	rows, total, err := list[orchestrationRow](ctx, s, q, p)
	if err != nil {
		return nil, 0, err
	}
	out := make([]fleet.Orchestration, len(rows))
	for i := range rows {
		out[i] = rows[i].record()
	}
	return out, total, nil
}

// OpenOrchestrations returns those that are pending, in progress or canceling and readable, oldest first.
func (s *Store) OpenOrchestrations(ctx context.Context) ([]fleet.Orchestration, error) {
	var rows []orchestrationRow
	err := s.read.NewRaw("SELECT "+columns[orchestrationRow](s.read, "")+" FROM orchestrations WHERE state IN (?) ORDER BY created_at, id",
		bun.List([]string{string(fleet.Pending), string(fleet.InProgress), string(fleet.Canceling)})).Scan(ctx, &rows)
	if err != nil {
		return nil, storeError(ctx, "list open orchestrations", err)
	}
	out := make([]fleet.Orchestration, 0, len(rows))
	for i := range rows {
		if o := rows[i].record(); o.Unreadable == "" {
			out = append(out, o)
		}
	}
	return out, nil
}

// storedStates returns the words that are stored for states, each once. Older words are rewritten when the store is opened.
func storedStates(states []fleet.State) []fleet.State {
	seen := make(map[fleet.State]bool, len(states))
	out := make([]fleet.State, 0, len(states))
	for _, s := range states {
		if parsed, ok := fleet.ParseState(string(s)); ok {
			s = parsed
		}
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func textValues[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
