package store

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
)

// guardRow is a row of the one query of Guards.
type guardRow struct {
	Now                int64  `bun:"now"`
	ID                 string `bun:"id"`
	State              string `bun:"state"`
	Fence              int64  `bun:"fence"`
	OrchestrationState string `bun:"orchestration_state"`
	UsesWindow         bool   `bun:"uses_window"`
	WindowBegin        int64  `bun:"window_begin"`
	WindowEnd          int64  `bun:"window_end"`
}

// Guards reads in one statement for each insertChunk of operations what has to hold just before a backend is written to. It sees everything that was
// committed before it began.
func (s *Store) Guards(ctx context.Context, operationIDs []string) (map[string]fleet.GuardView, error) {
	clock := "0"
	if s.clock == nil {
		clock = clockQuery
	}
	views := make(map[string]fleet.GuardView, len(operationIDs))
	for chunk := range slices.Chunk(operationIDs, insertChunk) {
		var rows []guardRow
		err := s.read.NewRaw("SELECT "+clock+` AS now, op.id, op.state, op.fence, o.state AS orchestration_state, op.uses_window, op.window_begin, op.window_end
			FROM operations AS op JOIN orchestrations AS o ON o.id = op.orchestration_id WHERE op.id IN (?)`, bun.List(chunk)).Scan(ctx, &rows)
		if err != nil {
			return nil, storeError(ctx, "read operations", err)
		}
		for i := range rows {
			r := &rows[i]
			now := timeOf(r.Now)
			if s.clock != nil {
				now = s.clock().UTC().Truncate(time.Microsecond)
			}
			views[r.ID] = fleet.GuardView{
				Now: now, State: stateOf(r.State), Fence: r.Fence, OrchestrationState: stateOf(r.OrchestrationState),
				UsesWindow: r.UsesWindow, WindowBegin: timeOf(r.WindowBegin), WindowEnd: timeOf(r.WindowEnd),
			}
		}
	}
	return views, nil
}
