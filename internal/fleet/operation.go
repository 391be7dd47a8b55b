package fleet

import (
	"encoding/json"
	"time"

	"github.com/swell-fleet/swell/orchestration"
)

// Operation is the record of the part of an orchestration that concerns one runtime.
type Operation struct {
	ID              string
	OrchestrationID string
	Type            orchestration.Type
	// Position is the place in the resolver's order, from 0 on. A retry keeps the position of the operation that it repeats.
	Position int

	// What is known of the runtime since the targets were resolved.
	RuntimeID       string
	InstanceID      string
	GlobalAccountID string
	SubAccountID    string
	ShootName       string
	Region          string
	ServicePlanID   string
	ServicePlanName string

	DryRun bool
	// State moves as OperationMayMove says.
	State       State
	Description string
	// Reason is why the operation failed or was canceled, in one line; empty otherwise.
	Reason string

	// UsesWindow is true when the operation may start inside the maintenance window of its runtime only.
	UsesWindow bool
	// WindowRule is the recurring window in Gardener's text form, from which the next window is computed; zero when there is none.
	WindowRule WindowRule
	// WindowBegin and WindowEnd are the window that the operation waits for or ran in; zero when it uses none.
	WindowBegin time.Time
	WindowEnd   time.Time
	// NotBefore is when the operation may start at the earliest; zero means at once.
	NotBefore time.Time

	// Attempt counts how often the operation was given to a worker: raised by each admission and each take-over from a dead holder.
	Attempt int
	// Fence is raised by everyone who takes the operation and by every change that ends it. All writes of a step are conditional on it.
	Fence int64
	// LeaseUntil is when the present holder counts as dead; zero while nobody holds it.
	LeaseUntil time.Time
	// CheckAt is when the next step is due; zero while the operation is not in progress.
	CheckAt time.Time
	// Sent is true when something was sent to the backend, as an answer has shown.
	Sent bool
	// Uncertain is true when something may have been sent that nobody has an answer to: a step failed after its write had been let through, or its
	// process died. The next look at the backend tells.
	Uncertain bool
	// Following is true once the backend is known to carry the upgrade out: the next step checks. While it is false the next step observes.
	Following bool
	// Failures counts the steps in a row that met a passing fault; 0 after one that did not.
	Failures int
	// Memo is what the executor keeps between steps, such as the generation that it wrote; null when there is nothing.
	Memo json.RawMessage
	// TimeLimitFrom is the point in time from which the time limit counts: the first start, or a later one that the executor named, or up to which the
	// backend refused access to all operations.
	TimeLimitFrom time.Time

	// Version is the version that the executor upgrades to, once known.
	Version string
	// KymaConfig and ClusterConfig are the configuration as sent or as found, as JSON; null when there is none.
	KymaConfig    json.RawMessage
	ClusterConfig json.RawMessage
	// FinishedStages names what the executor has completed, oldest first.
	FinishedStages []string

	// RetryOf is the operation that this one repeats, or empty. Superseded is true when a newer operation repeats this one; it then counts no more.
	RetryOf    string
	Superseded bool

	CreatedAt time.Time
	UpdatedAt time.Time
	// StartedAt is when the operation was put in progress for the first time, by the database's clock; zero before that.
	StartedAt time.Time
	// FinishedAt is when it ended; zero before that.
	FinishedAt time.Time

	// JobID is the queue's number of the job that carries out the next step; 0 when there is none.
	JobID int64
}

// WindowRule is a recurring maintenance window as text: begin and end as "HHMMSS±HHMM", days as English names (empty: every day).
type WindowRule struct {
	Begin string   `json:"begin,omitempty"`
	End   string   `json:"end,omitempty"`
	Days  []string `json:"days,omitempty"`
	// Rule names the rule of the maintenance policy that gave the window; empty when it is the Shoot's own.
	Rule string `json:"rule,omitempty"`
	// NotOn lists ranges of dates on which no window may begin, as "2026-12-20..2027-01-06" in the window's own offset.
	NotOn []string `json:"notOn,omitempty"`
}

// IsZero reports whether there is no window.
func (w WindowRule) IsZero() bool { return w.Begin == "" && w.End == "" }
