package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/executor/noop"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/testkit/folder"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// noon is the time of every test. It is a Wednesday.
var noon = time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// fixture is an API over a real store and the commands of the real engine. Nothing is carried out: the queue keeps no jobs.
type fixture struct {
	t       testing.TB
	store   *store.Store
	handler http.Handler
	// commands are the engine's.
	commands *engine.Engine
	log      *logBuffer
}

var discard = slog.New(slog.DiscardHandler)

// logBuffer is a log that parallel requests may write to.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newFixture makes an API in which clusters can be upgraded to anything, and Kyma too, without a default version.
func newFixture(t testing.TB, change ...func(*httpapi.Options)) *fixture {
	t.Helper()
	s, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: folder.InMemory(t), Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	f := &fixture{t: t, store: s, log: &logBuffer{}}
	commands, err := engine.New(engine.Options{
		Store: s, Queue: noQueue{}, Resolver: storeResolver{s}, Logger: discard, Clock: clock,
		Executors: map[orchestration.Type]engine.ExecutorBinding{
			orchestration.UpgradeKymaOrchestration:    {Backend: fleet.BackendKyma, Executor: noop.Executor{}},
			orchestration.UpgradeClusterOrchestration: {Backend: fleet.BackendGardener, Executor: noop.Executor{}},
		},
		Limits: engine.Limits{DefaultKymaVersion: "regular"},
	})
	require.NoError(t, err)
	f.commands = commands
	options := httpapi.Options{
		Reader: s, Commands: commands, Previewer: commands, Authenticator: httpapi.Loopback{}, Loopback: true,
		Logger: slog.New(slog.NewTextHandler(f.log, nil)), Clock: clock, Version: "test",
	}
	for _, c := range change {
		c(&options)
	}
	f.handler, err = httpapi.New(options)
	require.NoError(t, err)
	return f
}

// noQueue takes jobs and forgets them. What only running jobs need is not there.
type noQueue struct{ fleet.Queue }

func (noQueue) Insert(_ context.Context, _ fleet.Tx, jobs []fleet.Job) ([]int64, error) {
	return make([]int64, len(jobs)), nil
}

func (noQueue) Nudge() {}

// storeResolver takes the runtimes of the store for the fleet. It selects by Shoot and by "all", and leaves out what is suspended. All have one window,
// but for those of the plan trial, which have none.
type storeResolver struct{ reader fleet.Reader }

func (r storeResolver) ResolveTargets(ctx context.Context, targets orchestration.TargetSpec) (fleet.Resolution, error) {
	known, _, err := r.reader.ListRuntimes(ctx, fleet.RuntimeFilter{States: []runtime.State{runtime.AllState}}, fleet.Page{Number: 1, Size: 1000})
	if err != nil {
		return fleet.Resolution{}, err
	}
	found, matched := fleet.Resolution{}, make([]bool, len(targets.Include))
	for i := range known {
		doc := &known[i].DTO
		selected := false
		for n, entry := range targets.Include {
			if entry.Target == orchestration.TargetAll || entry.Shoot == doc.ShootName {
				selected, matched[n] = true, true
			}
		}
		switch {
		case !selected:
		case known[i].State == runtime.StateSuspended:
			found.LeftOut = append(found.LeftOut, fleet.LeftOut{
				ShootName: doc.ShootName, RuntimeID: doc.RuntimeID, InstanceID: doc.InstanceID, Reason: string(orchestration.LeftOutSuspended), Description: "the runtime is suspended",
			})
		default:
			target := fleet.Target{
				RuntimeID: doc.RuntimeID, InstanceID: doc.InstanceID, ShootName: doc.ShootName, GlobalAccountID: doc.GlobalAccountID, SubAccountID: doc.SubAccountID,
				Region: doc.ProviderRegion, ServicePlanID: doc.ServicePlanID, ServicePlanName: doc.ServicePlanName, KubernetesVersion: "1.33.1",
			}
			if doc.ServicePlanName != "trial" {
				target.Window = fleet.WindowRule{Begin: "220000+0000", End: "020000+0000"}
			}
			found.Runtimes = append(found.Runtimes, target)
		}
	}
	for n := range matched {
		if !matched[n] {
			found.Unmatched = append(found.Unmatched, n)
		}
	}
	return found, nil
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	text   string
}

// request makes a request from the same machine. Headers are given as name, value, name, value.
func request(method, path string, body io.Reader, headers ...string) *http.Request {
	r := httptest.NewRequest(method, path, body)
	r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:40000"
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func (f *fixture) send(r *http.Request) reply {
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.String()}
}

func (f *fixture) get(path string, headers ...string) reply {
	return f.send(request(http.MethodGet, path, nil, headers...))
}

func (f *fixture) post(path, body string, headers ...string) reply {
	return f.send(request(http.MethodPost, path, strings.NewReader(body), headers...))
}

// read decodes an answer of status 200.
func read[T any](t testing.TB, r reply) T {
	t.Helper()
	require.Equal(t, http.StatusOK, r.status, r.text)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	return decode[T](t, r)
}

func decode[T any](t testing.TB, r reply) T {
	t.Helper()
	var out T
	decoder := json.NewDecoder(strings.NewReader(r.text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&out), r.text)
	return out
}

// problem checks that an answer is a problem document about a field, and returns it.
func problem(t *testing.T, r reply, status int, field string) httpapi.Problem {
	t.Helper()
	require.Equal(t, status, r.status, r.text)
	require.Equal(t, "application/problem+json", r.header.Get("Content-Type"))
	p := decode[httpapi.Problem](t, r)
	require.Equal(t, status, p.Status)
	require.Equal(t, http.StatusText(status), p.Title)
	require.Equal(t, "about:blank", p.Type)
	require.Equal(t, field, p.Field, p.Detail)
	require.NotEmpty(t, p.Detail)
	require.Equal(t, p.Detail, p.Message)
	require.Equal(t, r.header.Get("X-Request-Id"), p.RequestID)
	return p
}

// write changes the store.
func (f *fixture) write(change func(ctx context.Context, tx fleet.Tx) error) {
	f.t.Helper()
	require.NoError(f.t, f.store.Update(f.t.Context(), change))
}

// addRuntimes stores documents.
func (f *fixture) addRuntimes(docs ...runtime.RuntimeDTO) {
	f.t.Helper()
	f.putRuntimes("import", docs...)
}

// putRuntimes stores documents of a source.
func (f *fixture) putRuntimes(source string, docs ...runtime.RuntimeDTO) {
	f.t.Helper()
	f.write(func(ctx context.Context, tx fleet.Tx) error {
		_, err := tx.PutRuntimes(ctx, source, docs)
		return err
	})
}

// addOrchestration stores an orchestration with its operations.
func (f *fixture) addOrchestration(o fleet.Orchestration, ops ...fleet.Operation) {
	f.t.Helper()
	if o.Type == "" {
		o.Type = orchestration.UpgradeClusterOrchestration
	}
	if o.Parameters.Strategy.Type == "" {
		normal, _, err := fleet.NormalizeParameters(o.Type, orchestration.Parameters{
			Version: "1.33.4", Targets: orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{{Target: orchestration.TargetAll}}},
		}, fleet.ParameterOptions{})
		require.NoError(f.t, err)
		o.Parameters = normal
	}
	for i := range ops {
		ops[i].OrchestrationID, ops[i].Type, ops[i].Position = o.ID, o.Type, i
		if ops[i].RuntimeID == "" {
			ops[i].RuntimeID = "rt-of-" + ops[i].ID
		}
		o.Counts.Add(ops[i].State, 1)
	}
	f.write(func(ctx context.Context, tx fleet.Tx) error {
		if err := tx.InsertOrchestration(ctx, &o); err != nil {
			return err
		}
		return tx.InsertOperations(ctx, ops)
	})
}

// orchestrations returns how many orchestrations are stored.
func (f *fixture) orchestrations() int {
	f.t.Helper()
	return read[orchestration.StatusResponseList](f.t, f.get("/orchestrations")).TotalCount
}

// hour is a time on the day of the tests.
func hour(h int) time.Time { return time.Date(2024, 5, 15, h, 0, 0, 0, time.UTC) }

// done is an operation of a runtime.
func done(t runtime.OperationType, state string, h int) runtime.Operation {
	return runtime.Operation{
		OperationID: strings.ReplaceAll(string(t), " ", "-") + "-" + time.Duration(h).String(), Type: t, State: state,
		CreatedAt: hour(h), UpdatedAt: hour(h), FinishedStages: []string{},
	}
}

// document is a runtime that was provisioned at 10 o'clock, with what happened after that.
func document(id, shoot string, operations ...runtime.Operation) runtime.RuntimeDTO {
	provision := done(runtime.Provision, orchestration.Succeeded, 10)
	doc := runtime.RuntimeDTO{
		InstanceID: "in-" + id, RuntimeID: id, ShootName: shoot, ServicePlanName: "aws",
		Status: runtime.RuntimeStatus{CreatedAt: hour(10), ModifiedAt: hour(10), Provisioning: &provision},
	}
	add := func(list **runtime.OperationsData, op runtime.Operation) {
		if *list == nil {
			*list = &runtime.OperationsData{}
		}
		(*list).Data = append((*list).Data, op)
		(*list).Count++
		(*list).TotalCount++
	}
	for _, op := range operations {
		switch op.Type {
		case runtime.Deprovision:
			doc.Status.Deprovisioning = &op
		case runtime.UpgradeKyma:
			add(&doc.Status.UpgradingKyma, op)
		case runtime.UpgradeCluster:
			add(&doc.Status.UpgradingCluster, op)
		case runtime.Update:
			add(&doc.Status.Update, op)
		case runtime.Suspension:
			add(&doc.Status.Suspension, op)
		case runtime.Unsuspension:
			add(&doc.Status.Unsuspension, op)
		case runtime.Provision:
			doc.Status.Provisioning = &op
		}
	}
	return doc
}

// recordingCommands accept everything and remember it.
type recordingCommands struct {
	fleet.Commands
	created   []fleet.CreateRequest
	previewed []fleet.PreviewRequest
	retried   []fleet.RetryRequest
}

func (c *recordingCommands) CreateOrchestration(_ context.Context, _ fleet.Actor, req fleet.CreateRequest) (fleet.Orchestration, error) {
	c.created = append(c.created, req)
	return fleet.Orchestration{ID: "o-1"}, nil
}

func (c *recordingCommands) PreviewOrchestration(_ context.Context, req fleet.PreviewRequest) (fleet.Preview, error) {
	c.previewed = append(c.previewed, req)
	return fleet.Preview{}, nil
}

func (c *recordingCommands) RetryOrchestration(_ context.Context, _ fleet.Actor, req fleet.RetryRequest) (fleet.RetryResult, error) {
	c.retried = append(c.retried, req)
	return fleet.RetryResult{OrchestrationID: req.OrchestrationID}, nil
}
