// Package server starts Swell for tests: as a process of its own that can be killed, or inside the test program with a clock that can be set.
package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Clients talk to one server.
type Clients struct {
	// URL is the server's address.
	URL string

	orchestration.ExtendedClient
	runtimes runtime.Client
}

// connections go to the servers. They are not kept, so that none is left when a test program ends.
var connections = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}

func newClients(t testing.TB, url string) Clients {
	t.Helper()
	return Clients{
		URL:            url,
		ExtendedClient: orchestration.NewExtendedClient(t.Context(), url, nil),
		runtimes:       runtime.NewClientWithContext(t.Context(), url, connections),
	}
}

// ListRuntimes returns the runtimes that match.
func (c Clients) ListRuntimes(t testing.TB, p runtime.ListParameters) []runtime.RuntimeDTO {
	t.Helper()
	page, err := c.runtimes.ListRuntimes(p)
	require.NoError(t, err)
	return page.Data
}

// Answer is what a server answered.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Problem returns what the server says is wrong.
func (a Answer) Problem(t testing.TB) (field, detail string) {
	t.Helper()
	var p struct {
		Field  string `json:"field"`
		Detail string `json:"detail"`
	}
	a.Decode(t, &p)
	return p.Field, p.Detail
}

// Decode reads the body as JSON.
func (a Answer) Decode(t testing.TB, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.Body), into), a.Body)
}

// Send makes a request as it is given. Headers are given as name, value, name, value; Host sets the host.
func (c Clients) Send(t testing.TB, method, path, body string, headers ...string) Answer {
	t.Helper()
	answer, err := c.TrySend(t.Context(), method, path, body, headers...)
	require.NoError(t, err)
	return answer
}

// TrySend is Send for a server that may not answer.
func (c Clients) TrySend(ctx context.Context, method, path, body string, headers ...string) (Answer, error) {
	var reader io.Reader
	if body != "" {
		reader = bytes.NewReader([]byte(body))
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, reader)
	if err != nil {
		return Answer{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
			continue
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := connections.Do(request)
	if err != nil {
		return Answer{}, err
	}
	text, err := io.ReadAll(response.Body)
	return Answer{Status: response.StatusCode, Header: response.Header, Body: string(text)}, errors.Join(err, response.Body.Close())
}

// Upgrade starts an upgrade of clusters and returns the ID of the orchestration.
func (c Clients) Upgrade(t testing.TB, p orchestration.Parameters) string {
	t.Helper()
	response, err := c.UpgradeCluster(p)
	require.NoError(t, err)
	require.NotEmpty(t, response.OrchestrationID)
	return response.OrchestrationID
}

// Import imports runtimes.
func (c Clients) Import(t testing.TB, page runtime.RuntimesPage) {
	t.Helper()
	_, err := c.ImportRuntimes(page)
	require.NoError(t, err)
}

// Orchestration returns an orchestration.
func (c Clients) Orchestration(t testing.TB, id string) orchestration.StatusResponse {
	t.Helper()
	o, err := c.GetOrchestration(id)
	require.NoError(t, err)
	return o
}

// Operations returns the operations of an orchestration by Shoot name.
func (c Clients) Operations(t testing.TB, id string) map[string]orchestration.OperationResponse {
	t.Helper()
	list, err := c.ListOperations(id, orchestration.ListParameters{})
	require.NoError(t, err)
	byShoot := make(map[string]orchestration.OperationResponse, len(list.Data))
	for _, op := range list.Data {
		byShoot[op.ShootName] = op
	}
	require.Len(t, byShoot, len(list.Data), "each Shoot has one operation")
	return byShoot
}

// Ended waits until an orchestration has ended in a state, and returns it.
func (c Clients) Ended(t testing.TB, id, state string) orchestration.StatusResponse {
	t.Helper()
	return c.EndedWithin(t, await.Limit, id, state)
}

// EndedWithin is Ended with a limit of its own.
func (c Clients) EndedWithin(t testing.TB, limit time.Duration, id, state string) orchestration.StatusResponse {
	t.Helper()
	var o orchestration.StatusResponse
	await.Within(t, limit, "the end of the orchestration", func() (err error) {
		if o, err = c.GetOrchestration(id); err != nil {
			return err
		}
		switch o.State {
		case orchestration.Succeeded, orchestration.Failed, orchestration.Canceled:
			return nil
		default:
			return fmt.Errorf("it is %s: %s", o.State, o.Description)
		}
	})
	if o.State != state {
		for name, op := range c.Operations(t, id) {
			t.Logf("%s %s: %s", name, op.State, op.Description)
		}
	}
	require.Equal(t, state, o.State, o.Description)
	return o
}

// InState waits until the operation of a Shoot is in a state, and returns it.
func (c Clients) InState(t testing.TB, orchestrationID, shoot, state string) orchestration.OperationResponse {
	t.Helper()
	var op orchestration.OperationResponse
	await.That(t, shoot+" "+state, func() error {
		var ok bool
		if op, ok = c.Operations(t, orchestrationID)[shoot]; !ok || op.State != state {
			return fmt.Errorf("it is %q: %s", op.State, op.Description)
		}
		return nil
	})
	return op
}

// Know waits until the server knows a number of runtimes, whatever their state.
func (c Clients) Know(t testing.TB, n int) {
	t.Helper()
	await.That(t, "the runtimes are known", func() error {
		if got := len(c.ListRuntimes(t, runtime.ListParameters{States: []runtime.State{runtime.AllState}})); got != n {
			return fmt.Errorf("%d of %d are", got, n)
		}
		return nil
	})
}

// Swept waits until the server has looked twice through all rows for what may go on, so that what could have started has.
func (c Clients) Swept(t testing.TB) {
	t.Helper()
	before := c.Metric(t, sweeps)
	await.That(t, "two looks through all rows", func() error {
		if now := c.Metric(t, sweeps); now < before+2 {
			return fmt.Errorf("%v of them", now-before)
		}
		return nil
	})
}

const sweeps = `swell_engine_sweeps_total{result="ok"}`

// Metric returns the value of a metric, given with its labels; 0 when there is none.
func (c Clients) Metric(t testing.TB, name string) float64 {
	t.Helper()
	for line := range strings.Lines(c.Send(t, http.MethodGet, "/metrics", "").Body) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			require.NoError(t, err)
			return value
		}
	}
	return 0
}

// Ready waits until every check of the server is fine.
func (c Clients) Ready(t testing.TB) {
	t.Helper()
	c.readiness(t, `"status":"ready"`)
}

// Degraded waits until the server says that it serves, and that something which it does not need for that is amiss.
func (c Clients) Degraded(t testing.TB) {
	t.Helper()
	c.readiness(t, `"status":"degraded"`)
}

func (c Clients) readiness(t testing.TB, status string) {
	t.Helper()
	await.That(t, "the server's "+status, func() error {
		answer, err := c.TrySend(t.Context(), http.MethodGet, "/readyz", "")
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK || !strings.Contains(answer.Body, status) {
			return errors.New(answer.Body)
		}
		return nil
	})
}
