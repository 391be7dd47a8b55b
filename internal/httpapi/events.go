package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
)

const (
	instanceIDsParam = "instance_ids"
	levelParam       = "level"
	totalCountHeader = "X-Total-Count"
)

var (
	eventLevels    = []fleet.Level{fleet.LevelInfo, fleet.LevelError}
	levelParameter = parameter{name: levelParam, kind: textParam, words: append(words(eventLevels), allLevels), about: "Keeps events of this level. Default all."}
)

const allLevels = "all"

// Event is one entry of the history. The first six keys are those of older clients, which read keys in any letter case.
type Event struct {
	// ID is a number as text; later events have greater numbers.
	ID         string      `json:"id"`
	Level      fleet.Level `json:"level"`
	InstanceID string      `json:"instanceID,omitempty"`
	// OperationID is empty for what concerns a whole orchestration.
	OperationID string    `json:"operationID,omitempty"`
	Message     string    `json:"message"`
	CreatedAt   time.Time `json:"createdAt"`

	OrchestrationID string          `json:"orchestrationID,omitempty"`
	RuntimeID       string          `json:"runtimeID,omitempty"`
	Kind            fleet.EventKind `json:"kind"`
	// From and To are the states before and after, where a state changed.
	From fleet.State `json:"from,omitempty"`
	To   fleet.State `json:"to,omitempty"`
	// User is who asked for it; empty for what the server does by itself.
	User string `json:"user,omitempty"`
	// Roles are what the user was allowed to do.
	Roles []string `json:"roles,omitempty"`
	// RequestID is the ID of the request by which it was asked for.
	RequestID string `json:"requestID,omitempty"`
	// RemoteAddr is the address that the request came from.
	RemoteAddr string `json:"remoteAddr,omitempty"`
}

// EventList is one page of events.
type EventList struct {
	Data       []Event `json:"data"`
	Count      int     `json:"count"`
	TotalCount int     `json:"totalCount"`
}

// levels returns the levels of events that are asked for.
func (q *query) levels() []fleet.Level {
	word, ok := q.one(levelParam)
	level := fleet.Level(strings.ToLower(word))
	switch {
	case !ok, level == allLevels:
		return nil
	case !slices.Contains(eventLevels, level):
		q.fail(levelParam, fmt.Sprintf("%s is no level; known are %s, %s", quote(word), joinWords(eventLevels), allLevels))
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

func (a *api) listEvents(c *call) (answer, error) {
	page := c.query.page(a.PageSize, a.MaxPageSize)
	filter := fleet.EventFilter{InstanceIDs: c.query.instanceIDs(), Levels: c.query.levels()}
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
	page := c.query.page(a.PageSize, a.MaxPageSize)
	levels := c.query.levels()
	if c.query.err != nil {
		return answer{}, c.query.err
	}
	o, err := a.orchestration(c)
	if err != nil {
		return answer{}, err
	}
	events, total, err := a.events(c, fleet.EventFilter{OrchestrationID: o.ID, Levels: levels}, page)
	if err != nil {
		return answer{}, err
	}
	return answer{body: EventList{Data: events, Count: len(events), TotalCount: total}}, nil
}

func (a *api) events(c *call, filter fleet.EventFilter, page fleet.Page) ([]Event, int, error) {
	rows, total, err := a.Reader.ListEvents(c.ctx(), filter, page)
	if err != nil {
		return nil, 0, fmt.Errorf("list events: %w", err)
	}
	events := make([]Event, len(rows))
	for i, row := range rows {
		events[i] = Event{
			ID: strconv.FormatInt(row.ID, 10), Level: row.Level, InstanceID: row.InstanceID, OperationID: row.OperationID,
			Message: row.Message, CreatedAt: row.At.UTC(), OrchestrationID: row.OrchestrationID, RuntimeID: row.RuntimeID, Kind: row.Kind,
			From: row.From, To: row.To, User: row.Actor.User, Roles: row.Actor.Roles, RequestID: row.Actor.RequestID,
			RemoteAddr: row.Actor.RemoteAddr,
		}
	}
	return events, total, nil
}
