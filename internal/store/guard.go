package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
)

// guardRow is the answer of the one query of Guard.
type guardRow struct {
	Now                int64  `bun:"now"`
	State              string `bun:"state"`
	Fence              int64  `bun:"fence"`
	OrchestrationState string `bun:"orchestration_state"`
	UsesWindow         bool   `bun:"uses_window"`
	WindowBegin        int64  `bun:"window_begin"`
	WindowEnd          int64  `bun:"window_end"`
}

// Guard reads in one statement what has to hold just before a backend is written to. It sees everything that was committed before it began.
func (s *Store) Guard(ctx context.Context, operationID string) (fleet.GuardView, error) {
	clock := "0"
	if s.clock == nil {
		clock = clockQuery
	}
	var row guardRow
	err := s.read.NewRaw("SELECT "+clock+` AS now, op.state, op.fence, o.state AS orchestration_state, op.uses_window, op.window_begin, op.window_end
		FROM operations AS op JOIN orchestrations AS o ON o.id = op.orchestration_id WHERE op.id = ?`, operationID).Scan(ctx, &row)
	if errors.Is(err, sql.ErrNoRows) {
		return fleet.GuardView{}, fleet.NotFoundf("the operation does not exist")
	}
	if err != nil {
		return fleet.GuardView{}, storeError(ctx, "read an operation", err)
	}
	now := timeOf(row.Now)
	if s.clock != nil {
		now = s.clock().UTC().Truncate(time.Microsecond)
	}
	return fleet.GuardView{
		Now: now, State: stateOf(row.State), Fence: row.Fence, OrchestrationState: stateOf(row.OrchestrationState),
		UsesWindow: row.UsesWindow, WindowBegin: timeOf(row.WindowBegin), WindowEnd: timeOf(row.WindowEnd),
	}, nil
}
