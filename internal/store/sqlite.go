package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"github.com/uptrace/bun"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Names of the files in the folder of a SQLite store.
const (
	sqliteFile = "swell.db"
	lockFile   = "swell.lock"
)

// OpenSQLite opens the database in a folder, making both when they do not exist, and brings its tables up to date. While it is open no other
// process can open it; the error then is of fleet.KindUnavailable and names the folder.
func OpenSQLite(ctx context.Context, o SQLiteOptions) (_ *Store, err error) {
	if err := o.setDefaults(); err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the database: %w", err)
	}
	lock := flock.New(filepath.Join(o.Dir, lockFile), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the folder of the database: %w", err)
	}
	if !held {
		return nil, &fleet.Error{Kind: fleet.KindUnavailable, Message: "another process uses the database in " + o.Dir}
	}
	s := &Store{dialect: SQLite, clock: o.Clock, logger: o.Logger, release: lock.Unlock, dir: o.Dir, least: leastSpace}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()

	path := filepath.Join(o.Dir, sqliteFile)
	writer, err := openSQLiteHandle(path, o.BusyTimeout, 1, "_txlock=immediate", "_pragma=synchronous(FULL)", "_pragma=foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	s.write = bun.NewDB(writer, newSQLiteDialect())
	s.read = s.write
	if err := migrateSQLite(ctx, writer, o.AfterMigrate); err != nil {
		return nil, err
	}
	reader, err := openSQLiteHandle(path, o.BusyTimeout, o.Readers, "_pragma=query_only(1)")
	if err != nil {
		return nil, err
	}
	s.read = bun.NewDB(reader, newSQLiteDialect())
	return s, nil
}

// openSQLiteHandle opens a pool of connections that stay open, so that each sets its options once.
func openSQLiteHandle(path string, busy time.Duration, conns int, options ...string) (*sql.DB, error) {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_pragma=busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")" +
		"&_pragma=journal_mode(WAL)&_pragma=cache_size(-32000)&_pragma=temp_store(MEMORY)"
	for _, option := range options {
		dsn += "&" + option
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}
