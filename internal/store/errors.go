package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Result codes of SQLite, from its documentation; the lower eight bits are the primary code.
const (
	sqliteBusy         = 5
	sqliteLocked       = 6
	sqliteReadOnly     = 8
	sqliteInterrupt    = 9
	sqliteIOError      = 10
	sqliteFull         = 13
	sqliteCannotOpen   = 14
	sqliteUniqueFailed = 2067
)

// storeError gives an error of the database its kind. Errors that have one already, and those of the context, are left as they are.
func storeError(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	var known *fleet.Error
	if errors.As(err, &known) || errors.Is(err, fleet.ErrFenced) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
	if message := unavailable(err); message != "" {
		return fleet.Unavailable(message, fmt.Errorf("%s: %w", doing, err))
	}
	return &fleet.Error{Kind: fleet.KindInternal, Message: "the store failed", Err: fmt.Errorf("%s: %w", doing, err)}
}

// unavailable returns what to tell callers about an error that may pass; empty when it will not.
func unavailable(err error) string {
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		switch lite.Code() & 0xff {
		case sqliteBusy, sqliteLocked:
			return "the database is locked"
		case sqliteFull:
			return "the disk of the database is full"
		case sqliteReadOnly:
			return "the database takes no writes now"
		case sqliteIOError, sqliteCannotOpen, sqliteInterrupt:
			return "the database cannot be reached"
		}
		return ""
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch {
		case pg.Code == "53100":
			return "the disk of the database is full"
		case pg.Code == "25006":
			return "the database takes no writes now"
		case strings.HasPrefix(pg.Code, "40"), pg.Code == "55P03":
			return "the database is busy"
		// Connection exceptions, lack of resources, interventions of an operator, an idle transaction that was ended, faults of the system.
		case strings.HasPrefix(pg.Code, "08"), strings.HasPrefix(pg.Code, "53"), strings.HasPrefix(pg.Code, "57"),
			strings.HasPrefix(pg.Code, "28"), pg.Code == "3D000", pg.Code == "25P03", strings.HasPrefix(pg.Code, "58"):
			return "the database cannot be reached"
		}
		return ""
	}
	var network net.Error
	var connect *pgconn.ConnectError
	if errors.As(err, &network) || errors.As(err, &connect) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, sql.ErrConnDone) ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "sql: database is closed") {
		return "the database cannot be reached"
	}
	return ""
}

// repeatable reports whether the transaction may succeed when it is run again: it collided with another one and left nothing behind.
func repeatable(err error) bool {
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		return lite.Code()&0xff == sqliteBusy || lite.Code() == sqliteUniqueFailed && collision(lite.Error())
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "40001", "40P01", "55P03":
			return true
		case "23505":
			return collision(pg.ConstraintName)
		}
	}
	return false
}

// collision reports whether a violated unique index is one over which transactions side by side may meet: two operations in progress on one
// runtime, two requests with one idempotency key, two imports of one runtime. PostgreSQL gives the name of the index, SQLite its columns.
func collision(index string) bool {
	for _, name := range []string{
		"operations_busy", "operations.runtime_id",
		"orchestrations_key", "orchestrations.created_by",
		"runtimes_pkey", "runtimes.instance_id",
	} {
		if strings.Contains(index, name) {
			return true
		}
	}
	return false
}

// duplicate reports whether a record with the same ID is there already.
func duplicate(err error) bool {
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		return lite.Code() == sqliteUniqueFailed || lite.Code() == 1555
	}
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}
