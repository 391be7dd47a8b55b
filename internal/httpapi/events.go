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
	beforeParam      = "before"
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
		parameter{
			name: beforeParam, kind: textParam, pattern: "^[1-9][0-9]*$",
			about: "The ID of an event: the events with smaller IDs are listed, page_size of them. Whoever goes on with the last ID of each answer until one is empty reads " +
				"all events once, also while others are added. Nothing is counted. Not together with page.",
		},
	)
)

// EventList is orchestration.EventList as it is written: without a total where nothing was counted.
type EventList struct {
	Data       []orchestration.Event `json:"data"`
	Count      int                   `json:"count"`
	TotalCount *int                  `json:"totalCount,omitempty" doc:"The number of all that match. Left out where before is given."`
}

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

// eventPart is the part of the events that is asked for: a page of them, or, where before is not 0, the first page of those before one.
type eventPart struct {
	page   fleet.Page
	before int64
}

func (q *query) eventPart(size, maxSize int) eventPart {
	part := eventPart{page: q.page(size, maxSize), before: q.before()}
	if part.before > 0 && q.values.Has(pageParam) {
		q.fail(beforeParam, "is given together with "+pageParam)
	}
	return part
}

// before returns the ID of the event that is gone on from, as the server wrote it; 0 when it is absent.
func (q *query) before() int64 {
	text, ok := q.one(beforeParam)
	if !ok {
		return 0
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || strconv.FormatInt(id, 10) != text {
		q.fail(beforeParam, quote(text)+" is not the ID of an event")
		return 0
	}
	return id
}

func (a *api) listEvents(c *call) (answer, error) {
	part, filter := c.query.eventPart(a.PageSize, a.MaxPageSize), c.query.eventFilter()
	if c.query.err != nil {
		return answer{}, c.query.err
	}
	list, err := a.events(c, filter, part)
	if err != nil {
		return answer{}, err
	}
	found := answer{body: list.Data}
	if list.TotalCount != nil {
		found.header = http.Header{totalCountHeader: {strconv.Itoa(*list.TotalCount)}}
	}
	return found, nil
}

func (a *api) listOrchestrationEvents(c *call) (answer, error) {
	part, filter := c.query.eventPart(a.PageSize, a.MaxPageSize), c.query.eventFilter()
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
	list, err := a.events(c, filter, part)
	if err != nil {
		return answer{}, err
	}
	return answer{body: list}, nil
}

func (a *api) events(c *call, filter fleet.EventFilter, part eventPart) (list EventList, err error) {
	var rows []fleet.Event
	if part.before > 0 {
		rows, err = a.Reader.EventsBefore(c.ctx(), filter, part.before, part.page.Size)
	} else {
		list.TotalCount = new(int)
		rows, *list.TotalCount, err = a.Reader.ListEvents(c.ctx(), filter, part.page)
	}
	if err != nil {
		return EventList{}, fmt.Errorf("list events: %w", err)
	}
	list.Data, list.Count = make([]orchestration.Event, len(rows)), len(rows)
	for i, row := range rows {
		list.Data[i] = orchestration.Event{
			ID: strconv.FormatInt(row.ID, 10), Level: string(row.Level), InstanceID: row.InstanceID, OperationID: row.OperationID,
			Message: row.Message, CreatedAt: row.At.UTC(), OrchestrationID: row.OrchestrationID, RuntimeID: row.RuntimeID,
			ShootName: row.ShootName, Kind: string(row.Kind), From: string(row.From), To: string(row.To), User: row.Actor.User,
			Roles: row.Actor.Roles, RequestID: row.Actor.RequestID, RemoteAddr: row.Actor.RemoteAddr,
		}
	}
	return list, nil
}
