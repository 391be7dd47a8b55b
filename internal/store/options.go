package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"
)

// Names of the two dialects, as Store.Dialect and Tx.Dialect return them.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// AfterMigrate runs once at start, after the store's own migrations and under the same lock, so that what shares the database can bring its
// tables up to date without another process doing so at the same time. It must use nothing but db.
type AfterMigrate func(ctx context.Context, db *sql.DB) error

// SQLiteOptions configure a store in a SQLite file.
type SQLiteOptions struct {
	// Dir is the folder of the database, its log and its lock file. It is made when it does not exist, for the owner only.
	Dir string
	// Clock gives the time of each transaction. Required: SQLite has no server with a clock of its own.
	Clock func() time.Time
	// AfterMigrate runs after the migrations; nil runs nothing.
	AfterMigrate AfterMigrate
	// Readers is the number of connections that read side by side. Default 4.
	Readers int
	// BusyTimeout is how long a statement waits for another process that holds the database, such as a backup. Default 5 s.
	BusyTimeout time.Duration
	// Logger gets warnings about repeated transactions. Default: nothing is logged.
	Logger *slog.Logger
}

func (o *SQLiteOptions) setDefaults() error {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("the folder of the database is missing"))
	}
	if o.Clock == nil {
		errs = append(errs, errors.New("the clock is missing"))
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return errors.Join(errs...)
}

// PostgresOptions configure a store in a PostgreSQL database, version 14 or newer.
type PostgresOptions struct {
	// URL names the database, as postgres://user:password@host:port/database?key=value. Its search_path decides about the schema.
	URL string
	// Clock gives the time of each transaction instead of the database's own clock. Only tests set it: replicas compare leases by one clock.
	Clock func() time.Time
	// AfterMigrate runs after the migrations; nil runs nothing.
	AfterMigrate AfterMigrate
	// MaxConns is the largest number of connections. Default 16.
	MaxConns int
	// ConnectTimeout is how long opening a connection may take. Default 5 s.
	ConnectTimeout time.Duration
	// Logger gets warnings about repeated transactions. Default: nothing is logged.
	Logger *slog.Logger
}

func (o *PostgresOptions) setDefaults() error {
	if o.URL == "" {
		return errors.New("the address of the database is missing")
	}
	if o.MaxConns <= 0 {
		o.MaxConns = 16
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
