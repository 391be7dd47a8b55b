package gardener

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// Options are what the executor needs.
type Options struct {
	// Client talks to Gardener. Its rate limits are the budget of this backend.
	Client gardenclient.CoreV1beta1Interface
	// Namespace is the namespace of the Gardener project.
	Namespace string
	// Informer is a running informer of the Shoots in Namespace. Checks read from it and changes that it sees wake operations. Nil makes every check ask
	// Gardener and wakes nothing.
	Informer cache.SharedIndexInformer
	// ProfileMaxAge is how long a CloudProfile is used before it is read again; zero means 30 s.
	ProfileMaxAge time.Duration
}

// Executor carries out upgradeCluster against Gardener.
type Executor struct {
	client    gardenclient.CoreV1beta1Interface
	namespace string
	informer  cache.SharedIndexInformer
	profiles  *profiles
}

var (
	_ fleet.Executor  = (*Executor)(nil)
	_ fleet.Watcher   = (*Executor)(nil)
	_ fleet.Validator = (*Executor)(nil)
)

// New returns an executor, or an error that names the option that is missing.
func New(o Options) (*Executor, error) {
	if o.Client == nil {
		return nil, errors.New("gardener executor: no client")
	}
	if o.Namespace == "" {
		return nil, errors.New("gardener executor: no namespace")
	}
	if o.ProfileMaxAge <= 0 {
		o.ProfileMaxAge = 30 * time.Second
	}
	return &Executor{
		client:    o.Client,
		namespace: o.Namespace,
		informer:  o.Informer,
		profiles:  &profiles{client: o.Client, namespace: o.Namespace, maxAge: o.ProfileMaxAge},
	}, nil
}

// memo is what is kept between the steps of one operation.
type memo struct {
	// Generation is what the Shoot's generation was after our write; 0 before it.
	Generation int64 `json:"generation,omitempty"`
	// RetriedAttempt is the attempt in which the Shoot was told to try again, and RetriedAfter the time of the failure that it was told after.
	RetriedAttempt int       `json:"retriedAttempt,omitempty"`
	RetriedAfter   time.Time `json:"retriedAfter,omitzero"`
}

func readMemo(t fleet.Task) (memo, error) {
	var m memo
	if len(t.Memo) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(t.Memo, &m); err != nil {
		return m, fmt.Errorf("read what the last step kept: %w", err)
	}
	return m, nil
}

func (m memo) raw() (json.RawMessage, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("keep what this step found: %w", err)
	}
	return b, nil
}

// Validate refuses parameters that no Shoot could ever take.
func (e *Executor) Validate(_ context.Context, p orchestration.Parameters) error {
	if p.Version != "" {
		if _, err := parseVersion(p.Version); err != nil {
			return fleet.Invalidf("version", "%q is not a full Kubernetes version such as 1.33.4", p.Version)
		}
	}
	return nil
}

// Observe looks at the Shoot as Gardener has it now.
func (e *Executor) Observe(ctx context.Context, t fleet.Task) (fleet.Result, error) {
	shoot, err := e.live(ctx, t.ShootName)
	if err != nil {
		return missing(t, err)
	}
	r, _, err := e.observe(ctx, t, shoot)
	return r, err
}

// observe judges a Shoot, and returns what would have to be written when the result is NeedsStart.
func (e *Executor) observe(ctx context.Context, t fleet.Task, shoot *gardencorev1beta1.Shoot) (fleet.Result, change, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, change{}, err
	}
	if r, out := unreachable(t, shoot); out {
		return r, change{}, nil
	}
	profile, err := e.profiles.of(ctx, shoot)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return refused("the cloud profile of the Shoot does not exist"), change{}, nil
		}
		return fleet.Result{}, change{}, fmt.Errorf("read the cloud profile: %w", err)
	}
	want, refusal := choose(t, shoot, profile, t.Now)
	if refusal != "" {
		return refused(refusal), change{}, nil
	}
	r := judge(t, shoot, m, want)
	r.Version = want.Version
	if r.Outcome == fleet.NeedsStart || r.Outcome == fleet.Done {
		config, err := clusterConfig(shoot, want)
		if err != nil {
			return fleet.Result{}, change{}, err
		}
		r.ClusterConfig = config
	}
	return r, want, nil
}

// Start looks at the Shoot once more and writes the change, on the condition that nobody has written in between.
func (e *Executor) Start(ctx context.Context, t fleet.Task, guard fleet.Guard) (fleet.Result, error) {
	shoot, err := e.live(ctx, t.ShootName)
	if err != nil {
		return missing(t, err)
	}
	r, want, err := e.observe(ctx, t, shoot)
	if err != nil || r.Outcome != fleet.NeedsStart {
		return r, err
	}
	body, err := e.patchFor(ctx, shoot, want)
	if err != nil {
		return conflictOr(t, err)
	}
	if err := guard(ctx); err != nil {
		return fleet.Result{}, err
	}
	opts := metav1.PatchOptions{FieldManager: "swell"}
	if t.DryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	written, err := e.client.Shoots(e.namespace).Patch(ctx, shoot.Name, types.MergePatchType, body, opts)
	if err != nil {
		return conflictOr(t, err)
	}
	if t.DryRun {
		return fleet.Result{
			Outcome: fleet.Done, Version: want.Version, ClusterConfig: r.ClusterConfig,
			Description: "dry run: Gardener accepts " + want.words() + "; nothing was changed",
		}, nil
	}
	m := memo{Generation: generationOf(shoot, written)}
	if want.retry {
		m.RetriedAttempt, m.RetriedAfter = t.Attempt, lastUpdate(shoot)
	}
	raw, err := m.raw()
	if err != nil {
		return fleet.Result{}, err
	}
	t.Memo, t.Sent = raw, true
	next := judge(t, written, m, want)
	next.Sent, next.Memo, next.Version, next.ClusterConfig, next.Stage = true, raw, want.Version, r.ClusterConfig, "shoot_patched"
	return next, nil
}

// Check looks how the change gets on, in the informer's cache where there is one.
func (e *Executor) Check(ctx context.Context, t fleet.Task, _ fleet.Guard) (fleet.Result, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	shoot, ok := e.cached(t.ShootName)
	if !ok {
		if shoot, err = e.live(ctx, t.ShootName); err != nil {
			return missing(t, err)
		}
	}
	if r, out := unreachable(t, shoot); out {
		return r, nil
	}
	want := change{Version: t.Version, MachineImage: machineImage(t.Parameters)}
	if !want.in(shoot) {
		if shoot.Generation < m.Generation && !confinesRollout(shoot) {
			// The cache has not seen our write yet.
			return fleet.Result{Outcome: fleet.Again, Sent: t.Sent}, nil
		}
		// Somebody has changed the Shoot since; what is to be done now is decided by looking anew.
		return fleet.Result{Outcome: fleet.Again, After: time.Second, NextObserve: true, Sent: t.Sent}, nil
	}
	r := judge(t, shoot, m, want)
	if r.Outcome == fleet.NeedsStart {
		r = fleet.Result{Outcome: fleet.Again, After: time.Second, NextObserve: true}
	}
	r.Sent = t.Sent
	return r, nil
}

// conflictOr turns an answer to a write into what follows from it: look again after a conflict, give up after a refusal, and repeat what may pass.
func conflictOr(t fleet.Task, err error) (fleet.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return fleet.Result{Outcome: fleet.Again, After: time.Second, NextObserve: true, Description: "the Shoot was changed by somebody else; looking again"}, nil
	case apierrors.IsNotFound(err):
		return missing(t, err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err), apierrors.IsRequestEntityTooLargeError(err):
		return refused("Gardener refuses the change: " + oneLine(err.Error())), nil
	default:
		return fleet.Result{}, fmt.Errorf("write the Shoot: %w", err)
	}
}

// missing tells a Shoot that is gone from one that cannot be read now.
func missing(t fleet.Task, err error) (fleet.Result, error) {
	if apierrors.IsNotFound(err) {
		return gone(fmt.Sprintf("the Shoot %s does not exist any more", t.ShootName)), nil
	}
	return fleet.Result{}, fmt.Errorf("read the Shoot: %w", err)
}

func refused(reason string) fleet.Result {
	return fleet.Result{Outcome: fleet.Refused, Reason: reason, Description: reason}
}

func gone(reason string) fleet.Result {
	return fleet.Result{Outcome: fleet.Gone, Reason: reason, Description: reason}
}
