package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/swell-fleet/swell/internal/store/migrations"
)

// versionTable is where goose notes which migrations were applied.
const versionTable = "swell_schema"

// migrateSQLite runs under the lock file.
func migrateSQLite(ctx context.Context, db *sql.DB, after AfterMigrate) error {
	return migrate(ctx, goose.DialectSQLite3, db, migrations.SQLite, "sqlite", after)
}

// migratePostgres runs under an advisory lock of the session: one per schema, so that processes over different schemas do not wait for each other.
// It waits for as long as ctx lasts. When the process dies the server gives the lock back.
func migratePostgres(ctx context.Context, db *sql.DB, after AfterMigrate) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return storeError(ctx, "connect", err)
	}
	defer func() { _ = conn.Close() }()
	const lockID = "hashtextextended('swell ' || coalesce(current_schema(), ''), 0)"
	if _, err := conn.ExecContext(ctx, "SET lock_timeout = 0; SELECT pg_advisory_lock("+lockID+")"); err != nil {
		return storeError(ctx, "wait for the lock of the migrations", err)
	}
	defer func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock("+lockID+"); RESET lock_timeout")
	}()
	return migrate(ctx, goose.DialectPostgres, db, migrations.Postgres, "postgres", after)
}

func migrate(ctx context.Context, dialect goose.Dialect, db *sql.DB, files fs.FS, folder string, after AfterMigrate) error {
	files, err := fs.Sub(files, folder)
	if err != nil {
		return fmt.Errorf("find the migrations: %w", err)
	}
	provider, err := goose.NewProvider(dialect, db, files, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return storeError(ctx, "bring the tables up to date", err)
	}
	// Servers before this one wrote another word for pending.
	if _, err := db.ExecContext(ctx, "UPDATE operations SET state = 'pending' WHERE state = 'retrying'"); err != nil {
		return storeError(ctx, "rewrite old states", err)
	}
	if after != nil {
		if err := after(ctx, db); err != nil {
			return fmt.Errorf("bring the tables of others up to date: %w", err)
		}
	}
	return nil
}
