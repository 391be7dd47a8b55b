package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/store/storetest"
	"github.com/swell-fleet/swell/internal/testkit/folder"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
)

func openSQLite(t testing.TB, clock func() time.Time) storetest.Store {
	t.Helper()
	if clock == nil {
		clock = time.Now
	}
	s, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: folder.InMemory(t), Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func openPostgres(t testing.TB, clock func() time.Time) storetest.Store {
	t.Helper()
	s, err := store.OpenPostgres(t.Context(), store.PostgresOptions{URL: postgres.URL(t), Clock: clock, MaxConns: 6})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openSQLite)
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openPostgres)
}
