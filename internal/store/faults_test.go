package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
	"github.com/swell-fleet/swell/runtime"
)

// requireUnavailable checks that callers are told that it may pass, in words, and nothing of the statement.
func requireUnavailable(t *testing.T, err error, message string) {
	t.Helper()
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	var e *fleet.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, message, e.Message)
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	s, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: t.TempDir(), Clock: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	fill(t, s, "o-1", 10, nil)
	// The writer has one connection, so the limit holds for what follows.
	_, err = s.SQL().ExecContext(t.Context(), "PRAGMA max_page_count = 1")
	require.NoError(t, err)
	big := strings.Repeat("x", 1<<20)
	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		return tx.AppendEvents(ctx, []fleet.Event{{Message: big}})
	})
	requireUnavailable(t, err, "the disk of the database is full")
	_, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-1"}, fleet.Page{Number: 1, Size: 1})
	require.NoError(t, err, "reading goes on")
	require.Equal(t, 10, total)

	_, err = s.SQL().ExecContext(t.Context(), "PRAGMA max_page_count = 1000000")
	require.NoError(t, err)
	fill(t, s, "o-2", 10, nil)
}

func TestReadinessLooksAtTheFreeSpace(t *testing.T) {
	t.Parallel()
	s, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: t.TempDir(), Clock: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.Ping(t.Context()))
	s.NeedSpace(math.MaxUint64)
	requireUnavailable(t, s.Ping(t.Context()), "the disk of the database is full")
}

func TestLockedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: dir, Clock: time.Now, BusyTimeout: time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	other, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "swell.db")+"?_txlock=immediate")
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	tx, err := other.BeginTx(t.Context(), nil)
	require.NoError(t, err)

	ran := false
	err = s.Update(t.Context(), func(context.Context, fleet.Tx) error {
		ran = true
		return nil
	})
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	require.False(t, ran)
	require.ErrorIs(t, s.Ping(t.Context()), fleet.ErrUnavailable)
	_, _, err = s.ListRuntimes(t.Context(), fleet.RuntimeFilter{}, fleet.Page{Number: 1, Size: 1})
	require.NoError(t, err, "reading goes on")
	require.NoError(t, tx.Rollback())
	fill(t, s, "o-1", 1, nil)
	require.NoError(t, s.Ping(t.Context()))
}

func TestLostConnection(t *testing.T) {
	t.Parallel()
	s, err := store.OpenPostgres(t.Context(), store.PostgresOptions{URL: postgres.URL(t), MaxConns: 3})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	fill(t, s, "o-1", 3, nil)
	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		inside := tx.(interface{ SQLTx() *sql.Tx }).SQLTx()
		var pid int
		require.NoError(t, inside.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid))
		o := fleet.Orchestration{ID: "o-2", State: fleet.Pending}
		require.NoError(t, tx.InsertOrchestration(ctx, &o))
		_, err := s.SQL().ExecContext(ctx, fmt.Sprintf("SELECT pg_terminate_backend(%d, 5000)", pid))
		require.NoError(t, err)
		_, err = tx.LockOrchestration(ctx, "o-1")
		return err
	})
	requireUnavailable(t, err, "the database cannot be reached")
	_, err = s.Orchestration(t.Context(), "o-2")
	require.ErrorIs(t, err, fleet.ErrNotFound)
	// One that is lost at the commit too: nobody knows what came of it, so it is not repeated.
	runs := 0
	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		runs++
		var pid int
		require.NoError(t, tx.(interface{ SQLTx() *sql.Tx }).SQLTx().QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid))
		_, err := s.SQL().ExecContext(ctx, fmt.Sprintf("SELECT pg_terminate_backend(%d, 5000)", pid))
		return err
	})
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	require.Equal(t, 1, runs)
	fill(t, s, "o-3", 3, nil)
}

func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	url := postgres.URL(t)
	s, err := store.OpenPostgres(t.Context(), store.PostgresOptions{URL: url, MaxConns: 3})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	// As a replica that has taken no writes yet.
	s, err = store.OpenPostgres(t.Context(), store.PostgresOptions{URL: url + "&default_transaction_read_only=on", MaxConns: 3})
	if err == nil {
		require.NoError(t, s.Close())
	}
	requireUnavailable(t, err, "the database takes no writes now")
}

func TestKindsOfDatabaseErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err        error
		message    string
		repeatable bool
	}{
		{&pgconn.PgError{Code: "53100"}, "the disk of the database is full", false},
		{&pgconn.PgError{Code: "53300"}, "the database cannot be reached", false},
		{&pgconn.PgError{Code: "57P01"}, "the database cannot be reached", false},
		{&pgconn.PgError{Code: "08006"}, "the database cannot be reached", false},
		{&pgconn.PgError{Code: "25P03"}, "the database cannot be reached", false},
		{&pgconn.PgError{Code: "25006"}, "the database takes no writes now", false},
		{&pgconn.PgError{Code: "40001"}, "the database is busy", true},
		{&pgconn.PgError{Code: "40P01"}, "the database is busy", true},
		{&pgconn.PgError{Code: "55P03"}, "the database is busy", true},
		{&pgconn.PgError{Code: "23505", ConstraintName: "operations_busy"}, "", true},
		{&pgconn.PgError{Code: "23505", ConstraintName: "orchestrations_key"}, "", true},
		{&pgconn.PgError{Code: "23505", ConstraintName: "operations_pkey"}, "", false},
		{&pgconn.PgError{Code: "42601"}, "", false},
		{driver.ErrBadConn, "the database cannot be reached", false},
		{io.ErrUnexpectedEOF, "the database cannot be reached", false},
		{sql.ErrConnDone, "the database cannot be reached", false},
		{errors.New("something else"), "", false},
		{sql.ErrNoRows, "", false},
	} {
		wrapped := fmt.Errorf("doing: %w", test.err)
		require.Equal(t, test.message, store.Unavailable(wrapped), "%v", test.err)
		require.Equal(t, test.repeatable, store.Repeatable(wrapped), "%v", test.err)
	}
}

// TestCountsSurviveFolding: the number of runtimes is right before, while and after the changes are put together.
func TestCountsSurviveFolding(t *testing.T) {
	t.Parallel()
	// At this instant no transaction folds by itself.
	clock := func() time.Time { return time.Date(2024, 5, 15, 12, 0, 0, 1000, time.UTC) }
	for name, s := range map[string]interface {
		fleet.Store
		SQL() *sql.DB
	}{store.SQLite: openSQLite(t, clock), store.Postgres: openPostgres(t, clock)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			importSome(t, s)
			for i := range 5 {
				storeDo(t, s, func(tx fleet.Tx) error {
					op := benchOperation("o-1", 2*i+1)
					op.State, op.Attempt, op.StartedAt, op.Fence = fleet.InProgress, 1, tx.Now(), 1
					_, err := tx.SaveOperations(t.Context(), []fleet.OperationChange{{Operation: op}})
					return err
				})
			}
			counted := func() (rows, total int) {
				_, total, err := s.ListRuntimes(t.Context(), fleet.RuntimeFilter{States: []runtime.State{runtime.StateUpgrading}}, fleet.Page{Number: 1, Size: 1})
				require.NoError(t, err)
				require.NoError(t, s.SQL().QueryRowContext(t.Context(), "SELECT count(*) FROM runtime_counts").Scan(&rows))
				return rows, total
			}
			before, total := counted()
			require.Equal(t, 5, total)
			storeDo(t, s, func(tx fleet.Tx) error { return tx.(*store.Tx).Fold(t.Context()) })
			after, total := counted()
			require.Equal(t, 5, total)
			require.Less(t, after, before)
		})
	}
}
