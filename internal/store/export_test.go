package store

import (
	"context"
	"sync/atomic"

	"github.com/uptrace/bun"
)

// QueryCounter counts the statements of a store, without begin and commit.
type QueryCounter struct{ n atomic.Int64 }

// CountQueries adds a counter to a store.
func (s *Store) CountQueries() *QueryCounter {
	counter := &QueryCounter{}
	s.read = s.read.WithQueryHook(counter)
	if s.dialect == SQLite {
		s.write = s.write.WithQueryHook(counter)
	} else {
		s.write = s.read
	}
	return counter
}

// Take returns the number of statements since the last call.
func (c *QueryCounter) Take() int64 { return c.n.Swap(0) }

func (c *QueryCounter) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context {
	return ctx
}

func (c *QueryCounter) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	switch e.Operation() {
	case "BEGIN", "COMMIT", "ROLLBACK":
	default:
		c.n.Add(1)
	}
}

// Fold folds the counts of a transaction, which happens by itself once in a while.
func (t *Tx) Fold(ctx context.Context) error { return t.fold(ctx) }

// QueryLog keeps the text of the reading statements of a store.
type QueryLog struct{ Queries []string }

// LogQueries adds a log to a store that one goroutine uses.
func (s *Store) LogQueries() *QueryLog {
	log := &QueryLog{}
	s.read = s.read.WithQueryHook(log)
	return log
}

func (l *QueryLog) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (l *QueryLog) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if e.Operation() == "SELECT" {
		l.Queries = append(l.Queries, e.Query)
	}
}

// Unavailable and Repeatable are how errors of the databases are judged.
var (
	Unavailable = unavailable
	Repeatable  = repeatable
)

// NeedSpace makes readiness ask for so many free bytes.
func (s *Store) NeedSpace(bytes uint64) { s.least = bytes }
