package riverjobs

import (
	"context"
	"database/sql"
	"errors"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// sqliteDriver is River's driver for SQLite with another way to hear of new jobs: only this process inserts any, so it tells itself instead of
// writing notifications into a table and reading them 20 times a second through the connection that writes.
type sqliteDriver struct {
	*riversqlite.Driver

	listener *localListener
}

func newSQLiteDriver(db *sql.DB) *sqliteDriver {
	return &sqliteDriver{Driver: riversqlite.New(db), listener: &localListener{signal: make(chan struct{}, 1)}}
}

// GetListener returns the listener of this process.
func (d *sqliteDriver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return d.listener
}

// SupportsListener is true: see GetListener.
func (*sqliteDriver) SupportsListener() bool { return true }

// SupportsListenNotify is false, so that no notifications are written.
func (*sqliteDriver) SupportsListenNotify() bool { return false }

// topicInsert is River's topic for new jobs.
const topicInsert = "river_insert"

// localListener turns nudges into River's notifications about new jobs.
type localListener struct {
	// signal holds one nudge; further ones before it is seen say nothing new.
	signal chan struct{}
	// rest are the queues that have still to be told of the last nudge. Only the one goroutine that waits uses it.
	rest []string
}

func (l *localListener) nudge() {
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// WaitForNotification waits for a nudge and tells both queues of it, one after the other.
func (l *localListener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	if len(l.rest) == 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.signal:
			l.rest = []string{queueSteps, queueControl}
		}
	}
	queue := l.rest[0]
	l.rest = l.rest[1:]
	return &riverdriver.Notification{Topic: topicInsert, Payload: `{"queue":"` + queue + `"}`}, nil
}

// Connect has nothing to connect to.
func (*localListener) Connect(context.Context) error { return nil }

// Close has nothing to close.
func (*localListener) Close(context.Context) error { return nil }

// Listen takes every topic.
func (*localListener) Listen(context.Context, string) error { return nil }

// Unlisten keeps on: the listener lives as long as the client.
func (*localListener) Unlisten(context.Context, string) error { return nil }

// Ping always succeeds.
func (*localListener) Ping(context.Context) error { return nil }

// Schema is the default one.
func (*localListener) Schema() string { return "" }

// SetAfterConnectExec is for River's own tests.
func (*localListener) SetAfterConnectExec(string) { panic(errors.New("not supported")) }
