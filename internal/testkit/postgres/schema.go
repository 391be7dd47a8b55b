package postgres

import (
	"context"
	"crypto/rand"
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
	run(t, server, "CREATE SCHEMA "+name)
	t.Cleanup(func() { run(t, server, "DROP SCHEMA "+name+" CASCADE") })
	query := address.Query()
	query.Set("search_path", name)
	address.RawQuery = query.Encode()
	return address.String()
}

// run runs a statement on a connection of its own.
func run(t testing.TB, server, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("connect to PostgreSQL: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
