package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// URL makes an empty schema for a test and returns the address of a database in which it is the only one in the search path. The schema is
// removed when the test has ended. A test on a machine without PostgreSQL fails with one line that says what to install.
func URL(t testing.TB) string {
	t.Helper()
	server, err := sharedURL()
	if err != nil {
		t.Fatal(err)
	}
	return Schema(t, server)
}

// Schema makes an empty schema in the server at an address, as URL does in the server of the test program.
func Schema(t testing.TB, server string) string {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is not an address: %v", Variable, err)
	}
	name := "test_" + strings.ToLower(rand.Text())
	if err := run(server, "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A test that ended while it cleans up would not be reported.
		if err := run(server, "DROP SCHEMA "+name+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	query := address.Query()
	query.Set("search_path", name)
	address.RawQuery = query.Encode()
	return address.String()
}

// Count returns how many rows there are in a database, for a table and what follows it in a query.
func Count(t testing.TB, address, table string) int {
	t.Helper()
	n := 0
	err := connected(address, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run runs a statement on a connection of its own.
func run(server, statement string) error {
	return connected(server, func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	})
}

func connected(server string, f func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	return f(ctx, conn)
}
