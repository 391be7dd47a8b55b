package fleet

import (
	"context"
	"math"
	"time"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Store keeps the records. Two implementations hold the same conformance suite: SQLite and PostgreSQL.
type Store interface {
	Reader
	// Update runs f in one writing transaction and commits when f returns nil. A transaction that the database asks to repeat, or that two
	// orchestrations over one runtime made collide, is run again from the start, so f must not keep state between calls. Nothing may go over
	// the network inside f, and f must use nothing but tx.
	Update(ctx context.Context, f func(ctx context.Context, tx Tx) error) error
	// Ping reports whether the database answers and takes writes.
	Ping(ctx context.Context) error
	// Close releases the connections.
	Close() error
}

// Tx is one writing transaction. To avoid deadlocks the orchestration is locked first, then its operations are written.
type Tx interface {
	// Now is the clock of the database at the start of the transaction, in UTC with microseconds.
	Now() time.Time

	// InsertOrchestration adds a record.
	InsertOrchestration(ctx context.Context, o *Orchestration) error
	// OrchestrationByKey returns the orchestration that a user made with this idempotency key, or ErrNotFound.
	OrchestrationByKey(ctx context.Context, createdBy, key string) (Orchestration, error)
	// LockOrchestration returns the present record and keeps others from locking it until the transaction ends.
	LockOrchestration(ctx context.Context, id string) (Orchestration, error)
	// SaveOrchestration writes the mutable fields of a locked record and sets UpdatedAt. Type, parameters and creation stay as they are.
	SaveOrchestration(ctx context.Context, o *Orchestration) error

	// InsertOperations adds records; big orchestrations are inserted in several transactions before ResolvedAt is set.
	InsertOperations(ctx context.Context, ops []Operation) error
	// DeleteUnresolved removes operations and left-out rows of an orchestration whose resolution was cut short, at most limit operations a call.
	// It returns how many operations it removed, and refuses an orchestration that is resolved.
	DeleteUnresolved(ctx context.Context, orchestrationID string, limit int) (int, error)
	// InsertLeftOut adds rows to the list of what was left out.
	InsertLeftOut(ctx context.Context, rows []LeftOut) error

	// Candidates returns pending operations that may start now: NotBefore passed, window open or none asked for, and no other operation in
	// progress on the runtime; earliest window end first (those without a window last), then by position. Also the state of the runtime is returned,
	// so that what went away can be canceled instead of started.
	Candidates(ctx context.Context, orchestrationID string, limit int) ([]Candidate, error)
	// PastWindows returns pending operations whose window has ended, at most limit.
	PastWindows(ctx context.Context, orchestrationID string, limit int) ([]Operation, error)
	// PendingOperations returns pending operations by position, at most limit.
	PendingOperations(ctx context.Context, orchestrationID string, limit int) ([]Operation, error)
	// ExpiredOperations returns operations in progress whose lease has run out, at most limit, skipping rows that another transaction holds.
	ExpiredOperations(ctx context.Context, limit int) ([]Operation, error)
	// Operations returns records by ID, in no particular order; unknown IDs are left out.
	Operations(ctx context.Context, ids []string) ([]Operation, error)
	// NewestOnRuntimes returns for each runtime ID the newest operation of any orchestration of that type that is not a dry run and was not
	// canceled. Retry uses it to see what a newer orchestration already did.
	NewestOnRuntimes(ctx context.Context, t orchestration.Type, runtimeIDs []string) (map[string]Operation, error)
	// RetryCandidates returns operations of an orchestration that failed or were canceled and are not superseded, by position.
	RetryCandidates(ctx context.Context, orchestrationID string) ([]Operation, error)

	// RetryByKey returns what the retry of a user with this idempotency key was answered, or ErrNotFound.
	RetryByKey(ctx context.Context, createdBy, key string) (KeptRetry, error)
	// KeepRetry keeps the answer to a retry under the idempotency key that it came with.
	KeepRetry(ctx context.Context, createdBy, key string, kept KeptRetry) error

	// Claim takes operations that are in progress with the given attempt: it raises their fence, sets the lease, and returns the records as
	// they are then. An operation that is in another state or attempt is not in the answer.
	Claim(ctx context.Context, claims []Claim) ([]Operation, error)
	// SaveOperations writes the mutable fields of the records where the stored fence still is IfFence, and sets UpdatedAt. It returns the IDs
	// of those that had another fence; nothing of them is written. The states of the affected runtimes are kept in step in the same transaction.
	SaveOperations(ctx context.Context, changes []OperationChange) (fenced []string, err error)

	// PutRuntimes merges documents by instance ID and keeps Swell's own operations. Documents of the source that are not in the list stay.
	PutRuntimes(ctx context.Context, source string, docs []runtime.RuntimeDTO) (ImportResult, error)
	// SetRuntimeVersions records what succeeded upgrades left: the Kyma version, and the configurations where they are not null.
	SetRuntimeVersions(ctx context.Context, changes []RuntimeVersion) error

	// LockRuntime returns the present record, without Own, and keeps others from changing it until the transaction ends; or ErrNotFound.
	LockRuntime(ctx context.Context, instanceID string) (Runtime, error)
	// OpenOperations returns the operations on a runtime of an instance, of whatever orchestration, that are pending or in progress, by ID.
	OpenOperations(ctx context.Context, instanceID, runtimeID string) ([]Operation, error)
	// DeleteRuntime removes the record of a runtime. Its operations and its events stay. An unknown one is ErrNotFound.
	DeleteRuntime(ctx context.Context, instanceID string) error

	// AppendEvents adds to the history; IDs and missing times are set by the store.
	AppendEvents(ctx context.Context, events []Event) error
	// DeleteFinishedBefore removes ended orchestrations with all that belongs to them, and events, that are older than t; at most limit orchestrations.
	DeleteFinishedBefore(ctx context.Context, t time.Time, limit int) (int, error)
}

// Candidate is a pending operation that may start, with what is known of its runtime now.
type Candidate struct {
	Operation Operation
	// RuntimeKnown is false when the store has no such runtime any more.
	RuntimeKnown bool
	// RuntimeState is the present state of the runtime.
	RuntimeState runtime.State
}

// Claim asks for one operation.
type Claim struct {
	OperationID string
	Attempt     int
	// Lease is how long the claim holds from now on by the database's clock.
	Lease time.Duration
}

// OperationChange is a record to be written under a condition.
type OperationChange struct {
	Operation Operation
	// IfFence is the fence that the stored record must still have.
	IfFence int64
}

// RuntimeVersion is what a succeeded upgrade left on a runtime.
type RuntimeVersion struct {
	InstanceID    string
	KymaVersion   string
	KymaConfig    []byte
	ClusterConfig []byte
}

// Page is a slice of a total order: page n starts at (n-1) times Size.
type Page struct {
	// Number counts from 1.
	Number int
	// Size is the number of rows of a page.
	Size int
}

// Offset is the number of rows before the page. Of a page that is further away than any row it is a large number.
func (p Page) Offset() int {
	const far = math.MaxInt32
	if p.Size > 0 && p.Number > far/p.Size {
		return far
	}
	return (p.Number - 1) * p.Size
}

// OrchestrationFilter selects orchestrations; the zero value selects all.
type OrchestrationFilter struct {
	States []State
	Types  []orchestration.Type
}

// OperationFilter selects operations of one orchestration. Superseded operations are left out.
type OperationFilter struct {
	OrchestrationID string
	States          []State
}

// RuntimeFilter selects runtimes: different fields are joined by AND, the values of one field by OR, all values are exact.
type RuntimeFilter struct {
	GlobalAccountIDs []string
	SubAccountIDs    []string
	InstanceIDs      []string
	RuntimeIDs       []string
	Regions          []string
	Shoots           []string
	Plans            []string
	// States selects by derived state. Without any, suspended, deprovisioned and incompletely deprovisioned runtimes are left out;
	// runtime.AllState among them brings everything.
	States []runtime.State
	// Expired keeps only runtimes that have expired.
	Expired bool
	// WithoutOwn leaves RuntimeRecord.Own empty, for callers that need the documents only.
	WithoutOwn bool
}

// EventFilter selects events; empty fields do not filter.
type EventFilter struct {
	OrchestrationID string
	OperationID     string
	InstanceIDs     []string
	Levels          []Level
}

// OperationView is an operation as lists show it.
type OperationView struct {
	Operation
	// RuntimeBusy is true while another operation is in progress on the runtime of a pending one.
	RuntimeBusy bool
}

// Reader answers questions. Lists are in a total order: orchestrations newest first, operations newest first and then by position, runtimes by creation
// and instance ID, events newest first. Every list returns the rows of the page and the number of all that match, from one snapshot.
type Reader interface {
	// Orchestration returns one record or ErrNotFound.
	Orchestration(ctx context.Context, id string) (Orchestration, error)
	// CanceledBy returns who asked last to cancel an orchestration; empty when nobody did.
	CanceledBy(ctx context.Context, orchestrationID string) (string, error)
	ListOrchestrations(ctx context.Context, f OrchestrationFilter, p Page) ([]Orchestration, int, error)
	// Operation returns one operation of one orchestration, superseded ones too, or ErrNotFound.
	Operation(ctx context.Context, orchestrationID, operationID string) (OperationView, error)
	ListOperations(ctx context.Context, f OperationFilter, p Page) ([]OperationView, int, error)
	ListLeftOut(ctx context.Context, orchestrationID string, p Page) ([]LeftOut, int, error)
	ListRuntimes(ctx context.Context, f RuntimeFilter, p Page) ([]Runtime, int, error)
	// AllRuntimes returns every runtime with its newest operations, in the form that the resolver needs, read in chunks from one snapshot.
	AllRuntimes(ctx context.Context) ([]runtime.RuntimeDTO, error)
	ListEvents(ctx context.Context, f EventFilter, p Page) ([]Event, int, error)
	// EventsBefore returns events whose IDs are smaller than id, newest first, at most limit. Nothing is counted: who goes on with the smallest ID that
	// was returned reads a history to its end at a cost that grows with its length only, and misses none while others are added.
	EventsBefore(ctx context.Context, f EventFilter, id int64, limit int) ([]Event, error)

	// OpenOrchestrations returns those that are pending, in progress or canceling and readable, oldest first.
	OpenOrchestrations(ctx context.Context) ([]Orchestration, error)
	// InFlight returns the operations in progress, for waking them when their backend reports a change.
	InFlight(ctx context.Context) ([]InFlight, error)
	// Guards reads what has to hold just before a backend is written to, as it was committed when the call began or later. Operations that do not
	// exist are not in the answer.
	Guards(ctx context.Context, operationIDs []string) (map[string]GuardView, error)
}

// InFlight is an operation in progress.
type InFlight struct {
	OperationID     string
	OrchestrationID string
	Type            orchestration.Type
	RuntimeID       string
	ShootName       string
	JobID           int64
}

// GuardView is what has to hold just before a backend is written to.
type GuardView struct {
	// Now is the database's clock.
	Now                time.Time
	State              State
	Fence              int64
	OrchestrationState State
	UsesWindow         bool
	WindowBegin        time.Time
	WindowEnd          time.Time
}
