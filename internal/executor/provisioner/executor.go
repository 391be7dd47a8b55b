package provisioner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/Khan/genqlient/graphql"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// Options are what the executor needs.
type Options struct {
	// URL is the address of the GraphQL endpoint.
	URL string
	// Client sends the requests; nil takes one with a timeout of 25 s.
	Client *http.Client
	// Type says what is upgraded: Kyma or clusters.
	Type orchestration.Type
	// CheckEvery is how long after a look the next one is due; zero takes the engine's default.
	CheckEvery time.Duration
}

// Executor carries out one type of orchestration against the Provisioner.
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
		e.client = &http.Client{Timeout: 25 * time.Second}
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

// memo is what is kept between the steps of one operation.
type memo struct {
	// Watched is true once Before is known: the newest operation of the runtime before ours was asked for, empty when there was none.
	Watched bool   `json:"watched,omitempty"`
	Before  string `json:"before,omitempty"`
	// Operation is the Provisioner's ID of the operation that upgrades.
	Operation string `json:"operation,omitempty"`
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
		panic(err) // a struct of texts and flags
	}
	return b
}

// Validate refuses parameters that the Provisioner cannot carry out.
func (e *Executor) Validate(_ context.Context, p orchestration.Parameters) error {
	return e.kind.validate(p)
}

// Observe looks at the newest operation of the runtime and at its configuration.
func (e *Executor) Observe(ctx context.Context, t fleet.Task) (fleet.Result, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	status, err := e.status(ctx, t)
	if err != nil {
		return e.classify(err, "look at the runtime")
	}
	return e.judge(t, m, status), nil
}

// judge says how an operation stands. The order of the questions matters: what is ours, what runs, what is there already, and only then what to start.
func (e *Executor) judge(t fleet.Task, m memo, status *Status) fleet.Result {
	last := status.LastOperationStatus
	want := wanted(t)
	if ours(m, last, e.kind) && e.kind.has(status, want) {
		m.Operation = last.Id
		return e.follow(t, m, last)
	}
	if running(last) {
		if last.Operation == e.kind.operation() && e.kind.has(status, want) {
			m.Operation = last.Id
			return e.follow(t, m, last)
		}
		return fleet.Result{
			Outcome: fleet.Again, NextObserve: true, After: e.checkEvery, Sent: t.Sent, Version: want.version,
			Description: fleet.Line(fmt.Sprintf("the Provisioner is busy with another operation on the runtime (%s, %s)", last.Operation, last.State)),
		}
	}
	if e.kind.has(status, want) && !broken(last, e.kind) {
		return fleet.Result{Outcome: fleet.Done, Sent: t.Sent, Version: want.version, Description: "already has " + want.String()}
	}
	if t.DryRun {
		return fleet.Result{Outcome: fleet.Done, Version: want.version, Description: "dry run: the Provisioner would be asked for " + want.String() + "; nothing was changed"}
	}
	if before := idOf(last); !m.Watched || m.Before != before {
		// Remember the newest operation first, in a step of its own, so that ours is known even when the answer that names it is lost.
		return fleet.Result{
			Outcome: fleet.Again, NextObserve: true, After: time.Millisecond, Sent: t.Sent, Version: want.version,
			Memo: memo{Watched: true, Before: before}.raw(),
		}
	}
	return fleet.Result{Outcome: fleet.NeedsStart, Sent: t.Sent, Version: want.version}
}

// ours says whether the newest operation is the one that this operation asked for: it is known by its ID, or it has appeared since we watched.
func ours(m memo, last *Operation, k kind) bool {
	if last == nil {
		return false
	}
	if m.Operation != "" {
		return last.Id == m.Operation
	}
	return m.Watched && last.Id != m.Before && last.Operation == k.operation()
}

func running(last *Operation) bool {
	return last != nil && (last.State == gqlschema.OperationStatePending || last.State == gqlschema.OperationStateInProgress)
}

// broken says whether the newest operation was an upgrade of this kind that failed, so that having the version in the configuration means nothing.
func broken(last *Operation, k kind) bool {
	return last != nil && last.Operation == k.operation() && last.State == gqlschema.OperationStateFailed
}

func idOf(last *Operation) string {
	if last == nil {
		return ""
	}
	return last.Id
}

// Start looks once more and asks the Provisioner to upgrade.
func (e *Executor) Start(ctx context.Context, t fleet.Task, guard fleet.Guard) (fleet.Result, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	status, err := e.status(ctx, t)
	if err != nil {
		return e.classify(err, "look at the runtime")
	}
	if r := e.judge(t, m, status); r.Outcome != fleet.NeedsStart {
		return r, nil
	}
	if err := guard(ctx); err != nil {
		return fleet.Result{}, err
	}
	started, sent, err := e.kind.start(ctx, e.graphql(t), t, status, wanted(t))
	if err != nil {
		return e.classify(err, "ask the Provisioner to upgrade")
	}
	if started == nil || started.Id == "" {
		// Without an ID the operation is found again as the newest one of the runtime.
		return fleet.Result{Outcome: fleet.Again, NextObserve: true, After: time.Second, Sent: true}, nil
	}
	m.Operation = started.Id
	r := e.follow(t, m, started)
	r.Sent, r.Stage = true, "upgrade_requested"
	sent.into(&r)
	return r, nil
}

// Check asks how the Provisioner's operation gets on.
func (e *Executor) Check(ctx context.Context, t fleet.Task, _ fleet.Guard) (fleet.Result, error) {
	m, err := readMemo(t)
	if err != nil {
		return fleet.Result{}, err
	}
	if m.Operation == "" {
		return e.Observe(ctx, t)
	}
	answer, err := OperationStatus(ctx, e.graphql(t), m.Operation)
	if err != nil {
		return e.classify(err, "ask for the operation")
	}
	if answer.RuntimeOperationStatus == nil {
		return fleet.Result{Outcome: fleet.Again, NextObserve: true, After: time.Second, Sent: t.Sent}, nil
	}
	return e.follow(t, m, answer.RuntimeOperationStatus), nil
}

// follow turns the state of the Provisioner's operation into that of ours.
func (e *Executor) follow(t fleet.Task, m memo, op *Operation) fleet.Result {
	r := fleet.Result{Sent: true, Memo: m.raw(), Version: wanted(t).version, Description: fleet.Line(op.Message)}
	switch op.State {
	case gqlschema.OperationStateSucceeded:
		r.Outcome, r.Stage = fleet.Done, "upgrade_finished"
		r.Description = "has " + wanted(t).String()
	case gqlschema.OperationStateFailed:
		r.Outcome, r.Reason = fleet.Refused, reason(op)
		r.Description = r.Reason
	case gqlschema.OperationStatePending, gqlschema.OperationStateInProgress:
		r.Outcome, r.After = fleet.Again, e.checkEvery
	default:
		// A state of a newer Provisioner says nothing about the end.
		r.Outcome, r.After = fleet.Again, e.checkEvery
	}
	return r
}

// reason says why the Provisioner's operation failed.
func reason(op *Operation) string {
	text := op.Message
	if e := op.LastError; e != nil && e.ErrMessage != "" {
		text = e.ErrMessage
		if e.Reason != "" || e.Component != "" {
			text = fmt.Sprintf("%s (reason %s, component %s)", e.ErrMessage, orDash(e.Reason), orDash(e.Component))
		}
	}
	if text == "" {
		text = "no reason is given"
	}
	return fleet.Line("the Provisioner's operation failed: " + text)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (e *Executor) status(ctx context.Context, t fleet.Task) (*Status, error) {
	answer, err := RuntimeStatus(ctx, e.graphql(t), t.RuntimeID)
	if err != nil {
		return nil, err
	}
	if answer.RuntimeStatus == nil {
		return nil, errNoRuntime
	}
	return answer.RuntimeStatus, nil
}

var errNoRuntime = errors.New("the Provisioner does not know the runtime")

// graphql returns a client that speaks for the runtime's account.
func (e *Executor) graphql(t fleet.Task) graphql.Client {
	return graphql.NewClient(e.url, &accountDoer{client: e.client, tenant: t.GlobalAccountID, subAccount: t.SubAccountID})
}
