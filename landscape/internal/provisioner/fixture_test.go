package provisioner_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/provisioner"
)

// noon is when the tests begin.
var noon = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

// lasting is how long an upgrade takes on average: single ones take from shortest
// to longest.
const (
	lasting  = 100 * time.Second
	shortest = lasting / 2
	longest  = lasting * 3 / 2
)

// backend is a Provisioner with a clock and settings that a test changes.
type backend struct {
	*provisioner.Provisioner

	t      *testing.T
	url    string
	client *http.Client

	mu   sync.Mutex
	now  time.Time
	plan faults.Plan
}

// members are two runtimes of one account, and one of another.
func members() []provisioner.Member {
	member := func(id, shoot, tenant string) provisioner.Member {
		return provisioner.Member{
			RuntimeID: id, Shoot: shoot, Tenant: tenant, SubAccount: "sa-1", KymaVersion: "2.20.5", KubernetesVersion: "1.33.9",
			Region: "eu-central-1", Provider: "aws", Created: noon.Add(-time.Hour),
		}
	}
	return []provisioner.Member{member("rt-1", "c-1", "ga-1"), member("rt-2", "c-2", "ga-1"), member("rt-3", "c-3", "ga-2")}
}

// newBackend makes a Provisioner without a network.
func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{t: t, now: noon}
	b.Provisioner = provisioner.New(members(), b.clock, func() provisioner.Settings {
		b.mu.Lock()
		defer b.mu.Unlock()
		return provisioner.Settings{Lasting: lasting, Plan: b.plan}
	})
	return b
}

// start makes one that listens until the test ends.
func start(t *testing.T) *backend {
	t.Helper()
	b := newBackend(t)
	server := httptest.NewServer(b.Provisioner)
	t.Cleanup(server.Close)
	b.url, b.client = server.URL, server.Client()
	return b
}

func (b *backend) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// pass lets time pass.
func (b *backend) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// faults puts a plan in force, written in YAML.
func (b *backend) faults(text string) {
	b.t.Helper()
	plan, err := faults.Parse([]byte(text))
	require.NoError(b.t, err)
	b.mu.Lock()
	b.plan = plan
	b.mu.Unlock()
	b.SetPlan(plan)
}

// answer is what came back for a request.
type answer struct {
	Status int
	Header http.Header
	Text   string
	Data   map[string]any `json:"data"`
	Errors []struct {
		Message    string         `json:"message"`
		Path       []any          `json:"path"`
		Extensions map[string]any `json:"extensions"`
	} `json:"errors"`
}

// at digs in the data of an answer.
func (a answer) at(path ...string) any {
	var value any = a.Data
	for _, key := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}

// send posts a body in the name of a tenant, and returns an error where there is
// no answer.
func (b *backend) send(tenant string, body []byte) (answer, error) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url, bytes.NewReader(body))
	require.NoError(b.t, err)
	request.Header.Set("tenant", tenant)
	response, err := b.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{Status: response.StatusCode, Header: response.Header, Text: string(text)}
	_ = json.Unmarshal(text, &a) // Some answers are no JSON.
	return a, nil
}

// try asks with a query and its variables.
func (b *backend) try(tenant, query string, variables map[string]any) (answer, error) {
	b.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(b.t, err)
	return b.send(tenant, body)
}

func (b *backend) ask(tenant, query string, variables map[string]any) answer {
	b.t.Helper()
	a, err := b.try(tenant, query, variables)
	require.NoError(b.t, err)
	return a
}

// The documents are those that an upgrade needs.
const (
	operationPart  = ` fragment O on OperationStatus { id operation state message runtimeID lastError { errMessage reason component } }`
	statusQuery    = `query($id: String!) { runtimeStatus(id: $id) { lastOperationStatus { ...O } runtimeConfiguration { clusterConfig { kubernetesVersion machineImage machineImageVersion } kymaConfig { version profile components { component namespace sourceURL configuration { key value secret } } configuration { key value secret } } } } }` + operationPart
	operationQuery = `query($id: String!) { runtimeOperationStatus(id: $id) { ...O } }` + operationPart
	upgradeRuntime = `mutation($id: String!, $config: UpgradeRuntimeInput!) { upgradeRuntime(id: $id, config: $config) { ...O } }` + operationPart
	upgradeShoot   = `mutation($id: String!, $config: UpgradeShootInput!) { upgradeShoot(id: $id, config: $config) { ...O } }` + operationPart
)

func toKyma(version string) map[string]any {
	return map[string]any{"kymaConfig": map[string]any{"version": version, "components": []any{}}}
}

func toKubernetes(version string) map[string]any {
	return map[string]any{"gardenerConfig": map[string]any{"kubernetesVersion": version}}
}

// begin starts an upgrade of Kyma in a runtime of the first account, and returns
// the ID of its operation.
func (b *backend) begin(runtime, version string) string {
	b.t.Helper()
	a := b.ask("ga-1", upgradeRuntime, map[string]any{"id": runtime, "config": toKyma(version)})
	require.Empty(b.t, a.Errors)
	id, ok := a.at("upgradeRuntime", "id").(string)
	require.True(b.t, ok, a.Text)
	return id
}

// last returns the newest operation of a runtime of the first account.
func (b *backend) last(runtime string) map[string]any {
	b.t.Helper()
	last, ok := b.status(runtime).at("runtimeStatus", "lastOperationStatus").(map[string]any)
	require.True(b.t, ok)
	return last
}

func (b *backend) status(runtime string) answer {
	b.t.Helper()
	a := b.ask("ga-1", statusQuery, map[string]any{"id": runtime})
	require.Empty(b.t, a.Errors)
	return a
}

// operation returns an operation of a runtime of the first account.
func (b *backend) operation(id string) map[string]any {
	b.t.Helper()
	a := b.ask("ga-1", operationQuery, map[string]any{"id": id})
	require.Empty(b.t, a.Errors)
	operation, ok := a.at("runtimeOperationStatus").(map[string]any)
	require.True(b.t, ok)
	return operation
}

// accepted counts the upgrades that were begun.
func (b *backend) accepted() int {
	count := 0
	for _, m := range b.Mutations() {
		if m.Accepted {
			count++
		}
	}
	return count
}
