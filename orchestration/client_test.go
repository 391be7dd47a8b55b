package orchestration_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/orchestration"
)

// request is what a test server saw of a request.
type request struct {
	Method, URI, ContentType, Authorization, Key, Body string
}

// recorder is a server that keeps what it is asked and answers with a handler.
type recorder struct {
	*httptest.Server

	mu       sync.Mutex
	requests []request
}

// newServer starts a recorder that the test stops.
func newServer(t *testing.T, answer http.HandlerFunc) *recorder {
	t.Helper()
	server := &recorder{}
	server.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		server.mu.Lock()
		server.requests = append(server.requests, request{
			Method: r.Method, URI: r.URL.RequestURI(), ContentType: r.Header.Get("Content-Type"),
			Authorization: r.Header.Get("Authorization"), Key: r.Header.Get("Idempotency-Key"), Body: string(body),
		})
		server.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// seen returns the requests so far.
func (s *recorder) seen() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// client returns a client of the server at base that makes short pauses only.
func (s *recorder) client(t *testing.T, base string) orchestration.ExtendedClient {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return orchestration.NewHastyClient(t.Context(), s.URL+base, oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "id-token"}),
		10*time.Second, &http.Client{Transport: transport})
}

// answer returns a handler that always answers the same.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// pagedOperations answers the pages of a list of operations, filtered by state.
func pagedOperations(defaultSize int, rows ...orchestration.OperationResponse) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		states := r.URL.Query()["state"]
		matching := []orchestration.OperationResponse{}
		for _, row := range rows {
			if len(states) == 0 || slices.Contains(states, row.State) {
				matching = append(matching, row)
			}
		}
		writePage(w, r.URL.Query(), defaultSize, matching)
	}
}

func writePage(w io.Writer, query url.Values, size int, rows []orchestration.OperationResponse) {
	page, _ := strconv.Atoi(query.Get("page"))
	if asked, err := strconv.Atoi(query.Get("page_size")); err == nil {
		size = asked
	}
	begin := min(max(page-1, 0)*size, len(rows))
	data := rows[begin:min(begin+size, len(rows))]
	_ = json.NewEncoder(w).Encode(orchestration.OperationResponseList{Data: data, Count: len(data), TotalCount: len(rows)})
}

func operationIDs(list orchestration.OperationResponseList) []string {
	ids := []string{}
	for _, row := range list.Data {
		ids = append(ids, row.OperationID)
	}
	return ids
}

// failedAndPending are five operations of one orchestration.
func failedAndPending() []orchestration.OperationResponse {
	return []orchestration.OperationResponse{
		{OperationID: "op-1", State: "failed"}, {OperationID: "op-2", State: "pending"}, {OperationID: "op-3", State: "failed"},
		{OperationID: "op-4", State: "pending"}, {OperationID: "op-5", State: "failed"},
	}
}

// Paging with a filter gives every operation once: the client sends the same filters with every page, also with those that it reads by
// itself, and leaves the caller's list of states alone.
func TestCase_P1(t *testing.T) {
	t.Parallel()
	server := newServer(t, pagedOperations(2, failedAndPending()...))
	client := server.client(t, "")
	states := make([]string, 0, 8)
	states = append(states, "failed", "pending")

	var sizes, totals []int
	var ids []string
	for page := 1; page <= 4; page++ {
		list, err := client.ListOperations("o-1", orchestration.ListParameters{Page: page, PageSize: 2, States: states})
		require.NoError(t, err)
		require.NotNil(t, list.Data)
		require.Equal(t, len(list.Data), list.Count)
		sizes, totals = append(sizes, list.Count), append(totals, list.TotalCount)
		ids = append(ids, operationIDs(list)...)
	}
	require.Equal(t, []int{2, 2, 1, 0}, sizes)
	require.Equal(t, []int{5, 5, 5, 5}, totals)
	require.Equal(t, []string{"op-1", "op-2", "op-3", "op-4", "op-5"}, ids)

	failed, err := client.ListOperations("o-1", orchestration.ListParameters{States: []string{"failed"}})
	require.NoError(t, err)
	require.Equal(t, []string{"op-1", "op-3", "op-5"}, operationIDs(failed))

	before := len(server.seen())
	list, err := client.ListOperations("o-1", orchestration.ListParameters{States: states})
	require.NoError(t, err)
	require.Equal(t, []string{"op-1", "op-2", "op-3", "op-4", "op-5"}, operationIDs(list))
	require.Equal(t, 5, list.Count)
	require.Equal(t, 5, list.TotalCount)
	for i, r := range server.seen()[before:] {
		require.Equal(t, "/orchestrations/o-1/operations?page="+strconv.Itoa(i+1)+"&state=failed&state=pending", r.URI)
	}
	require.Equal(t, []string{"failed", "pending"}, states)
	require.Equal(t, make([]string, 6), states[2:8], "the room behind the caller's list was written to")
}

// A retry sends what it was given and nothing more, whatever stands in the IDs; base addresses may end with a slash or have a path; an
// error holds the status and the server's reason.
func TestCase_CL2(t *testing.T) {
	t.Parallel()
	const retried = `{"orchestrationID":"o-1","retryShoots":["c-aa11"],"oldOperations":null,"invalidOperations":["nope"],"msg":"done"}`

	t.Run("the same call twice", func(t *testing.T) {
		t.Parallel()
		server := newServer(t, answer(http.StatusAccepted, retried))
		client := server.client(t, "")
		ids := []string{"op-1", "op-2"}
		for range 2 {
			response, err := client.RetryOrchestration("o-1", ids, false)
			require.NoError(t, err)
			require.Equal(t, orchestration.RetryResponse{
				OrchestrationID: "o-1", RetryShoots: []string{"c-aa11"}, InvalidOperations: []string{"nope"}, Msg: "done",
			}, response)
		}
		require.Equal(t, []string{"op-1", "op-2"}, ids)
		seen := server.seen()
		require.Len(t, seen, 2)
		require.NotEqual(t, seen[0].Key, seen[1].Key)
		for _, r := range seen {
			require.NotEmpty(t, r.Key)
			r.Key = ""
			require.Equal(t, request{
				Method: http.MethodPost, URI: "/orchestrations/o-1/retry", ContentType: "application/x-www-form-urlencoded",
				Authorization: "Bearer id-token", Body: "operation-id=op-1&operation-id=op-2",
			}, r)
		}
	})

	t.Run("values that need escaping", func(t *testing.T) {
		t.Parallel()
		server := newServer(t, answer(http.StatusAccepted, retried))
		client := server.client(t, "")
		ids := []string{"a&b=c", "with space", "ü+%"}
		_, err := client.RetryOrchestration("o/1 ?#", ids, true)
		require.NoError(t, err)
		r := server.seen()[0]
		form, err := url.ParseQuery(r.Body)
		require.NoError(t, err)
		require.Equal(t, url.Values{"operation-id": ids, "immediate": {"true"}}, form)
		require.Equal(t, "/orchestrations/o%2F1%20%3F%23/retry", r.URI)
	})

	t.Run("all failed operations at once", func(t *testing.T) {
		t.Parallel()
		server := newServer(t, answer(http.StatusAccepted, retried))
		_, err := server.client(t, "").RetryOrchestration("o-1", nil, true)
		require.NoError(t, err)
		require.Equal(t, "immediate=true", server.seen()[0].Body)
	})

	t.Run("base addresses", func(t *testing.T) {
		t.Parallel()
		server := newServer(t, answer(http.StatusOK, `{"data":[],"count":0,"totalCount":0}`))
		for base, want := range map[string]string{
			"": "/orchestrations?page=1", "/": "/orchestrations?page=1", "/api": "/api/orchestrations?page=1", "/api/v1//": "/api/v1/orchestrations?page=1",
		} {
			before := len(server.seen())
			list, err := server.client(t, base).ListOrchestrations(orchestration.ListParameters{})
			require.NoError(t, err)
			require.Equal(t, orchestration.StatusResponseList{Data: []orchestration.StatusResponse{}}, list)
			require.Equal(t, want, server.seen()[before].URI)
		}
	})

	t.Run("the reason of an error", func(t *testing.T) {
		t.Parallel()
		for _, test := range []struct {
			status       int
			body, reason string
		}{
			{http.StatusBadRequest, `{"error":"targets.include is empty"}`, "targets.include is empty"},
			{http.StatusBadRequest, `{"title":"Bad Request","status":400,"detail":"version is missing"}`, "version is missing"},
			{http.StatusConflict, `{"message":"orchestration o-1 is being canceled"}`, "orchestration o-1 is being canceled"},
			{http.StatusServiceUnavailable, "no healthy upstream\n", "no healthy upstream"},
			{http.StatusForbidden, "", ""},
		} {
			server := newServer(t, answer(test.status, test.body))
			client := server.client(t, "")
			_, retryErr := client.RetryOrchestration("o-1", nil, false)
			_, upgradeErr := client.UpgradeCluster(orchestration.Parameters{Targets: all()})
			_, getErr := client.GetOrchestration("o-1")
			for _, call := range []struct {
				err         error
				method, uri string
			}{
				{retryErr, http.MethodPost, "/orchestrations/o-1/retry"},
				{upgradeErr, http.MethodPost, "/upgrade/cluster"},
				{getErr, http.MethodGet, "/orchestrations/o-1"},
				{client.CancelOrchestration("o-1"), http.MethodPut, "/orchestrations/o-1/cancel"},
			} {
				var refused *orchestration.Error
				require.ErrorAs(t, call.err, &refused)
				require.Equal(t, orchestration.Error{
					Method: call.method, URL: server.URL + call.uri, Status: test.status, Reason: test.reason,
				}, *refused)
				require.ErrorContains(t, call.err, strconv.Itoa(test.status))
				require.ErrorContains(t, call.err, test.reason)
			}
		}
	})
}

func TestClientWithoutContextAndAuth(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(http.StatusAccepted, `{"orchestrationID":"o-1"}`))
	client := orchestration.NewClient(context.Background(), server.URL, nil)
	response, err := client.UpgradeKyma(orchestration.Parameters{Targets: all()})
	require.NoError(t, err)
	require.Equal(t, "o-1", response.OrchestrationID)
	seen := server.seen()[0]
	require.Empty(t, seen.Authorization)
	require.Equal(t, "/upgrade/kyma", seen.URI)
	_, extended := client.(orchestration.ExtendedClient)
	require.True(t, extended)
}

func TestAnHTTPClientMayCarryTheToken(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"orchestrationID":"o-1"}`) })
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	carrier := &http.Client{Transport: &oauth2.Transport{Base: transport, Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "carried"})}}
	for _, httpClient := range []*http.Client{carrier, nil} {
		status, err := orchestration.NewExtendedClientWithHTTP(t.Context(), server.URL, httpClient).GetOrchestration("o-1")
		require.NoError(t, err)
		require.Equal(t, "o-1", status.OrchestrationID)
	}
	seen := server.seen()
	require.Equal(t, "Bearer carried", seen[0].Authorization)
	require.Empty(t, seen[1].Authorization)
}
