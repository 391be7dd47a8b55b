package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
)

// storeDo runs f in a transaction that must succeed.
func storeDo(t testing.TB, s fleet.Store, f func(tx fleet.Tx) error) {
	t.Helper()
	require.NoError(t, s.Update(t.Context(), func(_ context.Context, tx fleet.Tx) error { return f(tx) }))
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{})
	require.ErrorContains(t, err, "folder")
	require.ErrorContains(t, err, "clock")
	_, err = store.OpenPostgres(t.Context(), store.PostgresOptions{})
	require.ErrorContains(t, err, "address")
	_, err = store.OpenPostgres(t.Context(), store.PostgresOptions{URL: "postgres://user:secret@host:port/db"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
	_, err = store.OpenPostgres(t.Context(), store.PostgresOptions{URL: "postgres://user:secret@127.0.0.1:1/db", ConnectTimeout: time.Second})
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	require.NotContains(t, err.Error(), "secret")
}

func TestSecondProcessIsKeptOut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "with space, 100% and ?query#fragment")
	open := func() (*store.Store, error) {
		return store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: dir, Clock: time.Now})
	}
	s, err := open()
	require.NoError(t, err)
	_, err = open()
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	require.ErrorContains(t, err, "another process uses the database in "+dir)
	importOne(t, s)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Ping(t.Context()), fleet.ErrUnavailable, "a closed store says so")

	s, err = open()
	require.NoError(t, err)
	_, err = s.Orchestration(t.Context(), "o-1")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "the folder is for its owner only")
}

func importOne(t testing.TB, s fleet.Store) {
	t.Helper()
	storeDo(t, s, func(tx fleet.Tx) error {
		return tx.InsertOrchestration(t.Context(), &fleet.Orchestration{ID: "o-1", State: fleet.Pending, Type: "upgradeCluster"})
	})
}

// TestTextSettingsCannotBeChanged: an address must not make the server read a backslash in a value as an escape.
func TestTextSettingsCannotBeChanged(t *testing.T) {
	t.Parallel()
	s, err := store.OpenPostgres(t.Context(), store.PostgresOptions{URL: postgres.URL(t) + "&standard_conforming_strings=off&application_name=mine", MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var strings, name string
	require.NoError(t, s.SQL().QueryRowContext(t.Context(), "SELECT current_setting('standard_conforming_strings'), current_setting('application_name')").Scan(&strings, &name))
	require.Equal(t, "on", strings)
	require.Equal(t, "mine", name)
	storeDo(t, s, func(tx fleet.Tx) error {
		return tx.AppendEvents(t.Context(), []fleet.Event{{Message: `\'); DROP TABLE events; --`}})
	})
	rows, _, err := s.ListEvents(t.Context(), fleet.EventFilter{}, fleet.Page{Number: 1, Size: 1})
	require.NoError(t, err)
	require.Equal(t, `\'); DROP TABLE events; --`, rows[0].Message)
}

func TestSeveralProcessesMigrateOneAfterTheOther(t *testing.T) {
	t.Parallel()
	url := postgres.URL(t)
	var group errgroup.Group
	var running, runs atomic.Int32
	for range 4 {
		group.Go(func() error {
			s, err := store.OpenPostgres(t.Context(), store.PostgresOptions{URL: url, MaxConns: 3, AfterMigrate: func(ctx context.Context, db *sql.DB) error {
				if running.Add(1) > 1 {
					return errors.New("two at once")
				}
				defer running.Add(-1)
				runs.Add(1)
				_, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS of_others (id int)")
				return err
			}})
			if err != nil {
				return err
			}
			return errors.Join(s.Ping(t.Context()), s.Close())
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 4, runs.Load())
}

func TestAfterMigrateStopsTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fail := errors.New("no")
	_, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: dir, Clock: time.Now, AfterMigrate: func(context.Context, *sql.DB) error { return fail }})
	require.ErrorIs(t, err, fail)
	var tables int
	s, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: dir, Clock: time.Now, AfterMigrate: func(ctx context.Context, db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE name = 'operations'").Scan(&tables)
	}})
	require.NoError(t, err, "the lock was given back")
	require.Equal(t, 1, tables, "the store's own tables are there first")
	require.NoError(t, s.Close())
}

// TestNewerSchema: a newer program has added columns and noted its migration; this one goes on working, as it must while the two run side by side.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), postgres.URL(t)
	for name, open := range map[string]func() (*store.Store, error){
		store.SQLite: func() (*store.Store, error) {
			return store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: dir, Clock: time.Now})
		},
		store.Postgres: func() (*store.Store, error) {
			return store.OpenPostgres(t.Context(), store.PostgresOptions{URL: url, MaxConns: 3})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := open()
			require.NoError(t, err)
			require.Equal(t, name, s.Dialect())
			for _, table := range []string{"orchestrations", "operations", "left_out", "runtimes", "events"} {
				_, err := s.SQL().ExecContext(t.Context(), "ALTER TABLE "+table+" ADD COLUMN newer TEXT NOT NULL DEFAULT 'x'")
				require.NoError(t, err)
			}
			_, err = s.SQL().ExecContext(t.Context(), "INSERT INTO swell_schema (version_id, is_applied) VALUES (99999, TRUE)")
			require.NoError(t, err)
			require.NoError(t, s.Close())

			s, err = open()
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			importSome(t, s)
			for _, read := range listCalls(t, s) {
				read()
			}
			storeDo(t, s, func(tx fleet.Tx) error {
				op := benchOperation("o-1", 1)
				op.State, op.Attempt = fleet.InProgress, 1
				if _, err := tx.SaveOperations(t.Context(), []fleet.OperationChange{{Operation: op}}); err != nil {
					return err
				}
				got, err := tx.Claim(t.Context(), []fleet.Claim{{OperationID: op.ID, Attempt: 1, Lease: time.Minute}})
				require.Len(t, got, 1)
				return err
			})
		})
	}
}

func TestOldStateWordsAreRewrittenAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *store.Store {
		s, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: dir, Clock: time.Now})
		require.NoError(t, err)
		return s
	}
	s := open()
	fill(t, s, "o-1", 2, nil)
	_, err := s.SQL().ExecContext(t.Context(), "UPDATE operations SET state = 'retrying'")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s = open()
	defer func() { require.NoError(t, s.Close()) }()
	storeDo(t, s, func(tx fleet.Tx) error {
		got, err := tx.Candidates(t.Context(), "o-1", 10)
		require.Len(t, got, 2)
		return err
	})
}
