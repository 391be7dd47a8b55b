// Package store keeps the records of Swell in SQLite or PostgreSQL. Both are reached through one query layer: the statements are the same,
// and what differs, such as row locks, is in dialect.go.
//
// Every time is stored as microseconds since 1970 in UTC, with 0 for the zero time. Text from outside is cleaned where it is put into a
// statement; see cleanText. Errors of the database leave the package as errors of KindUnavailable without SQL text in their message.
package store
