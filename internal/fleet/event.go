package fleet

import "time"

// Level is the severity of an event.
type Level string

// The levels of events.
const (
	LevelInfo  Level = "info"
	LevelError Level = "error"
)

// EventKind names what happened.
type EventKind string

// The kinds of events.
const (
	EventCreated    EventKind = "created"
	EventResolved   EventKind = "resolved"
	EventAdmitted   EventKind = "admitted"
	EventTakenOver  EventKind = "taken_over"
	EventReturned   EventKind = "returned"
	EventFinished   EventKind = "finished"
	EventSkipped    EventKind = "skipped"
	EventCancel     EventKind = "cancel_requested"
	EventRetry      EventKind = "retry_requested"
	EventImported   EventKind = "imported"
	EventForgotten  EventKind = "forgotten"
	EventWindowMove EventKind = "window_moved"
)

// Event is one entry of the history. Events are appended and never changed.
type Event struct {
	// ID orders the events of one store.
	ID              int64
	At              time.Time
	Kind            EventKind
	Level           Level
	OrchestrationID string
	OperationID     string
	RuntimeID       string
	InstanceID      string
	// ShootName is the name that the runtime's Shoot had then. Events of an operation get it from the operation when they are read.
	ShootName string
	// From and To are the states before and after, where a state changed.
	From State
	To   State
	// Message says what happened and why in one line.
	Message string
	// Actor is who asked for it; zero for what the engine does by itself.
	Actor Actor
}

// Actor is who asked for a change.
type Actor struct {
	User       string   `json:"user,omitempty"`
	Roles      []string `json:"roles,omitempty"`
	RequestID  string   `json:"requestID,omitempty"`
	RemoteAddr string   `json:"remoteAddr,omitempty"`
}
