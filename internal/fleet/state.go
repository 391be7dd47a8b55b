package fleet

import (
	"strings"

	"github.com/swell-fleet/swell/orchestration"
)

// State is the state of an orchestration or an operation.
type State string

// The states. Operations are never canceling.
const (
	Pending    State = orchestration.Pending
	InProgress State = orchestration.InProgress
	Canceling  State = orchestration.Canceling
	Canceled   State = orchestration.Canceled
	Succeeded  State = orchestration.Succeeded
	Failed     State = orchestration.Failed
)

// States lists every state in the order of a record's life.
var States = []State{Pending, InProgress, Canceling, Canceled, Succeeded, Failed}

// Ended reports whether nothing happens any more in this state, short of a retry.
func (s State) Ended() bool { return s == Succeeded || s == Failed || s == Canceled }

// ParseState reads a state word in any letter case. The older word "retrying" is read as pending. Unknown words give false.
func ParseState(word string) (State, bool) {
	w := State(strings.ToLower(word))
	if w == "retrying" {
		return Pending, true
	}
	for _, s := range States {
		if w == s {
			return s, true
		}
	}
	return "", false
}

// orchestrationMoves and operationMoves are the two state machines. A retry of an operation makes a new record, so an operation that
// ended stays as it is.
var (
	orchestrationMoves = map[State][]State{
		Pending:    {InProgress, Succeeded, Failed, Canceling},
		InProgress: {Succeeded, Failed, Canceling},
		Canceling:  {Canceled},
		Failed:     {InProgress},
		Canceled:   {InProgress},
	}
	operationMoves = map[State][]State{
		Pending: {InProgress, Canceled},
		// Back to pending: nothing was sent to the backend and the window closed. Canceled: nothing was sent, or the runtime went away.
		InProgress: {Succeeded, Failed, Pending, Canceled},
	}
)

func allowed(moves map[State][]State, from, to State) bool {
	for _, s := range moves[from] {
		if s == to {
			return true
		}
	}
	return false
}

// OrchestrationMayMove reports whether an orchestration may go from one state to the other.
func OrchestrationMayMove(from, to State) bool { return allowed(orchestrationMoves, from, to) }

// OperationMayMove reports whether an operation may go from one state to the other.
func OperationMayMove(from, to State) bool { return allowed(operationMoves, from, to) }
