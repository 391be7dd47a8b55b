package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
)

// maxTries is how often a transaction is run that collides with others: with the pauses between, for about two seconds.
const maxTries = 12

// Tx is the fleet.Tx of this package.
type Tx struct {
	tx    bun.Tx
	store *Store
	now   time.Time
}

var _ fleet.Tx = (*Tx)(nil)

// Now is the clock of the database at the start of the transaction.
func (t *Tx) Now() time.Time { return t.now }

// SQLTx returns the transaction of the database, for those who keep tables of their own in it.
func (t *Tx) SQLTx() *sql.Tx { return t.tx.Tx }

// Dialect returns SQLite or Postgres.
func (t *Tx) Dialect() string { return t.store.dialect }

// Update runs f in a writing transaction, and again when it collides with another one.
func (s *Store) Update(ctx context.Context, f func(ctx context.Context, tx fleet.Tx) error) error {
	for try := 1; ; try++ {
		err := s.updateOnce(ctx, f)
		if err == nil || !repeatable(err) || ctx.Err() != nil {
			return err
		}
		if try == maxTries {
			return fleet.Unavailable("the database is busy", err)
		}
		s.logger.DebugContext(ctx, "transaction is repeated", slog.Int("try", try), slog.Any("error", err))
		pause := time.Millisecond << min(try, 8)
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("repeat a transaction: %w", context.Cause(ctx))
		case <-timer.C:
		}
	}
}

func (s *Store) updateOnce(ctx context.Context, f func(ctx context.Context, tx fleet.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return storeError(ctx, "begin a transaction", err)
	}
	// After a commit this does nothing; it also runs when f panics.
	defer func() { _ = tx.Rollback() }()
	now, err := s.now(ctx, tx)
	if err != nil {
		return storeError(ctx, "read the clock", err)
	}
	if err := f(ctx, &Tx{tx: tx, store: s, now: now}); err != nil {
		return err
	}
	return storeError(ctx, "commit", tx.Commit())
}

// exec runs a statement and returns how many rows it changed.
func (t *Tx) exec(ctx context.Context, doing, query string, args ...any) (int, error) {
	result, err := t.tx.NewRaw(query, args...).Exec(ctx)
	if err != nil {
		return 0, storeError(ctx, doing, err)
	}
	n, err := result.RowsAffected()
	return int(n), storeError(ctx, doing, err)
}

// scan runs a query and reads its rows into dest, a pointer to a slice, a row or values.
func (t *Tx) scan(ctx context.Context, doing string, dest any, query string, args ...any) error {
	return storeError(ctx, doing, t.tx.NewRaw(query, args...).Scan(ctx, dest))
}
