package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Commands are the changes that callers may ask for. Each returns after its change is committed.
type Commands interface {
	// CreateOrchestration records a request to upgrade.
	CreateOrchestration(ctx context.Context, actor Actor, req CreateRequest) (Orchestration, error)
	// CancelOrchestration lets no further operation start. On a canceling or ended orchestration nothing changes and no error is returned.
	CancelOrchestration(ctx context.Context, actor Actor, id string) (Orchestration, error)
	// RetryOrchestration makes new operations for failed or canceled ones.
	RetryOrchestration(ctx context.Context, actor Actor, req RetryRequest) (RetryResult, error)
	// ImportRuntimes merges documents by instance ID.
	ImportRuntimes(ctx context.Context, actor Actor, source string, docs []runtime.RuntimeDTO) (ImportResult, error)
	// ForgetRuntime removes a runtime that no source knows any more, and cancels its pending operations. One that was forgotten before is no error, as
	// long as the history has it.
	ForgetRuntime(ctx context.Context, actor Actor, instanceID string) (Forgotten, error)
}

// CreateRequest is a request to upgrade, with its parameters in the one normal form.
type CreateRequest struct {
	Type       orchestration.Type
	Parameters orchestration.Parameters
	// IdempotencyKey makes a repeated request give the orchestration of the first one; empty means none. The key belongs to the actor.
	IdempotencyKey string
	// BodyHash tells whether a repeated request is the same one.
	BodyHash string
}

// RetryRequest asks to repeat operations of one orchestration.
type RetryRequest struct {
	OrchestrationID string
	// OperationIDs names the operations; empty means all that failed or were canceled.
	OperationIDs []string
	// Immediate lets the new operations start without waiting for a window.
	Immediate bool
	// IdempotencyKey makes a repeated request give the answer of the first one; empty means none. The key belongs to the actor.
	IdempotencyKey string
}

// Hash tells whether two requests ask for the same.
func (r *RetryRequest) Hash() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %t", r.OrchestrationID, r.OperationIDs, r.Immediate)
	return hex.EncodeToString(h.Sum(nil))
}

// KeptRetry is the answer to a retry as it is kept under an idempotency key.
type KeptRetry struct {
	// BodyHash is the hash of the request.
	BodyHash string
	Result   RetryResult
}

// RetryResult says what a retry did.
type RetryResult struct {
	OrchestrationID   string
	RetryShoots       []string
	OldOperations     []string
	InvalidOperations []string
	Message           string
}

// Resolver turns targets into runtimes, and reports what it left out.
type Resolver interface {
	ResolveTargets(ctx context.Context, targets orchestration.TargetSpec) (Resolution, error)
}

// Resolution is what targets came to.
type Resolution struct {
	// Runtimes are the targets in the order in which they are to be upgraded.
	Runtimes []Target
	// LeftOut are the runtimes and Shoots that the targets matched and that cannot be upgraded. OrchestrationID and Position are not set.
	LeftOut []LeftOut
	// Unmatched lists the indexes of the include entries that match no Shoot at all.
	Unmatched []int
}

// Target is one runtime to be upgraded.
type Target struct {
	RuntimeID       string
	InstanceID      string
	GlobalAccountID string
	SubAccountID    string
	ShootName       string
	Region          string
	ServicePlanID   string
	ServicePlanName string
	// KubernetesVersion is the version that the Shoot asks for at present; empty when it is not known.
	KubernetesVersion string
	// Window is the maintenance window in force for the runtime; zero when it has none that can be used.
	Window WindowRule
}

// Queue enqueues the engine's jobs in the same transaction as the rows that they speak about. An implementation reaches the database
// transaction behind a Tx through the method SQLTx() *sql.Tx, which the transactions of both stores have.
type Queue interface {
	// Insert adds jobs and returns their numbers in the same order. A job that is already waiting or running is not added twice; its number is then
	// that of the existing one, or 0 when it is not known.
	Insert(ctx context.Context, tx Tx, jobs []Job) ([]int64, error)
	// Waiting returns those of the jobs that wait for their time or for a free worker; those that run, have ended or are not known are left out.
	Waiting(ctx context.Context, tx Tx, jobIDs []int64) ([]int64, error)
	// Nudge tells the workers of this process, after the commit, that jobs are waiting. Other replicas find them by themselves.
	Nudge()
	// Wake makes waiting jobs run at once, and returns the numbers of those that waited. Those that run or have ended are left alone.
	Wake(ctx context.Context, jobIDs []int64) (woken []int64, err error)
}

// JobKind names what a job does.
type JobKind string

// The jobs of the engine.
const (
	// JobStart resolves the targets of an orchestration.
	JobStart JobKind = "start"
	// JobAdvance admits, rolls windows, cancels and finishes one orchestration.
	JobAdvance JobKind = "advance"
	// JobStep carries out the next step of one operation.
	JobStep JobKind = "step"
)

// Job is a piece of work. It carries IDs only: the rows are the truth.
type Job struct {
	Kind            JobKind
	OrchestrationID string
	OperationID     string
	// Attempt is the attempt of the operation that the job belongs to; a job of an older attempt does nothing.
	Attempt int
	// At is when the job is due; zero means at once.
	At time.Time
}

// Handler carries jobs out. It returns how long to wait before the same job is run again; zero means that the job is done.
type Handler interface {
	Handle(ctx context.Context, job Job) (again time.Duration, err error)
}
