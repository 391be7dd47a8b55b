// Package migrations holds the schema of both databases as goose migrations, one folder for each.
//
// A migration must work with the program before it too: what is not used any more is removed one release after the program stopped using it.
package migrations

import "embed"

// SQLite holds the migrations for SQLite in the folder "sqlite".
//
//go:embed sqlite/*.sql
var SQLite embed.FS

// Postgres holds the migrations for PostgreSQL in the folder "postgres".
//
//go:embed postgres/*.sql
var Postgres embed.FS
