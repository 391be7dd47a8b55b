package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/swell-fleet/swell/internal/fleet"
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

// Bounds of text in indexes, in bytes: PostgreSQL takes no more than about 2,700 there.
const (
	maxIDLength   = 256
	maxIndexedRun = maxIDLength
)

// indexText makes text fit for an index. Of a longer text than names have it keeps the begin and a hash of all, so that it still is equal to
// itself alone.
func indexText(s string) string {
	s = cleanText(s)
	if len(s) <= maxIndexedRun {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return strings.ToValidUTF8(s[:maxIndexedRun-65], "") + "#" + hex.EncodeToString(sum[:])
}

// checkLength refuses an ID that no index takes.
func checkLength(field, value string) error {
	if len(value) > maxIDLength {
		return fleet.Invalidf(field, "is longer than %d bytes", maxIDLength)
	}
	return nil
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
