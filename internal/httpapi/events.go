package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

const (
	instanceIDsParam = "instance_ids"
	operationIDParam = "operation_id"
	levelParam       = "level"
	totalCountHeader = "X-Total-Count"
)

var (
	eventLevels = []fleet.Level{fleet.LevelInfo, fleet.LevelError}
	// eventParams are the filters of events.
	eventParams = listParams(
		filter(instanceIDsParam, "Instance IDs, separated by commas or repeated. Without any the events of all runtimes are listed."),
		parameter{name: operationIDParam, kind: textParam, about: "Keeps the events of this operation."},
		parameter{
			name: levelParam, kind: textParam, words: append(words(eventLevels), orchestration.EventLevelAll),
			about: "Keeps events of this level. Default all.",
		},
	)
)

// levels returns the levels of events that are asked for.
func (q *query) levels() []fleet.Level {
	word, ok := q.one(levelParam)
	level := fleet.Level(strings.ToLower(word))
	switch {
	case !ok, level == orchestration.EventLevelAll:
		return nil
	case !slices.Contains(eventLevels, level):
		q.fail(levelParam, fmt.Sprintf("%s is no level; known are %s, %s", quote(word), joinWords(eventLevels), orchestration.EventLevelAll))
	}
	return []fleet.Level{level}
}

// instanceIDs returns the instance IDs, which may be repeated or separated by commas. An ID that is lost on the way must not bring the events of all.
func (q *query) instanceIDs() []string {
	var ids []string
	for _, value := range q.all(instanceIDsParam) {
		for id := range strings.SplitSeq(value, ",") {
			if id = strings.TrimSpace(id); id == "" {
				q.fail(instanceIDsParam, quote(value)+" holds an empty ID")
			}
			ids = append(ids, id)
		}
	}
	if len(ids) > maxValues {
		q.fail(instanceIDsParam, fmt.Sprintf("holds more than %d IDs", maxValues))
	}
	return ids
}

// operationID returns the ID of the operation whose events are asked for. An empty one must not bring the events of all.
func (q *query) operationID() string {
	id, ok := q.one(operationIDParam)
	if ok && id == "" {
		q.fail(operationIDParam, "is empty")
	}
	return id
}

// eventFilter returns the filters of events.
func (q *query) eventFilter() fleet.EventFilter {
	return fleet.EventFilter{InstanceIDs: q.instanceIDs(), OperationID: q.operationID(), Levels: q.levels()}
}

func (a *api) listEvents(c *call) (answer, error) {
	page, filter := c.query.page(a.PageSize, a.MaxPageSize), c.query.eventFilter()
	if c.query.err != nil {
		return answer{}, c.query.err
	}
	events, total, err := a.events(c, filter, page)
	if err != nil {
		return answer{}, err
	}
	return answer{body: events, header: http.Header{totalCountHeader: {strconv.Itoa(total)}}}, nil
}

func (a *api) listOrchestrationEvents(c *call) (answer, error) {
	page, filter := c.query.page(a.PageSize, a.MaxPageSize), c.query.eventFilter()
	if c.query.err != nil {
		return answer{}, c.query.err
	}
	o, err := a.orchestration(c)
	if err != nil {
		return answer{}, err
	}
	filter.OrchestrationID = o.ID
	if filter.OperationID != "" {
		// An operation that does not exist must not look like one without a history.
		if _, err := a.Reader.Operation(c.ctx(), o.ID, filter.OperationID); err != nil {
			return answer{}, fmt.Errorf("get operation: %w", err)
		}
	}
	events, total, err := a.events(c, filter, page)
	if err != nil {
		return answer{}, err
	}
	return answer{body: orchestration.EventList{Data: events, Count: len(events), TotalCount: total}}, nil
}

func (a *api) events(c *call, filter fleet.EventFilter, page fleet.Page) ([]orchestration.Event, int, error) {
	rows, total, err := a.Reader.ListEvents(c.ctx(), filter, page)
	if err != nil {
		return nil, 0, fmt.Errorf("list events: %w", err)
	}
	events := make([]orchestration.Event, len(rows))
	for i, row := range rows {
		events[i] = orchestration.Event{
			ID: strconv.FormatInt(row.ID, 10), Level: string(row.Level), InstanceID: row.InstanceID, OperationID: row.OperationID,
			Message: row.Message, CreatedAt: row.At.UTC(), OrchestrationID: row.OrchestrationID, RuntimeID: row.RuntimeID,
			ShootName: row.ShootName, Kind: string(row.Kind), From: string(row.From), To: string(row.To), User: row.Actor.User,
			Roles: row.Actor.Roles, RequestID: row.Actor.RequestID, RemoteAddr: row.Actor.RemoteAddr,
		}
	}
	return events, total, nil
}
