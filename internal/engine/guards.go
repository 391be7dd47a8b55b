package engine

import (
	"context"
	"fmt"

	"github.com/swell-fleet/swell/internal/fleet"
)

// guards reads for steps what has to hold just before a backend is written to, for many in one statement.
type guards struct {
	engine *Engine
	inbox  *inbox[*guardRequest]
}

type guardRequest struct {
	operationID string
	answer      chan guardAnswer
}

type guardAnswer struct {
	view fleet.GuardView
	err  error
}

// view returns what was committed when it was called, or later. Without the operation the error is of fleet.KindNotFound.
func (g *guards) view(ctx context.Context, operationID string) (fleet.GuardView, error) {
	r := &guardRequest{operationID: operationID, answer: make(chan guardAnswer, 1)}
	g.inbox.put(r)
	select {
	case a := <-r.answer:
		return a.view, a.err
	case <-ctx.Done():
		return fleet.GuardView{}, ctx.Err()
	case <-g.engine.finished:
		return fleet.GuardView{}, errCutOff
	}
}

func (g *guards) run(ctx context.Context) {
	for {
		requests := g.inbox.take(ctx, g.engine.limits.GroupFor/3, g.engine.limits.GroupSize)
		if len(requests) > 0 {
			g.serve(context.WithoutCancel(ctx), requests)
		} else if ctx.Err() != nil {
			return
		}
	}
}

func (g *guards) serve(ctx context.Context, requests []*guardRequest) {
	ids := make([]string, len(requests))
	for i, r := range requests {
		ids[i] = r.operationID
	}
	ctx, cancel := context.WithTimeout(ctx, g.engine.limits.StepTimeout)
	defer cancel()
	views, err := g.engine.store.Guards(ctx, ids)
	if err != nil {
		err = fmt.Errorf("read operations: %w", err)
	}
	for _, r := range requests {
		view, ok := views[r.operationID]
		a := guardAnswer{view: view, err: err}
		if err == nil && !ok {
			a.err = fleet.NotFoundf("the operation does not exist")
		}
		r.answer <- a
	}
}
