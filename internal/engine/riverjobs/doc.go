// Package riverjobs keeps the engine's jobs in River's tables, next to the rows that they speak about, and runs them on River's workers. It is the
// only package that knows River.
//
// A job and the rows that it is about are written in one transaction on both databases. On PostgreSQL workers hear of new jobs through
// LISTEN; on SQLite, where no other process can insert any, Nudge tells them. Polling is the backstop of both.
package riverjobs
