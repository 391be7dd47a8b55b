package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Store is a fleet.Store in a database.
type Store struct {
	fleet.Store
	dialect string
	write   *sql.DB
}

// OpenSQLite opens the database in a folder and brings its tables up to date.
func OpenSQLite(ctx context.Context, o SQLiteOptions) (*Store, error) {
	return nil, errors.New("not there yet")
}

// OpenPostgres connects to a database and brings its tables up to date.
func OpenPostgres(ctx context.Context, o PostgresOptions) (*Store, error) {
	return nil, errors.New("not there yet")
}

// SQL returns the handle that writes.
func (s *Store) SQL() *sql.DB { return s.write }

// Dialect returns SQLite or Postgres.
func (s *Store) Dialect() string { return s.dialect }

// Tx is a fleet.Tx of this package.
type Tx struct {
	fleet.Tx
	tx      *sql.Tx
	dialect string
}

// SQLTx returns the transaction of the database, for those who write tables of their own in it.
func (t *Tx) SQLTx() *sql.Tx { return t.tx }

// Dialect returns SQLite or Postgres.
func (t *Tx) Dialect() string { return t.dialect }
