package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/swell-fleet/swell/orchestration"
)

// Executor carries one operation out against a backend, step by step. The engine calls Observe first, always; Start only after Observe said
// NeedsStart; Check from then on until the operation ends. Every method may be called again after a crash with what was stored before, by another process.
//
// An error means that the backend could not be asked or answered with a passing fault: the same step is repeated later and the operation stays
// in progress. What will not pass is a Result with Failed. A context that ends is a passing fault.
type Executor interface {
	// Observe looks at the backend without changing anything, and says whether the upgrade has to be started (NeedsStart), already runs (Again), has
	// nothing to do (Succeeded), is refused (Failed) or has lost its runtime (Gone).
	Observe(ctx context.Context, t Task) (Result, error)
	// Start asks the backend to upgrade. It calls guard directly before each call that changes something there, and returns guard's error unchanged
	// without making the call. On a conflict with someone else's write it returns Again with NextObserve set, never a second blind write.
	Start(ctx context.Context, t Task, guard Guard) (Result, error)
	// Check looks how a started upgrade gets on.
	Check(ctx context.Context, t Task, guard Guard) (Result, error)
}

// Watcher is implemented by executors whose backend reports changes by itself.
type Watcher interface {
	// Watch calls wake with the name of each Shoot whose state has changed in a way that may matter, until ctx ends. wake returns at once.
	Watch(ctx context.Context, wake func(shootName string)) error
}

// RuntimeWatcher is a Watcher for backends that know runtimes by their IDs rather than by their Shoots.
type RuntimeWatcher interface {
	// WatchRuntimes calls wake with the ID of each runtime whose state has changed in a way that may matter, until ctx ends. wake returns at once.
	WatchRuntimes(ctx context.Context, wake func(runtimeID string)) error
}

// Validator is implemented by executors that can refuse a request before anything is stored.
type Validator interface {
	// Validate returns an error of KindInvalid that names the field when no runtime could ever be upgraded with these parameters.
	Validate(ctx context.Context, p orchestration.Parameters) error
}

// Guard is called just before a backend is written to. It returns nil when the write may go out, ErrFenced when another holder has taken the operation,
// ErrCanceled when the orchestration was canceled, ErrWindowClosed when the window has ended, or a passing error when the store cannot be asked.
type Guard func(ctx context.Context) error

// What a Guard returns besides ErrFenced.
var (
	ErrCanceled     = errors.New("the orchestration was canceled before anything was sent")
	ErrWindowClosed = errors.New("the maintenance window closed before anything was sent")
)

// ErrNoAccess is wrapped by the error of an executor whose backend does not let the program in: its credentials are not accepted, or lack a right. What was
// asked for was certainly not done. It is a fault that passes when people have mended it, and usually meets every operation until then.
var ErrNoAccess = errors.New("access is refused")

// Task is one operation as an executor sees it.
type Task struct {
	OperationID     string
	OrchestrationID string
	Attempt         int
	RuntimeID       string
	InstanceID      string
	GlobalAccountID string
	SubAccountID    string
	ShootName       string
	// Parameters are what the orchestration asks for: version and, for clusters, the machine image.
	Parameters orchestration.Parameters
	// Version is what an earlier step chose to upgrade to; empty before that.
	Version string
	DryRun  bool
	// Sent is true when an earlier step sent something to the backend and knows it. After a crash it may be false although something was sent.
	Sent bool
	// Memo is what the executor returned last, and null at first.
	Memo json.RawMessage
	// StartedAt is when the operation was put in progress for the first time.
	StartedAt time.Time
	// Now is the database's clock at the begin of the step.
	Now time.Time
}

// Outcome says how an operation goes on.
type Outcome uint8

const (
	// Again asks for the next look after Result.After.
	Again Outcome = iota
	// NeedsStart is an answer of Observe: nothing was started yet, and it may be.
	NeedsStart
	// Done means that the runtime has what was wanted.
	Done
	// Refused means that the operation failed for good, with a reason.
	Refused
	// Gone means that the runtime went away or may not be changed any more: the operation is canceled with a note.
	Gone
)

// Result is what a step came to.
type Result struct {
	Outcome Outcome
	// After is how long to wait for the next look when Outcome is Again; zero takes the engine's default of 10 s. A watch may wake it earlier.
	After time.Duration
	// NextObserve makes the next step observe again instead of checking.
	NextObserve bool
	// Description is the progress in words for people; empty keeps the old one. It is untrusted text.
	Description string
	// Reason is why the operation failed or went away, in one line. It is untrusted text.
	Reason string
	// Unasked is true when the backend itself was not asked, because a cache had the answer. Such a result does not say that the backend is up.
	Unasked bool
	// Sent is true when something was sent to the backend in this or an earlier step.
	Sent bool
	// Memo is kept for the next step; null keeps the old one.
	Memo json.RawMessage
	// Version is the version that the executor chose; empty keeps the old one.
	Version string
	// Stage is the name of a stage that was completed; it is added to the finished stages once.
	Stage string
	// TimeLimitFrom starts the time limit again from this point; zero leaves it.
	TimeLimitFrom time.Time
	// KymaConfig and ClusterConfig are the configuration as sent or as found; null keeps the old one.
	KymaConfig    json.RawMessage
	ClusterConfig json.RawMessage
}

// Backend names what carries operations of a type out, for budgets, breakers and messages.
type Backend string

// The backends.
const (
	BackendGardener    Backend = "gardener"
	BackendProvisioner Backend = "provisioner"
	BackendKyma        Backend = "kyma"
)
