package gardener

import (
	"context"
	"errors"
	"fmt"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/verdict"
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
	// Following reports whether the informer follows Gardener at the moment; while it does not, checks ask Gardener. Nil means that it always does.
	Following func() bool
	// ProfileMaxAge is how long a CloudProfile is used before it is read again; zero means 30 s.
	ProfileMaxAge time.Duration
	// Guarded says that the transport of Client asks the guard which the context of a write carries (fleet.AskGuard), just before the request leaves. Then Start does
	// not ask by itself: a client may hold a request back for its rate limit long after that.
	Guarded bool
	// AskEvery is how long checks of one operation read from the informer's cache before Gardener itself is asked again; zero means 2 minutes.
	AskEvery time.Duration
}

// Executor carries out upgradeCluster against Gardener.
type Executor struct {
	client    gardenclient.CoreV1beta1Interface
	namespace string
	informer  cache.SharedIndexInformer
	following func() bool
	profiles  *profiles
	askEvery  time.Duration
	guarded   bool
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
	if o.AskEvery <= 0 {
		o.AskEvery = 2 * time.Minute
	}
	if o.Following == nil {
		o.Following = func() bool { return true }
	}
	return &Executor{
		client:    o.Client,
		namespace: o.Namespace,
		informer:  o.Informer,
		following: o.Following,
		profiles:  &profiles{client: o.Client, namespace: o.Namespace, maxAge: o.ProfileMaxAge},
		askEvery:  o.AskEvery,
		guarded:   o.Guarded,
	}, nil
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
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	shoot, err := e.live(ctx, t.ShootName)
	if err != nil {
		return afterRead(t, err)
	}
	r, m, _, err := e.observe(ctx, t, m, shoot)
	if err != nil {
		return fleet.Result{}, err
	}
	m.AskedAt = t.Now
	return m.in(r)
}

// observe judges a Shoot, and returns what would have to be written when the result is NeedsStart.
func (e *Executor) observe(ctx context.Context, t fleet.Task, m memo, shoot *gardencorev1beta1.Shoot) (fleet.Result, memo, change, error) {
	if r, out := unreachable(t, m, shoot); out {
		return r, m, change{}, nil
	}
	want, refusal, err := e.choose(ctx, t, m, shoot)
	if err != nil {
		return fleet.Result{}, m, change{}, err
	}
	if refusal != "" {
		return refused(refusal), m, change{}, nil
	}
	r, m := judge(t, shoot, m, want)
	r.Version = want.Version
	if r.Outcome == fleet.NeedsStart || r.Outcome == fleet.Done {
		if r.ClusterConfig, err = clusterConfig(shoot, want); err != nil {
			return fleet.Result{}, m, change{}, err
		}
	}
	return r, m, want, nil
}

// choose decides on the version for a Shoot, or says why there is none. The cloud profile is asked only when something is to be written or the
// version is still open.
func (e *Executor) choose(ctx context.Context, t fleet.Task, m memo, shoot *gardencorev1beta1.Shoot) (want change, refusal string, err error) {
	want = wanted(t)
	if m.Generation != 0 || want.Version != "" && want.in(shoot) {
		return want, "", nil
	}
	profile, err := e.profiles.of(ctx, shoot, t.Now)
	if err != nil {
		if absent(err, keyOf(shoot).name) {
			return change{}, "the cloud profile of the Shoot does not exist: " + oneLine(keyOf(shoot).name), nil
		}
		return change{}, "", fmt.Errorf("read the cloud profile: %w", verdict.OfRead(err))
	}
	want, refusal = choose(want, shoot, profile, t.Now)
	return want, refusal, nil
}

// Start looks at the Shoot once more and writes the change, on the condition that nobody has written in between.
func (e *Executor) Start(ctx context.Context, t fleet.Task, guard fleet.Guard) (fleet.Result, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	shoot, err := e.live(ctx, t.ShootName)
	if err != nil {
		return afterRead(t, err)
	}
	r, m, want, err := e.observe(ctx, t, m, shoot)
	if err != nil {
		return fleet.Result{}, err
	}
	m.AskedAt = t.Now
	if r.Outcome != fleet.NeedsStart {
		return m.in(r)
	}
	body, err := e.patchFor(ctx, t, shoot, want)
	if err != nil {
		return afterRead(t, err)
	}
	if !e.guarded {
		if err := guard(ctx); err != nil {
			return fleet.Result{}, err
		}
	}
	opts := metav1.PatchOptions{FieldManager: "swell"}
	if t.DryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	sending, refused := fleet.WithGuard(ctx, guard)
	written, err := e.client.Shoots(e.namespace).Patch(sending, shoot.Name, types.MergePatchType, body, opts)
	if refusal := refused(); refusal != nil {
		return fleet.Result{}, refusal
	}
	if err != nil {
		return afterWrite(t, err)
	}
	if t.DryRun {
		return fleet.Result{
			Outcome: fleet.Done, Version: want.Version, ClusterConfig: r.ClusterConfig,
			Description: "dry run: Gardener accepts " + want.words() + "; nothing was changed",
		}, nil
	}
	t.Sent = true
	next, m := judge(t, written, m.wrote(shoot, written), want)
	next.Sent, next.Version, next.ClusterConfig, next.Stage = true, want.Version, r.ClusterConfig, "shoot_patched"
	return m.in(next)
}

// Check looks how the change gets on: in the informer's cache, and from time to time at Gardener itself, because a cache whose watch is broken
// keeps showing an old picture.
func (e *Executor) Check(ctx context.Context, t fleet.Task, _ fleet.Guard) (fleet.Result, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	shoot, cached := e.cached(t.ShootName)
	if cached && (t.Now.Sub(m.AskedAt) >= e.askEvery || t.Now.Before(m.AskedAt)) {
		cached = false
	}
	if !cached {
		if shoot, err = e.live(ctx, t.ShootName); err != nil {
			return afterRead(t, err)
		}
		m.AskedAt = t.Now
	}
	want := wanted(t)
	if r, out := unreachable(t, m, shoot); out || !want.in(shoot) {
		if cached || !out {
			// Either the cache has not seen our write yet, or somebody has changed the Shoot since. Gardener knows.
			r = fleet.Result{Outcome: fleet.Again, After: lookAgain, NextObserve: true, Sent: t.Sent}
		}
		r.Unasked = cached
		return r, nil
	}
	r, m := judge(t, shoot, m, want)
	switch r.Outcome {
	case fleet.NeedsStart:
		r = fleet.Result{Outcome: fleet.Again, After: lookAgain, NextObserve: true}
	case fleet.Done:
		if r.ClusterConfig, err = clusterConfig(shoot, want); err != nil {
			return fleet.Result{}, err
		}
	case fleet.Refused:
		if cached {
			// Somebody may have told Gardener to try again since.
			r = fleet.Result{Outcome: fleet.Again, After: lookAgain, NextObserve: true}
		}
	case fleet.Again, fleet.Gone:
	}
	r.Sent, r.Unasked = t.Sent, cached
	return m.in(r)
}
