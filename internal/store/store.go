package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Store is a fleet.Store in a SQLite file or a PostgreSQL database. It is safe for concurrent use.
type Store struct {
	dialect string
	write   *bun.DB
	read    *bun.DB
	// clock is nil when the clock of the database is used.
	clock  func() time.Time
	logger *slog.Logger
	// release gives the lock file back; nil on PostgreSQL.
	release func() error
	// dir is the folder of the database; empty on PostgreSQL.
	dir string
	// least is how many bytes have to be free there for readiness.
	least uint64
}

var _ fleet.Store = (*Store)(nil)

// SQL returns the handle that writes. On SQLite it has one connection: a query through it waits for the running transaction, so nothing that
// runs inside one may use it.
func (s *Store) SQL() *sql.DB { return s.write.DB }

// Dialect returns SQLite or Postgres.
func (s *Store) Dialect() string { return s.dialect }

// Close waits for running statements, closes the connections and gives the lock file back.
func (s *Store) Close() error {
	var err error
	if s.read != nil && s.read != s.write {
		err = s.read.Close()
	}
	if s.write != nil {
		err = errors.Join(err, s.write.Close())
	}
	if s.release != nil {
		err = errors.Join(err, s.release())
	}
	return err
}

// Ping reports whether the database answers and takes writes.
func (s *Store) Ping(ctx context.Context) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return storeError(ctx, "begin a transaction", err)
	}
	defer func() { _ = tx.Rollback() }()
	if s.dialect == Postgres {
		var readOnly string
		if err := tx.NewRaw("SHOW transaction_read_only").Scan(ctx, &readOnly); err != nil {
			return storeError(ctx, "ask the database", err)
		}
		if readOnly == "on" {
			return fleet.Unavailable("the database takes no writes now", errors.New("the server is read-only"))
		}
		return nil
	}
	free, err := freeSpace(s.dir)
	if err != nil {
		return fleet.Unavailable("the folder of the database cannot be read", err)
	}
	if free < s.least {
		return fleet.Unavailable("the disk of the database is full", fmt.Errorf("%d bytes are free, fewer than %d", free, s.least))
	}
	var one int
	return storeError(ctx, "ask the database", tx.NewRaw("SELECT 1").Scan(ctx, &one))
}

// leastSpace is how many bytes have to be free on the disk of a SQLite database for writes to be expected to go well. SQLite's log grows to some megabytes
// before it is folded into the database.
const leastSpace = 8 << 20

// clockQuery is the clock of PostgreSQL in microseconds.
const clockQuery = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// now reads the clock of the store.
func (s *Store) now(ctx context.Context, db bun.IDB) (time.Time, error) {
	if s.clock != nil {
		return s.clock().UTC().Truncate(time.Microsecond), nil
	}
	var us int64
	if err := db.NewRaw("SELECT "+clockQuery).Scan(ctx, &us); err != nil {
		return time.Time{}, err
	}
	return timeOf(us), nil
}

// snapshot runs f in a reading transaction, so that all its queries see one state of the database.
func (s *Store) snapshot(ctx context.Context, f func(ctx context.Context, tx bun.Tx) error) error {
	options := &sql.TxOptions{ReadOnly: true}
	if s.dialect == Postgres {
		options.Isolation = sql.LevelRepeatableRead
	}
	tx, err := s.read.BeginTx(ctx, options)
	if err != nil {
		return storeError(ctx, "begin reading", err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(ctx, tx); err != nil {
		return storeError(ctx, "read", err)
	}
	return storeError(ctx, "end reading", tx.Commit())
}
