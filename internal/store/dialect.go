package store

import (
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
)

// cleanText makes text fit for both databases: PostgreSQL takes neither NUL nor invalid UTF-8. What is wrong is replaced rather than removed, so
// that a filter value never becomes equal to another one. It is the one place where text from outside is cleaned: every text of every statement
// passes here, because the dialects below write it.
func cleanText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// sqliteDialect and postgresDialect are bun's with cleaned text.
type (
	sqliteDialect   struct{ *sqlitedialect.Dialect }
	postgresDialect struct{ *pgdialect.Dialect }
)

func newSQLiteDialect() schema.Dialect   { return sqliteDialect{sqlitedialect.New()} }
func newPostgresDialect() schema.Dialect { return postgresDialect{pgdialect.New()} }

// AppendString writes a text literal.
func (d sqliteDialect) AppendString(b []byte, s string) []byte {
	return d.Dialect.AppendString(b, cleanText(s))
}

// AppendString writes a text literal.
func (d postgresDialect) AppendString(b []byte, s string) []byte {
	return d.Dialect.AppendString(b, cleanText(s))
}

// The row locks of PostgreSQL; SQLite has one writer at a time and needs none.
const (
	lockRow     = " FOR NO KEY UPDATE"
	lockRowSkip = " FOR NO KEY UPDATE SKIP LOCKED"
)

// rowLock returns the clause on PostgreSQL and nothing on SQLite.
func rowLock(dialect, clause string) string {
	if dialect == Postgres {
		return clause
	}
	return ""
}
