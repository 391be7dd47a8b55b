package fleet

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/quantity"
)

// Sightings tell what the continuous sources of runtimes see at present.
type Sightings interface {
	// ShootOf returns the name of the Shoot that has a runtime ID; empty when none has it. While nobody can tell, because the source is not followed, it
	// returns an error of KindUnavailable.
	ShootOf(ctx context.Context, runtimeID string) (string, error)
}

// Forgotten says what became of a runtime that was to be forgotten.
type Forgotten struct {
	InstanceID string
	// Canceled is the number of its pending operations that were canceled with it.
	Canceled int
}

// Forgetting is what has to be written when a runtime is forgotten.
type Forgetting struct {
	// Cancel are its pending operations, which end.
	Cancel []Change
	// Event says who forgot it. It comes after the events of the operations.
	Event Event
}

// Forget decides whether a runtime may be forgotten. It may not while a continuous source sees a Shoot with its runtime ID, because it would come
// back, and not while one of its open operations is in progress. Those that are pending end like those of a runtime that went away by itself. What
// has happened to the runtime stays in the history.
func Forget(r *Runtime, shoot string, open []Operation, now time.Time, actor Actor) (Forgetting, error) {
	if shoot != "" {
		return Forgetting{}, Conflictf("the runtime cannot be forgotten: it would come back, because the Shoot %.100q has its runtime ID", shoot)
	}
	var f Forgetting
	for _, op := range open {
		switch op.State {
		case Pending:
			f.Cancel = append(f.Cancel, gone(op, now, "the runtime was forgotten"))
		case InProgress:
			return Forgetting{}, Conflictf("the runtime cannot be forgotten now: the operation %s of the orchestration %s is in progress; wait until it has ended", op.ID, op.OrchestrationID)
		case Canceling, Canceled, Succeeded, Failed:
		}
	}
	var message strings.Builder
	message.WriteString("forgotten")
	if r.DTO.ShootName != "" {
		fmt.Fprintf(&message, ", with its Shoot %s", r.DTO.ShootName)
	}
	fmt.Fprintf(&message, "; source %s, state %s, %s canceled", r.Source, r.State, quantity.Of(len(f.Cancel), "pending operation"))
	f.Event = Event{
		At: now, Kind: EventForgotten, Level: LevelInfo, RuntimeID: r.DTO.RuntimeID, InstanceID: r.DTO.InstanceID,
		ShootName: r.DTO.ShootName, Message: Line(message.String()), Actor: actor,
	}
	return f, nil
}
