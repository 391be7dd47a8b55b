package store

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
)

// AppendEvents adds to the history. A missing time becomes that of the transaction, a missing level info.
func (t *Tx) AppendEvents(ctx context.Context, events []fleet.Event) error {
	for chunk := range slices.Chunk(events, insertChunk) {
		rows := make([]eventRow, len(chunk))
		for i := range chunk {
			e := &chunk[i]
			at, level, actor := e.At, e.Level, ""
			if at.IsZero() {
				at = t.now
			}
			if level == "" {
				level = fleet.LevelInfo
			}
			if e.Actor.User != "" || len(e.Actor.Roles) > 0 || e.Actor.RequestID != "" || e.Actor.RemoteAddr != "" {
				actor = jsonText(e.Actor)
			}
			rows[i] = eventRow{
				At: micros(at), Kind: string(e.Kind), Level: string(level), OrchestrationID: e.OrchestrationID, OperationID: e.OperationID,
				RuntimeID: e.RuntimeID, InstanceID: e.InstanceID, FromState: string(e.From), ToState: string(e.To), Message: e.Message,
				Actor: actor,
			}
		}
		if _, err := t.tx.NewInsert().Model(&rows).ExcludeColumn("id").Returning("NULL").Exec(ctx); err != nil {
			return storeError(ctx, "append events", err)
		}
	}
	return nil
}

// shootOfEvent is the name of the Shoot that an event is about: that of its operation, else that of its runtime.
const shootOfEvent = `COALESCE(
	NULLIF((SELECT o.shoot_name FROM operations AS o WHERE o.id = events.operation_id), ''),
	(SELECT r.shoot_name FROM runtimes AS r WHERE r.instance_id = events.instance_id), '') AS shoot_name`

// ListEvents returns a page of the history, newest first. The number of all that match is counted in an index; without a filter that is one
// entry for every event that is kept.
func (s *Store) ListEvents(ctx context.Context, f fleet.EventFilter, p fleet.Page) ([]fleet.Event, int, error) {
	q := listQuery{table: "events", key: "id", order: []string{"id DESC"}}
	if f.OrchestrationID != "" {
		q.and("orchestration_id = ? AND orchestration_id <> ''", f.OrchestrationID)
	}
	if f.OperationID != "" {
		q.and("operation_id = ? AND operation_id <> ''", f.OperationID)
	}
	q.in("level", textValues(f.Levels))
	if len(f.InstanceIDs) > 0 {
		q.and("instance_id <> ''")
		if len(f.InstanceIDs) <= maxSplit {
			q.split("instance_id", distinct(f.InstanceIDs))
		} else {
			q.in("instance_id", f.InstanceIDs)
		}
	}
	if err := checkPage(p); err != nil {
		return nil, 0, err
	}
	var rows []eventRow
	var total int
	err := s.snapshot(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		total, err = readList(ctx, tx, &q, p, columns[eventRow](tx, "")+", "+shootOfEvent, &rows)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	out := make([]fleet.Event, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = fleet.Event{
			ID: r.ID, At: timeOf(r.At), Kind: fleet.EventKind(r.Kind), Level: fleet.Level(r.Level), OrchestrationID: r.OrchestrationID,
			OperationID: r.OperationID, RuntimeID: r.RuntimeID, InstanceID: r.InstanceID, From: fleet.State(r.FromState), To: fleet.State(r.ToState),
			Message: r.Message, ShootName: r.ShootName,
		}
		if r.Actor != "" {
			// What cannot be read shows as nobody; it must not hide the event.
			_ = json.Unmarshal([]byte(r.Actor), &out[i].Actor)
		}
	}
	return out, total, nil
}
