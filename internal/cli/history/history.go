// Package history writes events for people and for programs: what happened to an orchestration or a runtime, when, why, and who asked for it.
package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/orchestration"
)

// Level is a flag that selects events by their level. The zero value asks for none.
type Level string

// Levels are the values of the flag.
var Levels = []string{orchestration.EventLevelAll, orchestration.EventLevelInfo, orchestration.EventLevelError}

// String implements pflag.Value.
func (l *Level) String() string { return string(*l) }

// Set implements pflag.Value.
func (l *Level) Set(text string) error {
	if !slices.Contains(Levels, text) {
		return fmt.Errorf("%q is no level of events; known are %s", text, strings.Join(Levels, ", "))
	}
	*l = Level(text)
	return nil
}

// Type implements pflag.Value.
func (l *Level) Type() string { return "level" }

// OrchestrationColumns are the columns of the events of one orchestration.
func OrchestrationColumns() []display.Column {
	return []display.Column{
		{Title: "TIME"}, {Title: "LEVEL"}, {Title: "SHOOT", Shrink: 12}, {Title: "EVENT"}, {Title: "STATE", Drop: 1}, {Title: "BY", Shrink: 12},
		{Title: "OPERATION ID", Drop: 2}, {Title: "MESSAGE", Wrap: leastMessage},
	}
}

// RuntimeColumns are the columns of the events of one runtime.
func RuntimeColumns() []display.Column {
	return []display.Column{
		{Title: "TIME"}, {Title: "LEVEL"}, {Title: "EVENT"}, {Title: "STATE", Drop: 1}, {Title: "BY", Shrink: 12}, {Title: "ORCHESTRATION ID"},
		{Title: "OPERATION ID", Drop: 3}, {Title: "MESSAGE", Wrap: leastMessage},
	}
}

// leastMessage is the number of columns from which on messages stand beside the other cells.
const leastMessage = 40

// OrchestrationCells are the cells of an event of an orchestration.
func OrchestrationCells(e *orchestration.Event, clock display.Clock) []string {
	return []string{clock.Exact(e.CreatedAt), e.Level, Subject(e), e.Kind, Change(e), e.User, e.OperationID, e.Message}
}

// RuntimeCells are the cells of an event of a runtime.
func RuntimeCells(e *orchestration.Event, clock display.Clock) []string {
	return []string{clock.Exact(e.CreatedAt), e.Level, e.Kind, Change(e), e.User, orchestrationID(e, clock), e.OperationID, e.Message}
}

// The lengths of IDs.
const (
	wholeID = 36
	briefID = 8
)

// orchestrationID names the orchestration of an event: for a person by the first characters of its ID, which commands accept and which leave room for
// the message.
func orchestrationID(e *orchestration.Event, clock display.Clock) string {
	if id := e.OrchestrationID; clock.Machine || len(id) != wholeID {
		return id
	}
	return e.OrchestrationID[:briefID]
}

// Subject names the runtime that an event is about, by its Shoot where that is known; empty when it is about none.
func Subject(e *orchestration.Event) string {
	for _, name := range []string{e.ShootName, e.RuntimeID, e.InstanceID} {
		if name != "" {
			return name
		}
	}
	return ""
}

// Change says how the state changed; empty when it did not.
func Change(e *orchestration.Event) string {
	if e.From == "" || e.To == "" {
		return e.From + e.To
	}
	return e.From + " -> " + e.To
}

// lineIndent is how far a line goes on set in.
const lineIndent = 4

// Line is an event on a line of its own, for a person who watches events come; on several where the terminal is too narrow.
func Line(e *orchestration.Event, clock display.Clock, columns int) string {
	parts := []string{clock.Exact(e.CreatedAt), display.Pad(display.Text(e.Level), len(orchestration.EventLevelError), false)}
	if subject := Subject(e); subject != "" {
		parts = append(parts, display.Text(subject))
	}
	what := display.Text(e.Kind)
	if change := Change(e); change != "" {
		what += " (" + display.Text(change) + ")"
	}
	if e.User != "" {
		what += " by " + display.Text(e.User)
	}
	if e.Message != "" {
		what += ": " + display.Text(e.Message)
	}
	return display.Hang(strings.Join(parts, "  "), what, columns, lineIndent)
}
