package orchestration

import "time"

// The levels of events.
const (
	// EventLevelAll asks for events of every level. No event has it.
	EventLevelAll = "all"
	// EventLevelInfo is the level of what goes as it should.
	EventLevelInfo = "info"
	// EventLevelError is the level of what failed.
	EventLevelError = "error"
)

// Event is one entry of the history: what happened, to what, why, and who asked for it. Events are added and never changed. The keys of the
// first six fields are those of older servers, which differ in letter case only.
type Event struct {
	// ID is a number as text; later events have greater numbers.
	ID string `json:"id"`
	// Level is EventLevelInfo or EventLevelError.
	Level string `json:"level"`
	// InstanceID identifies the service instance of the runtime; empty for what concerns a whole orchestration or the server.
	InstanceID string `json:"instanceID,omitempty"`
	// OperationID is empty for what concerns a whole orchestration or no orchestration at all.
	OperationID string `json:"operationID,omitempty"`
	// Message says in one line what happened and why.
	Message string `json:"message"`
	// CreatedAt is when it happened.
	CreatedAt time.Time `json:"createdAt"`

	// OrchestrationID is empty for what belongs to no orchestration.
	OrchestrationID string `json:"orchestrationID,omitempty"`
	// RuntimeID identifies the runtime; empty for what concerns none.
	RuntimeID string `json:"runtimeID,omitempty"`
	// ShootName is the name that the runtime's Shoot had then, where it is known.
	ShootName string `json:"shootName,omitempty"`
	// Kind names what happened in one word. Of an orchestration: "created", "resolved", "cancel_requested", "retry_requested", "finished". Of
	// an operation: "skipped", "admitted", "taken_over", "returned", "window_moved", "finished". Of runtimes: "imported", "forgotten". Others may come.
	Kind string `json:"kind"`
	// From is the state before; empty where no state changed.
	From string `json:"from,omitempty"`
	// To is the state after; empty where no state changed.
	To string `json:"to,omitempty"`
	// User is who asked for it; empty for what the server does by itself.
	User string `json:"user,omitempty"`
	// Roles are what the user was allowed to do.
	Roles []string `json:"roles,omitempty"`
	// RequestID is the ID of the request by which it was asked for.
	RequestID string `json:"requestID,omitempty"`
	// RemoteAddr is the address that the request came from.
	RemoteAddr string `json:"remoteAddr,omitempty"`
}

// EventList is one page of events, newest first.
type EventList struct {
	Data  []Event `json:"data"`
	Count int     `json:"count"`
	// TotalCount is 0 for a part of the events that was asked for with Before: nothing is counted then.
	TotalCount int `json:"totalCount"`
}

// EventParameters are the filters and the paging of lists of events. All filters that are set have to match.
type EventParameters struct {
	// Page is the number of the page that is wanted, from 1 on. 0 means all pages, one after another.
	Page int
	// PageSize is the number of events a page holds. 0 leaves the choice to the server.
	PageSize int
	// Level keeps the events of this level. Empty and EventLevelAll keep those of every level.
	Level string
	// InstanceIDs keeps the events of the runtimes with these instance IDs; empty keeps those of all. There may be any number of them. An
	// empty ID, and one with a comma, which cannot be asked for, is an error.
	InstanceIDs []string
	// OperationID keeps the events of one operation; empty keeps all.
	OperationID string
	// Before is the ID of an event, and keeps those that are older. With a PageSize the result is the newest so many of them, so that a program
	// which goes on with the ID of the last event, until there is none, reads a history of any length with little memory. Not together with Page.
	Before string
}
