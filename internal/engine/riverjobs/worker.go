package riverjobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/swell-fleet/swell/internal/fleet"
)

const (
	// maxAttempts is practically endless: what ends a job is its row. It fits the column of PostgreSQL.
	maxAttempts = 30_000
	// retryShort and retryLong are the waits after a job could not be carried out because the store did not answer.
	retryShort, retryLong = time.Second, 10 * time.Second
)

// stepArgs are a fleet.JobStep. The orchestration is in them for people who look at the table.
type stepArgs struct {
	OperationID     string `json:"operation_id"     river:"unique"`
	Attempt         int    `json:"attempt"          river:"unique"`
	OrchestrationID string `json:"orchestration_id"`
}

// Kind names the job in the table.
func (stepArgs) Kind() string { return string(fleet.JobStep) }

// startArgs are a fleet.JobStart.
type startArgs struct {
	OrchestrationID string `json:"orchestration_id" river:"unique"`
}

// Kind names the job in the table.
func (startArgs) Kind() string { return string(fleet.JobStart) }

// advanceArgs are a fleet.JobAdvance. They are not unique: one that runs may have read the rows before the change that asks for another.
type advanceArgs struct {
	OrchestrationID string `json:"orchestration_id"`
}

// Kind names the job in the table.
func (advanceArgs) Kind() string { return string(fleet.JobAdvance) }

// unique keeps a job from being added while the same one waits or runs. Completed ones do not count.
var unique = river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
}}

func paramsOf(job fleet.Job) (river.InsertManyParams, error) {
	opts := &river.InsertOpts{Queue: queueControl, ScheduledAt: job.At}
	switch job.Kind {
	case fleet.JobStep:
		opts.Queue, opts.UniqueOpts = queueSteps, unique
		return river.InsertManyParams{Args: stepArgs{OperationID: job.OperationID, Attempt: job.Attempt, OrchestrationID: job.OrchestrationID}, InsertOpts: opts}, nil
	case fleet.JobStart:
		opts.UniqueOpts = unique
		return river.InsertManyParams{Args: startArgs{OrchestrationID: job.OrchestrationID}, InsertOpts: opts}, nil
	case fleet.JobAdvance:
		return river.InsertManyParams{Args: advanceArgs{OrchestrationID: job.OrchestrationID}, InsertOpts: opts}, nil
	default:
		return river.InsertManyParams{}, fmt.Errorf("unknown job %q", job.Kind)
	}
}

type stepWorker struct {
	river.WorkerDefaults[stepArgs]

	jobs *Jobs
}

// Work carries the job out.
func (w *stepWorker) Work(ctx context.Context, job *river.Job[stepArgs]) error {
	return w.jobs.work(ctx, fleet.Job{
		Kind: fleet.JobStep, OrchestrationID: job.Args.OrchestrationID, OperationID: job.Args.OperationID, Attempt: job.Args.Attempt,
	})
}

type startWorker struct {
	river.WorkerDefaults[startArgs]

	jobs *Jobs
}

// Timeout leaves room for big fleets.
func (*startWorker) Timeout(*river.Job[startArgs]) time.Duration { return controlTimeout }

// Work carries the job out.
func (w *startWorker) Work(ctx context.Context, job *river.Job[startArgs]) error {
	return w.jobs.work(ctx, fleet.Job{Kind: fleet.JobStart, OrchestrationID: job.Args.OrchestrationID})
}

type advanceWorker struct {
	river.WorkerDefaults[advanceArgs]

	jobs *Jobs
}

// Timeout leaves room for big fleets.
func (*advanceWorker) Timeout(*river.Job[advanceArgs]) time.Duration { return controlTimeout }

// Work carries the job out.
func (w *advanceWorker) Work(ctx context.Context, job *river.Job[advanceArgs]) error {
	return w.jobs.work(ctx, fleet.Job{Kind: fleet.JobAdvance, OrchestrationID: job.Args.OrchestrationID})
}

func (j *Jobs) work(ctx context.Context, job fleet.Job) error {
	handler := j.handler.Load()
	if handler == nil {
		return errors.New("the workers were not started")
	}
	again, err := (*handler).Handle(ctx, job)
	if err != nil {
		return err
	}
	if again > 0 {
		return river.JobSnooze(again)
	}
	return nil
}

// retryPolicy waits a little longer after the first tries, and never long: the rows decide whether there is still something to do.
type retryPolicy struct{}

// NextRetry is when a job that failed is run again.
func (retryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	wait := min(time.Duration(job.Attempt)*retryShort, retryLong)
	if job.AttemptedAt == nil {
		return job.ScheduledAt.Add(wait)
	}
	return job.AttemptedAt.Add(wait)
}

// quiet passes warnings and errors of River on, and leaves out what it says about itself.
type quiet struct{ slog.Handler }

// Enabled reports whether a level is passed on.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// WithAttrs keeps the limit.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup keeps the limit.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
