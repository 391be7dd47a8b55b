package riverjobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Names of the queues. Steps have one of their own, so that slow backends do not keep orchestrations from starting and ending.
const (
	queueSteps   = "steps"
	queueControl = "control"
)

const (
	// stepTimeout is longer than the engine lets a step take: it only ends what hangs elsewhere.
	stepTimeout = time.Minute
	// controlTimeout leaves room for resolving the targets of a big fleet.
	controlTimeout = 15 * time.Minute
	// rescueAfter is when a job of a dead process is run again. The engine has taken its operation over long before.
	rescueAfter = 75 * time.Second
	// keepCompleted is how long completed jobs stay in the table, for people who look for a fault.
	keepCompleted = 15 * time.Minute
	// stopFor is how long cut-off jobs have for handing back what they do.
	stopFor = 10 * time.Second
	// controlWorkers is the number of orchestrations that are started or advanced at the same time.
	controlWorkers = 4
)

// Options configure the workers.
type Options struct {
	// Logger gets warnings and errors. Required.
	Logger *slog.Logger
	// StepWorkers is the number of steps that this process carries out at the same time. The default is 100.
	StepWorkers int
	// FetchCooldown is the shortest time between two fetches of jobs. The default is 10 ms.
	FetchCooldown time.Duration
	// PollInterval is how often jobs are looked for that nobody told of. The default is 500 ms.
	PollInterval time.Duration
}

func (o *Options) setDefaults() error {
	if o.Logger == nil {
		return errors.New("riverjobs: the logger is missing")
	}
	if o.StepWorkers == 0 {
		o.StepWorkers = 100
	}
	if o.FetchCooldown == 0 {
		o.FetchCooldown = 10 * time.Millisecond
	}
	if o.PollInterval == 0 {
		o.PollInterval = 500 * time.Millisecond
	}
	return nil
}

// Jobs is a fleet.Queue on River, and the workers that carry its jobs out.
type Jobs struct {
	client  *river.Client[*sql.Tx]
	db      *sql.DB
	handler atomic.Pointer[fleet.Handler]
	// nudges is nil on PostgreSQL.
	nudges *localListener
	// listen is nil on SQLite.
	listen *pgxpool.Pool
	// cancel ends the contexts of all jobs.
	cancel context.CancelFunc
}

var _ fleet.Queue = (*Jobs)(nil)

// NewSQLite returns jobs in a SQLite database whose River tables are up to date; see Migrate. db is the one connection that writes.
func NewSQLite(db *sql.DB, o Options) (*Jobs, error) {
	driver := newSQLiteDriver(db)
	return newJobs(&Jobs{db: db, nudges: driver.listener}, driver, o)
}

// NewPostgres returns jobs in a PostgreSQL database whose River tables are up to date; see Migrate. db is the pool of the store, url names the
// same database for the connection that listens.
func NewPostgres(ctx context.Context, db *sql.DB, url string, o Options) (*Jobs, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the address of the database: %w", err)
	}
	config.MaxConns, config.MinConns = 1, 0
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the connection that listens: %w", err)
	}
	j, err := newJobs(&Jobs{db: db, listen: pool}, riverdatabasesql.NewWithPgxListener(db, pool), o)
	if err != nil {
		pool.Close()
	}
	return j, err
}

func newJobs(j *Jobs, driver riverdriver.Driver[*sql.Tx], o Options) (*Jobs, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &stepWorker{jobs: j})
	river.AddWorker(workers, &startWorker{jobs: j})
	river.AddWorker(workers, &advanceWorker{jobs: j})
	client, err := river.NewClient(driver, &river.Config{
		Queues: map[string]river.QueueConfig{
			queueSteps:   {MaxWorkers: o.StepWorkers},
			queueControl: {MaxWorkers: controlWorkers},
		},
		Workers:                     workers,
		Logger:                      slog.New(quiet{o.Logger.Handler()}),
		FetchCooldown:               o.FetchCooldown,
		FetchPollInterval:           o.PollInterval,
		JobTimeout:                  stepTimeout,
		RescueStuckJobsAfter:        rescueAfter,
		CompletedJobRetentionPeriod: keepCompleted,
		MaxAttempts:                 maxAttempts,
		RetryPolicy:                 retryPolicy{},
		// The store's own maintenance keeps the indexes in order.
		ReindexerSchedule: river.NeverSchedule(),
	})
	if err != nil {
		return nil, fmt.Errorf("make the client of River: %w", err)
	}
	j.client = client
	return j, nil
}

// Start lets the workers take jobs and carry them out with handler. They go on after ctx has ended, until Stop.
func (j *Jobs) Start(ctx context.Context, handler fleet.Handler) error {
	j.handler.Store(&handler)
	ctx, j.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := j.client.Start(ctx); err != nil {
		j.cancel()
		return fmt.Errorf("start the workers: %w", err)
	}
	return nil
}

// Stop lets no further job begin and waits until the running ones have ended. When ctx ends before, their contexts do too, so that they hand
// back what they do. Jobs that Start never let run are not touched.
func (j *Jobs) Stop(ctx context.Context) error {
	if j.listen != nil {
		defer j.listen.Close()
	}
	if j.cancel == nil {
		return nil
	}
	defer j.cancel()
	if err := j.client.Stop(ctx); err == nil {
		return nil
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopFor)
	defer cancel()
	if err := j.client.StopAndCancel(grace); err != nil {
		return fmt.Errorf("stop the workers: %w", err)
	}
	return nil
}
