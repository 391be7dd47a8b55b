package provisioner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/executor/provisioner"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// backend is a Provisioner that knows runtimes, keeps one operation per runtime going until it is told to end it, and refuses a second.
type backend struct {
	url    string
	client *http.Client

	mu         sync.Mutex
	runtimes   map[string]*record
	operations map[string]*provisioner.Operation
	requests   []request
	numbers    int
	// outage makes every request fail with a status. lose makes the next mutation happen and its answer disappear.
	outage bool
	lose   bool
	// instead answers a request in place of the backend, when it is set and returns true.
	instead func(w http.ResponseWriter, r request) bool
}

type record struct {
	Status provisioner.Status
	starts int
}

// request is what came in.
type request struct {
	OperationName string `json:"operationName"`
	Variables     struct {
		ID     string          `json:"id"`
		Config json.RawMessage `json:"config"`
	} `json:"variables"`
	Query  string      `json:"query"`
	Header http.Header `json:"-"`
	Body   string      `json:"-"`
}

func newBackend(t testing.TB) *backend {
	t.Helper()
	b := &backend{runtimes: map[string]*record{}, operations: map[string]*provisioner.Operation{}}
	server := httptest.NewServer(b)
	transport := &http.Transport{DisableKeepAlives: true}
	b.url, b.client = server.URL+"/graphql", &http.Client{Transport: transport}
	t.Cleanup(server.Close)
	return b
}

// add makes a runtime with Kyma 2.20.4 on Kubernetes 1.33.9.
func (b *backend) add(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	secret, profile, source := true, gqlschema.KymaProfileProduction, "https://example.com/extra.tgz"
	b.runtimes[id] = &record{Status: provisioner.Status{
		LastOperationStatus: b.newOperation(gqlschema.OperationTypeProvision, gqlschema.OperationStateSucceeded),
		RuntimeConfiguration: &provisioner.Configuration{
			ClusterConfig: &provisioner.ClusterConfig{KubernetesVersion: "1.33.9", MachineImage: "gardenlinux", MachineImageVersion: "1592.4.0"},
			KymaConfig: &provisioner.KymaConfig{
				Version: "2.20.4", Profile: &profile,
				Configuration: []*provisioner.Entry{{Key: "global.domain", Value: "example.com"}, nil},
				Components: []*provisioner.Component{
					{Component: "istio", Namespace: "istio-system", Configuration: []*provisioner.Entry{{Key: "password", Value: "hunter2", Secret: &secret}}},
					nil,
					{Component: "extra", Namespace: "kyma-system", SourceURL: &source},
				},
			},
		},
	}}
}

func (b *backend) newOperation(kind gqlschema.OperationType, state gqlschema.OperationState) *provisioner.Operation {
	b.numbers++
	op := &provisioner.Operation{Id: fmt.Sprintf("po-%d", b.numbers), Operation: kind, State: state, Message: "step " + string(kind)}
	b.operations[op.Id] = op
	return op
}

// begin lets somebody else start an operation on a runtime.
func (b *backend) begin(id string, kind gqlschema.OperationType, state gqlschema.OperationState) *provisioner.Operation {
	b.mu.Lock()
	defer b.mu.Unlock()
	op := b.newOperation(kind, state)
	b.runtimes[id].Status.LastOperationStatus = op
	return op
}

// end ends the newest operation of a runtime.
func (b *backend) end(id string, state gqlschema.OperationState, lastError *provisioner.LastError) {
	b.change(id, func(s *provisioner.Status) {
		s.LastOperationStatus.State, s.LastOperationStatus.LastError = state, lastError
	})
}

func (b *backend) change(id string, change func(*provisioner.Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.runtimes[id].Status)
}

func (b *backend) remove(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.operations, b.runtimes[id].Status.LastOperationStatus.Id)
	delete(b.runtimes, id)
}

func (b *backend) starts(id string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.runtimes[id]; r != nil {
		return r.starts
	}
	return 0
}

func (b *backend) setOutage(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outage = on
}

func (b *backend) loseNext() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lose = true
}

// answerWith puts something else in the backend's place.
func (b *backend) answerWith(instead func(w http.ResponseWriter, r request) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.instead = instead
}

// sent returns the requests of a GraphQL operation so far.
func (b *backend) sent(name string) []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []request
	for _, r := range b.requests {
		if r.OperationName == name {
			list = append(list, r)
		}
	}
	return list
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var req request
	if err != nil || json.Unmarshal(body, &req) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	req.Header, req.Body = r.Header, string(body)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, req)
	if b.outage {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if b.instead != nil && b.instead(w, req) {
		return
	}
	field, answer, refusal := b.answer(req)
	if b.lose && strings.HasPrefix(req.OperationName, "Upgrade") {
		b.lose = false
		panic(http.ErrAbortHandler)
	}
	document := map[string]any{"data": map[string]any{field: answer}}
	if refusal != nil {
		document = map[string]any{"data": nil, "errors": []any{refusal}}
	}
	_ = json.NewEncoder(w).Encode(document)
}

// refusal is an error as the Provisioner tells it.
func refusal(code int, reason, message string) map[string]any {
	return map[string]any{"message": message, "extensions": map[string]any{"error_code": code, "error_reason": reason, "error_component": "provisioner"}}
}

func (b *backend) answer(r request) (field string, answer, failure any) {
	if r.Header.Get("tenant") == "" {
		return "", nil, refusal(400, "err_tenant", "tenant header is empty")
	}
	if r.OperationName == "OperationStatus" {
		op, ok := b.operations[r.Variables.ID]
		if !ok {
			return "", nil, refusal(2, "err_db_not_found", "operation not found")
		}
		return "runtimeOperationStatus", op, nil
	}
	rec, ok := b.runtimes[r.Variables.ID]
	if !ok {
		return "", nil, refusal(2, "err_db_not_found", "cannot find the runtime")
	}
	last := rec.Status.LastOperationStatus
	if r.OperationName == "RuntimeStatus" {
		return "runtimeStatus", rec.Status, nil
	}
	if last != nil && (last.State == gqlschema.OperationStateInProgress || last.State == gqlschema.OperationStatePending) {
		return "", nil, refusal(400, "err_bad_request", "cannot start new operation while previous one is in progress")
	}
	rec.starts++
	switch r.OperationName {
	case "UpgradeRuntime":
		var config gqlschema.UpgradeRuntimeInput
		if err := json.Unmarshal(r.Variables.Config, &config); err != nil {
			return "", nil, refusal(400, "err_bad_request", err.Error())
		}
		rec.Status.RuntimeConfiguration.KymaConfig.Version = config.KymaConfig.Version
		rec.Status.LastOperationStatus = b.newOperation(gqlschema.OperationTypeUpgrade, gqlschema.OperationStateInProgress)
		return "upgradeRuntime", rec.Status.LastOperationStatus, nil
	default:
		var config gqlschema.UpgradeShootInput
		if err := json.Unmarshal(r.Variables.Config, &config); err != nil {
			return "", nil, refusal(400, "err_bad_request", err.Error())
		}
		if v := config.GardenerConfig.KubernetesVersion; v != nil {
			rec.Status.RuntimeConfiguration.ClusterConfig.KubernetesVersion = *v
		}
		rec.Status.LastOperationStatus = b.newOperation(gqlschema.OperationTypeUpgradeShoot, gqlschema.OperationStateInProgress)
		return "upgradeShoot", rec.Status.LastOperationStatus, nil
	}
}

// executor returns a new executor of a type over the backend.
func (b *backend) executor(t testing.TB, kind orchestration.Type) *provisioner.Executor {
	t.Helper()
	e, err := provisioner.New(provisioner.Options{URL: b.url, Client: b.client, Type: kind})
	require.NoError(t, err)
	return e
}

// task returns the task of an upgrade of Kyma to 2.20.5 of a new runtime.
func (b *backend) task(id string) fleet.Task {
	b.add(id)
	return fleet.Task{
		OperationID: "op-" + id, RuntimeID: id, GlobalAccountID: "ga-blue", SubAccountID: "sa-blue-1", Attempt: 1,
		Parameters: orchestration.Parameters{Version: "2.20.5"},
	}
}

// allowed is a guard that lets everything through.
func allowed(t testing.TB) fleet.Guard {
	t.Helper()
	return func(ctx context.Context) error { return ctx.Err() }
}
