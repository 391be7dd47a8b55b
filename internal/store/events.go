package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
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
				RuntimeID: e.RuntimeID, InstanceID: e.InstanceID, ShootName: cleanText(e.ShootName), FromState: string(e.From), ToState: string(e.To),
				Message: e.Message, Actor: actor,
			}
		}
		if _, err := t.tx.NewInsert().Model(&rows).ExcludeColumn("id").Returning("NULL").Exec(ctx); err != nil {
			return storeError(ctx, "append events", err)
		}
	}
	return nil
}

// shootOfEvent is the name that the Shoot which an event is about had then. Operations never change theirs.
const shootOfEvent = `COALESCE(NULLIF(shoot_name, ''), (SELECT o.shoot_name FROM operations AS o WHERE o.id = events.operation_id), '') AS shoot_name`

// ListEvents returns a page of the history, newest first. The number of all that match is counted in an index; without a filter that is one
// entry for every event that is kept.
func (s *Store) ListEvents(ctx context.Context, f fleet.EventFilter, p fleet.Page) ([]fleet.Event, int, error) {
	if err := checkPage(p); err != nil {
		return nil, 0, err
	}
	q := eventQuery(f)
	var rows []eventRow
	var total int
	err := s.snapshot(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		total, err = readList(ctx, tx, &q, p, eventColumns(tx), &rows)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return eventsOf(rows), total, nil
}

// EventsBefore returns events whose IDs are smaller than one, newest first, at most limit. It counts nothing and passes over nothing, so it costs the same
// wherever in the history it reads.
func (s *Store) EventsBefore(ctx context.Context, f fleet.EventFilter, id int64, limit int) ([]fleet.Event, error) {
	p := fleet.Page{Number: 1, Size: limit}
	if err := checkPage(p); err != nil {
		return nil, err
	}
	q := eventQuery(f)
	q.and("id < ?", id)
	query, args := q.first(eventColumns(s.read), limit)
	if len(f.InstanceIDs) > 1 {
		// No index has the events of several instances in their order.
		query, args = q.rows(eventColumns(s.read), p)
	}
	var rows []eventRow
	if err := s.read.NewRaw(query, args...).Scan(ctx, &rows); err != nil {
		return nil, storeError(ctx, "read events", err)
	}
	return eventsOf(rows), nil
}

// eventQuery selects what a filter asks for.
func eventQuery(f fleet.EventFilter) listQuery {
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
	return q
}

// eventColumns are the columns of a list of events.
func eventColumns(db bun.IDB) string { return columns[eventRow](db, "") + ", " + shootOfEvent }

// eventsOf returns the events in rows.
func eventsOf(rows []eventRow) []fleet.Event {
	out := make([]fleet.Event, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = fleet.Event{
			ID: r.ID, At: timeOf(r.At), Kind: fleet.EventKind(r.Kind), Level: fleet.Level(r.Level), OrchestrationID: r.OrchestrationID,
			OperationID: r.OperationID, RuntimeID: r.RuntimeID, InstanceID: r.InstanceID, From: fleet.State(r.FromState), To: fleet.State(r.ToState),
			Message: r.Message, ShootName: r.ShootName, Actor: actorOf(r.Actor),
		}
	}
	return out
}

// actorOf reads who asked for something. What cannot be read shows as nobody; it must not hide the event.
func actorOf(text string) (actor fleet.Actor) {
	if text != "" {
		_ = json.Unmarshal([]byte(text), &actor)
	}
	return actor
}

// CanceledBy returns who asked last to cancel an orchestration; empty when nobody did. The events are read from the newest back to that one.
func (s *Store) CanceledBy(ctx context.Context, orchestrationID string) (string, error) {
	var actor string
	err := s.read.NewRaw(`SELECT actor FROM events WHERE orchestration_id = ? AND orchestration_id <> '' AND kind = ? ORDER BY id DESC LIMIT 1`,
		orchestrationID, string(fleet.EventCancel)).Scan(ctx, &actor)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", storeError(ctx, "read who canceled an orchestration", err)
	}
	return actorOf(actor).User, nil
}
