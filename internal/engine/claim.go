package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
)

// claimer takes operations for steps, many in one transaction.
type claimer struct {
	engine *Engine
	inbox  *inbox[*claimRequest]
}

type claimRequest struct {
	claim  fleet.Claim
	answer chan claimAnswer
}

type claimAnswer struct {
	operation fleet.Operation
	now       time.Time
	// taken is false when the operation is in another state or attempt.
	taken bool
	err   error
}

// take claims one operation in progress.
func (c *claimer) take(ctx context.Context, claim fleet.Claim) claimAnswer {
	r := &claimRequest{claim: claim, answer: make(chan claimAnswer, 1)}
	c.inbox.put(r)
	select {
	case a := <-r.answer:
		return a
	case <-ctx.Done():
		return claimAnswer{err: ctx.Err()}
	case <-c.engine.finished:
		return claimAnswer{err: errCutOff}
	}
}

func (c *claimer) run(ctx context.Context) {
	for {
		requests := c.inbox.take(ctx, c.engine.limits.GroupFor/3, c.engine.limits.GroupSize)
		if len(requests) > 0 {
			c.serve(context.WithoutCancel(ctx), requests)
		} else if ctx.Err() != nil {
			return
		}
	}
}

func (c *claimer) serve(ctx context.Context, requests []*claimRequest) {
	claims := make([]fleet.Claim, 0, len(requests))
	for _, r := range requests {
		claims = append(claims, r.claim)
	}
	var now time.Time
	var taken []fleet.Operation
	ctx, cancel := context.WithTimeout(ctx, c.engine.limits.StepTimeout)
	defer cancel()
	err := c.engine.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) (err error) {
		now = tx.Now()
		taken, err = tx.Claim(ctx, claims)
		return err
	})
	if err != nil {
		err = fmt.Errorf("claim operations: %w", err)
	}
	byID := make(map[string]fleet.Operation, len(taken))
	for _, op := range taken {
		byID[op.ID] = op
	}
	for _, r := range requests {
		op, ok := byID[r.claim.OperationID]
		// One answer for each claimed operation: a second request for it finds another holder.
		delete(byID, r.claim.OperationID)
		r.answer <- claimAnswer{operation: op, now: now, taken: ok, err: err}
	}
}
