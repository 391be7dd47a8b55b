package fleet

import (
	"fmt"
	"strings"
	"time"
)

// ImportResult is what an import did.
type ImportResult struct {
	Imported  int
	Updated   int
	Unchanged int
	// Changes are the runtimes that were added or changed.
	Changes []RuntimeChange
}

// Add adds what another import did.
func (r *ImportResult) Add(other ImportResult) {
	r.Imported += other.Imported
	r.Updated += other.Updated
	r.Unchanged += other.Unchanged
	r.Changes = append(r.Changes, other.Changes...)
}

// RuntimeChange is a runtime that an import added or changed.
type RuntimeChange struct {
	InstanceID string
	RuntimeID  string
	ShootName  string
	// Added is true when the runtime was not known before.
	Added bool
	// Fields are those by which runtimes are selected and whose values have changed. When there is none, other details of the runtime have.
	Fields []FieldChange
}

// FieldChange is a field whose value has changed, by its name in the document.
type FieldChange struct {
	Name     string
	From, To string
}

// Event says for the history of the runtime what a source has changed, and for whom.
func (c *RuntimeChange) Event(source string, actor Actor, now time.Time) Event {
	var message strings.Builder
	switch {
	case c.Added:
		message.WriteString("added by an import")
	case len(c.Fields) == 0:
		message.WriteString("details changed by an import")
	default:
		message.WriteString("changed by an import: ")
		for i, f := range c.Fields {
			if i > 0 {
				message.WriteString(", ")
			}
			fmt.Fprintf(&message, "%s from %.100q to %.100q", f.Name, f.From, f.To)
		}
	}
	return Event{
		At: now, Kind: EventImported, Level: LevelInfo, RuntimeID: c.RuntimeID, InstanceID: c.InstanceID, ShootName: c.ShootName,
		Message: Line(source + ": " + message.String()), Actor: actor,
	}
}
