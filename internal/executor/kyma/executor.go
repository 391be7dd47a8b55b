package kyma

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/verdict"
	"github.com/swell-fleet/swell/orchestration"
)

// DefaultNamespace is where the control plane keeps its Kymas.
const DefaultNamespace = "kcp-system"

// DefaultPatience is how long a Kyma may be in trouble without a break before the operation fails.
const DefaultPatience = 15 * time.Minute

// fieldManager is the name under which this program writes.
const fieldManager = "swell"

// DefaultChannels returns the channels that a Kyma may be moved to unless something else is configured.
func DefaultChannels() []string { return []string{"regular", "fast", "experimental"} }

// Options are what the executor needs.
type Options struct {
	// Client talks to the control plane cluster. Its rate limits are the budget of this backend. Required.
	Client dynamic.Interface
	// Namespace is where the Kymas are; empty means DefaultNamespace.
	Namespace string
	// AllowedChannels are the channels that a Kyma may be moved to: 3 to 32 lower-case letters each. Empty means DefaultChannels.
	AllowedChannels []string
	// Informer is a running informer of the Kymas in Namespace, made by NewInformer. Checks read from it and changes that it sees wake operations. Nil
	// makes every check ask the control plane and wakes nothing.
	Informer cache.SharedIndexInformer
	// Following reports whether the informer follows the control plane at the moment; while it does not, checks ask the control plane. Nil means that
	// it always does.
	Following func() bool
	// Guarded says that the transport of Client asks the guard which the context of a write carries (fleet.AskGuard), just before the request leaves. Then Start does
	// not ask by itself.
	Guarded bool
	// Patience is how long a Kyma may be in trouble without a break (Error, Warning, Unmanaged, or Ready on another channel) before the operation
	// fails: Lifecycle Manager tries again by itself and often recovers. Zero means DefaultPatience; a negative value fails at once.
	Patience time.Duration
}

// Executor carries out upgradeKyma by Kyma resources. It is safe for concurrent use.
type Executor struct {
	client    dynamic.ResourceInterface
	namespace string
	channels  []string
	informer  cache.SharedIndexInformer
	following func() bool
	patience  time.Duration
	guarded   bool
}

var (
	_ fleet.Executor       = (*Executor)(nil)
	_ fleet.Validator      = (*Executor)(nil)
	_ fleet.RuntimeWatcher = (*Executor)(nil)
)

// channelName is what the definition of Kymas allows as a channel.
var channelName = regexp.MustCompile(`^[a-z]{3,32}$`)

// New returns an executor, or an error that names all options that are wrong.
func New(o Options) (*Executor, error) {
	var problems []error
	if o.Client == nil {
		problems = append(problems, errors.New("no client"))
	}
	if len(o.AllowedChannels) == 0 {
		o.AllowedChannels = DefaultChannels()
	}
	for _, c := range o.AllowedChannels {
		// A Kyma on the channel "none" is refused by Lifecycle Manager.
		if !channelName.MatchString(c) || c == "none" {
			problems = append(problems, fmt.Errorf("%q is not the name of a channel", c))
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("kyma executor: %w", errors.Join(problems...))
	}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if o.Following == nil {
		o.Following = func() bool { return true }
	}
	return &Executor{
		client: o.Client.Resource(Resource).Namespace(o.Namespace), namespace: o.Namespace,
		channels: slices.Clone(o.AllowedChannels), informer: o.Informer, following: o.Following, patience: o.Patience, guarded: o.Guarded,
	}, nil
}

// Validate refuses a version that is not one of the allowed channels.
func (e *Executor) Validate(_ context.Context, p orchestration.Parameters) error {
	if !slices.Contains(e.channels, p.Version) {
		return fleet.Invalidf("version", "%q is not a channel of Kyma; allowed are %s", p.Version, strings.Join(e.channels, ", "))
	}
	return nil
}

// memo is what is kept between the steps of one operation.
type memo struct {
	// Generation is what the Kyma's generation was after our write; 0 before it.
	Generation int64 `json:"generation,omitempty"`
	// At is when we wrote: by the API server's clock where it tells, else by the database's.
	At time.Time `json:"at,omitzero"`
	// Before is the Kyma's state when we wrote.
	Before string `json:"before,omitempty"`
	// Trouble is what the Kyma's trouble is, and Since when it was seen first without a break.
	Trouble string    `json:"trouble,omitempty"`
	Since   time.Time `json:"since,omitzero"`
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

func (m memo) raw() json.RawMessage {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // numbers, texts and a time of the database
	}
	return b
}

func wanted(t fleet.Task) string {
	if t.Version != "" {
		return t.Version
	}
	return t.Parameters.Version
}

// Observe looks at the Kyma as the control plane has it now.
func (e *Executor) Observe(ctx context.Context, t fleet.Task) (fleet.Result, error) {
	r, _, err := e.observe(ctx, t)
	return r, err
}

// observe finds and judges a Kyma. It returns what it found when the result is NeedsStart.
func (e *Executor) observe(ctx context.Context, t fleet.Task) (fleet.Result, *resource, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, nil, err
	}
	// The channels may have been configured anew since the request was accepted.
	if channel := wanted(t); !t.Sent && !slices.Contains(e.channels, channel) {
		return refused(fmt.Sprintf("the channel %q is not allowed", channel)), nil, nil
	}
	k, out, err := e.find(ctx, t.RuntimeID)
	if err != nil || k == nil {
		out.Sent = t.Sent
		return out, nil, err
	}
	return e.judge(t, k, m), k, nil
}

// Start looks at the Kyma once more and changes its channel, on the condition that nobody has written in between.
func (e *Executor) Start(ctx context.Context, t fleet.Task, guard fleet.Guard) (fleet.Result, error) {
	r, k, err := e.observe(ctx, t)
	if err != nil || r.Outcome != fleet.NeedsStart {
		return r, err
	}
	channel := wanted(t)
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": k.ResourceVersion}, "spec": map[string]any{"channel": channel},
	})
	if err != nil {
		return fleet.Result{}, fmt.Errorf("describe the change of the Kyma: %w", err)
	}
	if !e.guarded {
		if err := guard(ctx); err != nil {
			return fleet.Result{}, err
		}
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if t.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	sending, refused := fleet.WithGuard(ctx, guard)
	answer, err := e.client.Patch(sending, k.Name, types.MergePatchType, body, options)
	if refusal := refused(); refusal != nil {
		return fleet.Result{}, refusal
	}
	if err != nil {
		return afterWrite(err)
	}
	if t.DryRun {
		return fleet.Result{
			Outcome: fleet.Done, Version: channel, KymaConfig: r.KymaConfig,
			Description: fleet.Line("dry run: the control plane accepts the channel " + channel + " instead of " + k.Spec.Channel + keeping(k, channel) + "; nothing was changed"),
		}, nil
	}
	written, err := parse(answer)
	if err != nil {
		return fleet.Result{}, err
	}
	m := memo{Generation: written.Generation, Before: k.Status.State, At: written.writtenAt()}
	if m.At.IsZero() {
		m.At = t.Now
	}
	t.Sent = true
	next := e.judge(t, written, m)
	if next.Memo == nil {
		next.Memo = m.raw()
	}
	next.Sent, next.Stage, next.KymaConfig = true, "channel_changed", r.KymaConfig
	return next, nil
}

// Check looks how the change gets on, in the informer's cache where there is one.
func (e *Executor) Check(ctx context.Context, t fleet.Task, _ fleet.Guard) (fleet.Result, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	if k := e.cached(t.RuntimeID); k != nil {
		if k.Generation < m.Generation {
			// The cache has not seen our write yet.
			return fleet.Result{Outcome: fleet.Again, Sent: t.Sent, Unasked: true}, nil
		}
		// A good end and a way to it may come from the cache; anything else is asked for.
		if r := e.judge(t, k, m); r.Outcome == fleet.Again || r.Outcome == fleet.Done {
			r.Unasked = true
			return r, nil
		}
	}
	r, err := e.Observe(ctx, t)
	if err == nil && r.Outcome == fleet.NeedsStart {
		r = fleet.Result{Outcome: fleet.Again, After: time.Second, NextObserve: true, Sent: t.Sent}
	}
	return r, err
}

// afterWrite turns an answer to a write into what follows from it: look again after a conflict, give up after a refusal, and repeat what may pass.
func afterWrite(err error) (fleet.Result, error) {
	err = verdict.OfWrite(err)
	switch {
	case errors.Is(err, fleet.ErrNoAccess), verdict.Foreign(err):
		return fleet.Result{}, fmt.Errorf("write the Kyma: %w", err)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return fleet.Result{
			Outcome: fleet.Again, After: time.Second, NextObserve: true, Description: "the Kyma was changed by somebody else; looking again",
		}, nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err):
		return refused("the control plane refuses the change: " + err.Error()), nil
	default:
		return fleet.Result{}, fmt.Errorf("write the Kyma: %w", err)
	}
}

func refused(reason string) fleet.Result {
	reason = fleet.Line(reason)
	return fleet.Result{Outcome: fleet.Refused, Reason: reason, Description: reason}
}

func gone(reason string) fleet.Result {
	reason = fleet.Line(reason)
	return fleet.Result{Outcome: fleet.Gone, Reason: reason, Description: reason}
}
