package riverjobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/swell-fleet/swell/internal/fleet"
)

// askChunk is how many jobs are asked for in one query, below River's limit of 10,000 for a list.
const askChunk = 1000

// sqlTx is what the transactions of both stores have besides fleet.Tx.
type sqlTx interface{ SQLTx() *sql.Tx }

func transactionOf(tx fleet.Tx) (*sql.Tx, error) {
	t, ok := tx.(sqlTx)
	if !ok {
		return nil, fmt.Errorf("the transaction %T is not one of a database", tx)
	}
	return t.SQLTx(), nil
}

// Insert adds jobs in the transaction of their rows. See fleet.Queue.
func (j *Jobs) Insert(ctx context.Context, tx fleet.Tx, jobs []fleet.Job) ([]int64, error) {
	t, err := transactionOf(tx)
	if err != nil {
		return nil, err
	}
	// Drivers treat duplicates inside one batch differently, so there are none.
	place := make(map[fleet.Job]int, len(jobs))
	params := make([]river.InsertManyParams, 0, len(jobs))
	for _, job := range jobs {
		key := job
		key.At = job.At.UTC()
		if _, ok := place[key]; ok {
			continue
		}
		p, err := paramsOf(job)
		if err != nil {
			return nil, err
		}
		place[key] = len(params)
		params = append(params, p)
	}
	if len(params) == 0 {
		return []int64{}, nil
	}
	results, err := j.client.InsertManyTx(ctx, t, params)
	if err != nil {
		return nil, fmt.Errorf("insert jobs: %w", err)
	}
	ids := make([]int64, 0, len(jobs))
	for _, job := range jobs {
		job.At = job.At.UTC()
		id := int64(0)
		if r := results[place[job]]; r.Job != nil {
			id = r.Job.ID
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Waiting returns the jobs that wait for their time or for a worker. See fleet.Queue.
func (j *Jobs) Waiting(ctx context.Context, tx fleet.Tx, jobIDs []int64) ([]int64, error) {
	t, err := transactionOf(tx)
	if err != nil {
		return nil, err
	}
	return j.waiting(ctx, t, jobIDs)
}

func (j *Jobs) waiting(ctx context.Context, tx *sql.Tx, jobIDs []int64) ([]int64, error) {
	var found []int64
	for begin := 0; begin < len(jobIDs); begin += askChunk {
		part := jobIDs[begin:min(begin+askChunk, len(jobIDs))]
		list, err := j.client.JobListTx(ctx, tx, river.NewJobListParams().IDs(part...).First(len(part)).
			States(rivertype.JobStateAvailable, rivertype.JobStateRetryable, rivertype.JobStateScheduled))
		if err != nil {
			return nil, fmt.Errorf("list waiting jobs: %w", err)
		}
		for _, job := range list.Jobs {
			found = append(found, job.ID)
		}
	}
	return found, nil
}

// Nudge tells the workers of this process that jobs are waiting.
func (j *Jobs) Nudge() {
	if j.nudges != nil {
		j.nudges.nudge()
	}
}

// Wake makes waiting jobs run at once. See fleet.Queue.
func (j *Jobs) Wake(ctx context.Context, jobIDs []int64) (woken []int64, err error) {
	if len(jobIDs) == 0 {
		return nil, nil
	}
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin a transaction: %w", err)
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback()
		}
	}()
	// What has ended would be run again otherwise.
	woken, err = j.waiting(ctx, tx, jobIDs)
	if err != nil {
		return nil, err
	}
	for _, id := range woken {
		if _, err := j.client.JobRetryTx(ctx, tx, id); err != nil && !errors.Is(err, river.ErrNotFound) {
			return nil, fmt.Errorf("make job %d due: %w", id, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	j.Nudge()
	return woken, nil
}
