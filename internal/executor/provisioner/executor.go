package provisioner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/Khan/genqlient/graphql"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// requestTimeout bounds a request when the caller brings no client of its own.
const requestTimeout = 25 * time.Second

// Options are what the executor needs.
type Options struct {
	// URL is the address of the GraphQL endpoint. Required.
	URL string
	// Client sends the requests, with whatever credentials the Provisioner asks for; nil takes one with a timeout of 25 s.
	Client *http.Client
	// Type says what is upgraded: Kyma or clusters. Required.
	Type orchestration.Type
	// CheckEvery is how long after a look at a running operation the next one is due; zero takes the engine's default.
	CheckEvery time.Duration
}

// Executor carries out one type of orchestration against the Provisioner. It is safe for concurrent use.
type Executor struct {
	url        string
	client     *http.Client
	kind       kind
	checkEvery time.Duration
}

var (
	_ fleet.Executor  = (*Executor)(nil)
	_ fleet.Validator = (*Executor)(nil)
)

// New returns an executor, or an error that names the option that is wrong.
func New(o Options) (*Executor, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("provisioner executor: %q is not the address of a GraphQL endpoint", o.URL)
	}
	e := &Executor{url: o.URL, client: o.Client, checkEvery: o.CheckEvery}
	if e.client == nil {
		e.client = &http.Client{Timeout: requestTimeout}
	}
	switch o.Type {
	case orchestration.UpgradeKymaOrchestration:
		e.kind = kymaKind{}
	case orchestration.UpgradeClusterOrchestration:
		e.kind = shootKind{}
	default:
		return nil, fmt.Errorf("provisioner executor: the type %q is not known", o.Type)
	}
	return e, nil
}

// Validate refuses parameters that the Provisioner cannot carry out.
func (e *Executor) Validate(_ context.Context, p orchestration.Parameters) error {
	return e.kind.validate(p)
}

// Observe looks at the operation that is known to be ours, or else at the newest one of the runtime and at its configuration.
func (e *Executor) Observe(ctx context.Context, t fleet.Task) (fleet.Result, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	if m.Operation != "" {
		return e.check(ctx, t, m)
	}
	r, _, err := e.look(ctx, t, m)
	return r, err
}

// look reads the runtime and judges it. It returns what it read when the result is NeedsStart.
func (e *Executor) look(ctx context.Context, t fleet.Task, m memo) (fleet.Result, *Status, error) {
	if t.GlobalAccountID == "" {
		return refused("the runtime has no global account, and the Provisioner changes runtimes in the name of one only"), nil, nil
	}
	answer, err := RuntimeStatus(ctx, e.graphql(t), t.RuntimeID)
	if err != nil {
		r, err := e.classify(err, "look at the runtime")
		return r, nil, err
	}
	if answer.RuntimeStatus == nil {
		return fleet.Result{}, nil, errors.New("look at the runtime: the answer says nothing about it")
	}
	return e.judge(t, m, answer.RuntimeStatus), answer.RuntimeStatus, nil
}

// Start looks once more and asks the Provisioner to upgrade. Before the first request it only remembers which operation of the runtime is the newest
// one, and leaves the request to the next step: what a step returns is stored before the next one begins.
func (e *Executor) Start(ctx context.Context, t fleet.Task, guard fleet.Guard) (fleet.Result, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	r, status, err := e.look(ctx, t, m)
	if err != nil || r.Outcome != fleet.NeedsStart {
		return r, err
	}
	if before := idOf(status.LastOperationStatus); !m.Watched || m.Before != before {
		r.Outcome, r.NextObserve, r.After = fleet.Again, true, time.Millisecond
		r.Memo = memo{Watched: true, Before: before}.raw()
		return r, nil
	}
	if err := guard(ctx); err != nil {
		return fleet.Result{}, err
	}
	started, err := e.kind.start(ctx, e.graphql(t), t, status, wanted(t))
	if err != nil {
		return e.classify(err, "ask the Provisioner to upgrade")
	}
	if started == nil || started.Id == "" {
		// Without an ID the operation is found again as one that has appeared since we looked.
		return fleet.Result{Outcome: fleet.Again, NextObserve: true, After: time.Second, Sent: true, Stage: requestedStage}, nil
	}
	m.Operation = started.Id
	followed := e.follow(t, m, started)
	if followed.Stage == "" {
		followed.Stage = requestedStage
	}
	return followed, nil
}

// The stages that an operation goes through.
const (
	requestedStage = "upgrade_requested"
	finishedStage  = "upgrade_finished"
)

// Check asks how the Provisioner's operation gets on.
func (e *Executor) Check(ctx context.Context, t fleet.Task, _ fleet.Guard) (fleet.Result, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	if m.Operation == "" {
		r, _, err := e.look(ctx, t, m)
		if r.Outcome == fleet.NeedsStart {
			r.Outcome, r.NextObserve, r.After = fleet.Again, true, time.Millisecond
		}
		return r, err
	}
	return e.check(ctx, t, m)
}

func (e *Executor) check(ctx context.Context, t fleet.Task, m memo) (fleet.Result, error) {
	answer, err := OperationStatus(ctx, e.graphql(t), m.Operation)
	switch {
	case notFound(err):
		return e.forgotten(ctx, t, m)
	case err != nil:
		// Whatever the Provisioner says against the question, the upgrade goes on.
		return fleet.Result{}, passing(err, "ask for the operation")
	case answer.RuntimeOperationStatus == nil:
		return fleet.Result{}, errors.New("ask for the operation: the answer says nothing about it")
	}
	return e.follow(t, m, answer.RuntimeOperationStatus), nil
}

// forgotten judges an operation that the Provisioner does not know any more: with its runtime, or alone. It is never started again.
func (e *Executor) forgotten(ctx context.Context, t fleet.Task, m memo) (fleet.Result, error) {
	r, _, err := e.look(ctx, t, memo{Watched: m.Watched, Before: m.Before})
	if err != nil {
		return r, err
	}
	if r.Outcome == fleet.NeedsStart {
		r = refused("the Provisioner does not know the operation any more that it had begun, and the runtime does not have " + wanted(t).String())
	}
	r.Sent = true
	return r, nil
}

// graphql returns a client that speaks for the runtime's account.
func (e *Executor) graphql(t fleet.Task) graphql.Client {
	return graphql.NewClient(e.url, &accountDoer{client: e.client, tenant: t.GlobalAccountID, subAccount: t.SubAccountID})
}
