package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/swell-fleet/swell/internal/fleet"
)

// RetryByKey returns what the retry of a user with this idempotency key was answered.
func (t *Tx) RetryByKey(ctx context.Context, createdBy, key string) (fleet.KeptRetry, error) {
	var row struct {
		BodyHash string `bun:"body_hash"`
		Answer   string `bun:"answer"`
	}
	err := t.tx.NewRaw("SELECT body_hash, answer FROM retries WHERE created_by = ? AND idempotency_key = ?", createdBy, key).Scan(ctx, &row)
	if errors.Is(err, sql.ErrNoRows) {
		return fleet.KeptRetry{}, fleet.NotFoundf("no retry came with this idempotency key")
	}
	if err != nil {
		return fleet.KeptRetry{}, storeError(ctx, "read a retry", err)
	}
	kept := fleet.KeptRetry{BodyHash: row.BodyHash}
	if err := json.Unmarshal([]byte(row.Answer), &kept.Result); err != nil {
		return fleet.KeptRetry{}, fmt.Errorf("read the answer to a retry: %w", err)
	}
	return kept, nil
}

// KeepRetry keeps the answer to a retry under the idempotency key that it came with.
func (t *Tx) KeepRetry(ctx context.Context, createdBy, key string, kept fleet.KeptRetry) error {
	answer, err := json.Marshal(kept.Result)
	if err != nil {
		return fmt.Errorf("write the answer to a retry: %w", err)
	}
	_, err = t.exec(ctx, "keep a retry", `INSERT INTO retries (created_by, idempotency_key, orchestration_id, body_hash, answer, created_at)
		VALUES (?, ?, ?, ?, ?, ?)`, createdBy, key, kept.Result.OrchestrationID, kept.BodyHash, string(answer), t.now.UnixMicro())
	if err != nil && duplicate(err) {
		return &fleet.Error{Kind: fleet.KindConflict, Message: "a retry with this idempotency key exists already", Err: err}
	}
	return err
}
