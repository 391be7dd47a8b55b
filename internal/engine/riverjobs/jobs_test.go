package riverjobs_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine/riverjobs"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
)

const patience = 30 * time.Second

// base is a database with room for jobs.
type base struct {
	store *store.Store
	url   string
}

// stores open each of the databases.
var stores = map[string]func(t testing.TB) *base{"sqlite": newSQLiteBase, "postgres": newPostgresBase}

func newSQLiteBase(t testing.TB) *base {
	t.Helper()
	s, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: t.TempDir(), Clock: time.Now, AfterMigrate: riverjobs.MigrateSQLite})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &base{store: s}
}

func newPostgresBase(t testing.TB) *base {
	t.Helper()
	url := postgres.URL(t)
	s, err := store.OpenPostgres(t.Context(), store.PostgresOptions{URL: url, AfterMigrate: riverjobs.MigratePostgres})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &base{store: s, url: url}
}

func (b *base) jobs(t *testing.T, poll time.Duration) *riverjobs.Jobs {
	t.Helper()
	o := riverjobs.Options{Logger: slog.New(slog.DiscardHandler), PollInterval: poll}
	var j *riverjobs.Jobs
	var err error
	if b.url == "" {
		j, err = riverjobs.NewSQLite(b.store.SQL(), o)
	} else {
		j, err = riverjobs.NewPostgres(t.Context(), b.store.SQL(), b.url, o)
	}
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, j) })
	return j
}

func stop(t *testing.T, j *riverjobs.Jobs) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	require.NoError(t, j.Stop(ctx))
}

func (b *base) insert(t *testing.T, j *riverjobs.Jobs, jobs ...fleet.Job) []int64 {
	t.Helper()
	var ids []int64
	require.NoError(t, b.store.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) (err error) {
		ids, err = j.Insert(ctx, tx, jobs)
		return err
	}))
	j.Nudge()
	return ids
}

func (b *base) waiting(t *testing.T, j *riverjobs.Jobs, ids []int64) []int64 {
	t.Helper()
	var found []int64
	require.NoError(t, b.store.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) (err error) {
		found, err = j.Waiting(ctx, tx, ids)
		return err
	}))
	return found
}

// recorder is a handler that notes what it gets.
type recorder struct {
	mu     sync.Mutex
	jobs   []fleet.Job
	got    chan fleet.Job
	answer func(ctx context.Context, job fleet.Job) (time.Duration, error)
}

func newRecorder(answer func(ctx context.Context, job fleet.Job) (time.Duration, error)) *recorder {
	return &recorder{got: make(chan fleet.Job, 100), answer: answer}
}

func (r *recorder) Handle(ctx context.Context, job fleet.Job) (time.Duration, error) {
	r.mu.Lock()
	r.jobs = append(r.jobs, job)
	r.mu.Unlock()
	r.got <- job
	if r.answer == nil {
		return 0, nil
	}
	return r.answer(ctx, job)
}

func (r *recorder) next(t *testing.T) fleet.Job {
	t.Helper()
	select {
	case job := <-r.got:
		return job
	case <-time.After(patience):
		require.FailNow(t, "no job came")
		return fleet.Job{}
	}
}

func step(operationID string, attempt int) fleet.Job {
	return fleet.Job{Kind: fleet.JobStep, OrchestrationID: "o-1", OperationID: operationID, Attempt: attempt}
}

// Jobs arrive as they were inserted, at once, and without waiting for a poll.
func TestJobsArrive(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			j := b.jobs(t, time.Minute)
			r := newRecorder(nil)
			require.NoError(t, j.Start(t.Context(), r))
			want := []fleet.Job{step("op-1", 2), {Kind: fleet.JobStart, OrchestrationID: "o-1"}, {Kind: fleet.JobAdvance, OrchestrationID: "o-2"}}
			ids := b.insert(t, j, want...)
			require.Len(t, ids, 3)
			require.NotContains(t, ids, int64(0))
			require.ElementsMatch(t, want, []fleet.Job{r.next(t), r.next(t), r.next(t)})
		})
	}
}

// What is rolled back was never there.
func TestJobsAreInTheTransactionOfTheirRows(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			j := b.jobs(t, 50*time.Millisecond)
			var ids []int64
			gone := errors.New("not now")
			require.ErrorIs(t, b.store.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) (err error) {
				ids, err = j.Insert(ctx, tx, []fleet.Job{step("op-1", 1)})
				require.NoError(t, err)
				found, err := j.Waiting(ctx, tx, ids)
				require.NoError(t, err)
				require.Equal(t, ids, found)
				return gone
			}), gone)
			require.Empty(t, b.waiting(t, j, ids))
		})
	}
}

// The same step is not added twice while it waits, also within one call; another attempt and an ended one are.
func TestStepsAreUnique(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			j := b.jobs(t, 50*time.Millisecond)
			later := step("op-1", 1)
			later.At = time.Now().Add(time.Hour)
			first := b.insert(t, j, later)
			second := b.insert(t, j, step("op-2", 1), step("op-1", 1), step("op-2", 1), step("op-1", 2))
			require.Equal(t, second[0], second[2])
			require.Equal(t, first[0], second[1])
			require.NotEqual(t, first[0], second[3])
			require.ElementsMatch(t, []int64{first[0], second[0], second[3]}, b.waiting(t, j, append(second, 4711)))

			// An advance may be asked for while another one runs on what was there before.
			advance := fleet.Job{Kind: fleet.JobAdvance, OrchestrationID: "o-1"}
			require.NotEqual(t, b.insert(t, j, advance), b.insert(t, j, advance))

			r := newRecorder(nil)
			require.NoError(t, j.Start(t.Context(), r))
			require.Eventually(t, func() bool { return len(b.waiting(t, j, second)) == 1 }, patience, 20*time.Millisecond)
			require.Eventually(t, func() bool { return b.insert(t, j, step("op-2", 1))[0] != second[0] }, patience, 20*time.Millisecond, "the first one has ended")
		})
	}
}

// A job that asks for it is run again, with the same number.
func TestJobsAreRunAgain(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			j := b.jobs(t, 50*time.Millisecond)
			var calls int
			r := newRecorder(func(context.Context, fleet.Job) (time.Duration, error) {
				calls++
				switch calls {
				case 1:
					return time.Millisecond, nil
				case 2:
					return 0, errors.New("the store does not answer")
				default:
					return 0, nil
				}
			})
			require.NoError(t, j.Start(t.Context(), r))
			ids := b.insert(t, j, step("op-1", 1))
			for range 3 {
				require.Equal(t, step("op-1", 1), r.next(t))
			}
			require.Eventually(t, func() bool { return len(b.waiting(t, j, ids)) == 0 }, patience, 20*time.Millisecond)
		})
	}
}

// A job that waits for its time is made due by a wake; numbers that mean nothing are ignored.
func TestWake(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			j := b.jobs(t, 50*time.Millisecond)
			first := true
			r := newRecorder(func(context.Context, fleet.Job) (time.Duration, error) {
				if first {
					first = false
					return time.Hour, nil
				}
				return 0, nil
			})
			require.NoError(t, j.Start(t.Context(), r))
			ids := b.insert(t, j, step("op-1", 1))
			r.next(t)
			require.Eventually(t, func() bool { return len(b.waiting(t, j, ids)) == 1 }, patience, 20*time.Millisecond)
			woken, err := j.Wake(t.Context(), []int64{4711, ids[0]})
			require.NoError(t, err)
			require.Equal(t, ids, woken)
			r.next(t)
			require.Eventually(t, func() bool { return len(b.waiting(t, j, ids)) == 0 }, patience, 20*time.Millisecond)
			woken, err = j.Wake(t.Context(), ids)
			require.NoError(t, err)
			require.Empty(t, woken)
			_, err = j.Wake(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, b.waiting(t, j, ids), "what has ended is not run again")
		})
	}
}

// A stop waits for running jobs, then ends their contexts, and what was handed back runs elsewhere at once.
func TestStopHandsBack(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			j := b.jobs(t, 50*time.Millisecond)
			r := newRecorder(func(ctx context.Context, _ fleet.Job) (time.Duration, error) {
				<-ctx.Done()
				return time.Millisecond, nil
			})
			require.NoError(t, j.Start(t.Context(), r))
			ids := b.insert(t, j, step("op-1", 1))
			r.next(t)
			require.Empty(t, b.waiting(t, j, ids), "it runs")
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			require.NoError(t, j.Stop(ctx))

			next, second := b.jobs(t, 50*time.Millisecond), newRecorder(nil)
			require.NoError(t, next.Start(t.Context(), second))
			require.Equal(t, step("op-1", 1), second.next(t))
		})
	}
}

// Processes that start at the same time, and later versions, find the tables as they should be.
func TestMigrationsMayRunAgain(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			if b.url == "" {
				require.NoError(t, riverjobs.MigrateSQLite(t.Context(), b.store.SQL()))
			} else {
				require.NoError(t, riverjobs.MigratePostgres(t.Context(), b.store.SQL()))
			}
			j := b.jobs(t, 50*time.Millisecond)
			require.Len(t, b.insert(t, j, step("op-1", 1)), 1)
		})
	}
}

func TestUnknownJobsAreRefused(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			j := b.jobs(t, 50*time.Millisecond)
			require.ErrorContains(t, b.store.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
				_, err := j.Insert(ctx, tx, []fleet.Job{{Kind: "dance"}})
				return err
			}), "dance")
			_, err := j.Insert(t.Context(), nil, nil)
			require.ErrorContains(t, err, "transaction")
		})
	}
}
