package riverjobs

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// MigrateSQLite brings River's tables in a SQLite database up to date. It is to be run under the lock of the store's own migrations.
func MigrateSQLite(ctx context.Context, db *sql.DB) error { return migrate(ctx, riversqlite.New(db)) }

// MigratePostgres brings River's tables in a PostgreSQL database up to date. It is to be run under the lock of the store's own migrations.
func MigratePostgres(ctx context.Context, db *sql.DB) error {
	return migrate(ctx, riverdatabasesql.New(db))
}

func migrate(ctx context.Context, driver riverdriver.Driver[*sql.Tx]) error {
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("read the migrations of River: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("bring the tables of River up to date: %w", err)
	}
	return nil
}
