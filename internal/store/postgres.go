package store

import (
	"context"
	"fmt"
	"maps"

	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
)

// minPostgres is the oldest version of PostgreSQL that is supported, as the server numbers it.
const minPostgres = 140000

// textSettings are set on every connection, whatever the address says: they decide how the text of a statement is read, and with it where a value
// in it ends.
var textSettings = map[string]string{
	"client_encoding":             "UTF8",
	"standard_conforming_strings": "on",
}

// sessionDefaults are set on every connection unless the address says otherwise. A process that was frozen inside a transaction must not hold its locks for longer than its
// work may stand still, and nothing waits for a lock for ever.
var sessionDefaults = map[string]string{
	"application_name":                    "swell",
	"idle_in_transaction_session_timeout": "15000",
	"lock_timeout":                        "20000",
	"jit":                                 "off",
}

// OpenPostgres connects to a database and brings its tables up to date. Several processes may use one database.
func OpenPostgres(ctx context.Context, o PostgresOptions) (_ *Store, err error) {
	if err := o.setDefaults(); err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		// The error of the parser repeats the address, and with it the password.
		return nil, fmt.Errorf("open PostgreSQL: the address of the database cannot be read")
	}
	// Values are written into the statements, so a statement prepared on the server would be used once only.
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.ConnectTimeout = o.ConnectTimeout
	for name, value := range sessionDefaults {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	maps.Copy(config.RuntimeParams, textSettings)
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(o.MaxConns)
	db.SetMaxIdleConns(o.MaxConns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	handle := bun.NewDB(db, newPostgresDialect())
	s := &Store{dialect: Postgres, write: handle, read: handle, clock: o.Clock, logger: o.Logger}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	var version int
	if err := handle.NewRaw("SELECT current_setting('server_version_num')::int").Scan(ctx, &version); err != nil {
		return nil, storeError(ctx, "connect", err)
	}
	if version < minPostgres {
		return nil, fmt.Errorf("open PostgreSQL: version 14 or newer is needed, the server has %d", version/10000)
	}
	if err := migratePostgres(ctx, db, o.AfterMigrate); err != nil {
		return nil, err
	}
	return s, nil
}
