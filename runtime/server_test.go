package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/apiclient"
)

// broker is a server of GET /runtimes that can be made to misbehave.
type broker struct {
	// before runs before each answer, with the number of the request from 1 on. It may change the runtimes. When it returns true, it has
	// answered itself.
	before func(request int, w http.ResponseWriter, r *http.Request) bool
	// total is the total count that is answered; nil means the right one.
	total func() int

	mu       sync.Mutex
	runtimes []RuntimeDTO
	queries  []url.Values
}

const brokerPageSize = 100

func (b *broker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	query := r.URL.Query()
	b.queries = append(b.queries, query)
	if b.before != nil && b.before(len(b.queries), w, r) {
		return
	}
	number := intOr(query.Get("page"), 1)
	size := intOr(query.Get("page_size"), brokerPageSize)
	begin := min((number-1)*size, len(b.runtimes))
	page := RuntimesPage{Data: b.runtimes[begin:min(begin+size, len(b.runtimes))], TotalCount: len(b.runtimes)}
	page.Count = len(page.Data)
	if b.total != nil {
		page.TotalCount = b.total()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page)
}

// seen returns the queries of all requests.
func (b *broker) seen() []url.Values {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.queries)
}

func intOr(text string, fallback int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return fallback
}

// client starts a server and returns a client of it whose pauses are too short to notice.
func (b *broker) client(t testing.TB) Client {
	t.Helper()
	return b.clientWithContext(t, context.Background())
}

func (b *broker) clientWithContext(t testing.TB, ctx context.Context) Client { //nolint:revive // t comes first in tests
	t.Helper()
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return newClient(ctx, apiclient.Options{
		BaseURL: server.URL, HTTPClient: server.Client(), FirstPause: time.Microsecond, LongestPause: time.Millisecond,
	})
}

// fleet makes runtimes that look like real ones.
func fleet(n int) []RuntimeDTO {
	runtimes := make([]RuntimeDTO, 0, n)
	for i := range n {
		provisioned := op(fmt.Sprintf("op-%d", i), "succeeded", 10)
		provisioned.FinishedStages = []string{"start", "create_runtime", "check_runtime", "post_actions"}
		upgraded := op(fmt.Sprintf("op-%d-up", i), "succeeded", 11)
		runtimes = append(runtimes, RuntimeDTO{
			InstanceID: fmt.Sprintf("0f29d1b4-0000-4000-8000-%012d", i), RuntimeID: fmt.Sprintf("7c3b1d52-0000-4000-8000-%012d", i),
			GlobalAccountID: "ga-blue", SubAccountID: fmt.Sprintf("sa-%d", i%50), ProviderRegion: "eu-demo-1", SubAccountRegion: "cf-eu10",
			ShootName: fmt.Sprintf("c-%05d", i), ServicePlanName: "aws", Provider: "aws", UserID: "operator@example.com",
			Status: RuntimeStatus{
				CreatedAt: at(10), ModifiedAt: at(11), State: StateSucceeded,
				Provisioning: &provisioned, UpgradingCluster: data(upgraded),
			},
		})
	}
	return runtimes
}

func instanceIDs(page RuntimesPage) []string {
	ids := make([]string, 0, len(page.Data))
	for i := range page.Data {
		ids = append(ids, page.Data[i].InstanceID)
	}
	return ids
}

func requireWholeFleet(t *testing.T, want []RuntimeDTO, got RuntimesPage) {
	t.Helper()
	require.Equal(t, instanceIDs(RuntimesPage{Data: want}), instanceIDs(got))
	require.Equal(t, len(want), got.Count)
	require.Equal(t, len(want), got.TotalCount)
}
