package runtime

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/internal/apiclient"
)

func TestListRuntimesReadsAllPages(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 99, 100, 101, 250} {
		b := &broker{runtimes: fleet(n)}
		page, err := b.client(t).ListRuntimes(ListParameters{})
		require.NoError(t, err)
		require.NotNil(t, page.Data)
		requireWholeFleet(t, b.runtimes, page)
	}
}

func TestListRuntimesReadsOnePageWhenPageAndSizeAreGiven(t *testing.T) {
	t.Parallel()
	b := &broker{runtimes: fleet(5)}
	client := b.client(t)
	page, err := client.ListRuntimes(ListParameters{Page: 2, PageSize: 2})
	require.NoError(t, err)
	require.Equal(t, instanceIDs(RuntimesPage{Data: b.runtimes[2:4]}), instanceIDs(page))
	require.Equal(t, 2, page.Count)
	require.Equal(t, 5, page.TotalCount)

	page, err = client.ListRuntimes(ListParameters{Page: 4, PageSize: 2})
	require.NoError(t, err)
	require.Equal(t, RuntimesPage{Data: []RuntimeDTO{}, TotalCount: 5}, page)
	require.Len(t, b.seen(), 2)
}

func TestListRuntimesKeepsThePageSizeThatWasGiven(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]struct {
		params   ListParameters
		pageSize string
		requests int
	}{
		"nothing given":   {ListParameters{}, "", 2},
		"page size given": {ListParameters{PageSize: 2}, "2", 4},
		"only page given": {ListParameters{Page: 3}, "", 2},
	} {
		b := &broker{runtimes: fleet(5)}
		page, err := b.client(t).ListRuntimes(want.params)
		require.NoError(t, err, params)
		requireWholeFleet(t, b.runtimes, page)
		require.Len(t, b.seen(), want.requests, params)
		for i, query := range b.seen() {
			require.Equal(t, want.pageSize, query.Get("page_size"), params)
			require.Equal(t, i+1, intOr(query.Get("page"), 0), params)
		}
	}
}

func TestListRuntimesSendsItsFilters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		params ListParameters
		want   url.Values
	}{
		"none":                       {ListParameters{}, url.Values{}},
		"last operation":             {ListParameters{OperationDetail: LastOperation}, url.Values{"op_detail": {"last"}}},
		"all operations":             {ListParameters{OperationDetail: AllOperation}, url.Values{"op_detail": {"all"}}},
		"configurations":             {ListParameters{KymaConfig: true, ClusterConfig: true}, url.Values{"kyma_config": {"true"}, "cluster_config": {"true"}}},
		"expired":                    {ListParameters{Expired: true}, url.Values{"expired": {"true"}}},
		"without a Shoot":            {ListParameters{WithoutShoot: true}, url.Values{"without_shoot": {"true"}}},
		"events are not asked for":   {ListParameters{Events: "all"}, url.Values{}},
		"an empty value stays":       {ListParameters{Plans: []string{""}}, url.Values{"plan": {""}}},
		"special characters survive": {ListParameters{Shoots: []string{"c&1=2", "c 3+é"}}, url.Values{"shoot": {"c&1=2", "c 3+é"}}},
		"every list": {
			ListParameters{
				GlobalAccountIDs: []string{"ga-1", "ga-2"}, SubAccountIDs: []string{"sa-1"}, InstanceIDs: []string{"i-1", "i-2", "i-3"},
				RuntimeIDs: []string{"rt-1"}, Regions: []string{"eu-demo-1"}, Shoots: []string{"c-1"}, Plans: []string{"aws", "trial"},
				States: []State{StateSuspended, AllState},
			},
			url.Values{
				"account": {"ga-1", "ga-2"}, "subaccount": {"sa-1"}, "instance_id": {"i-1", "i-2", "i-3"}, "runtime_id": {"rt-1"},
				"region": {"eu-demo-1"}, "shoot": {"c-1"}, "plan": {"aws", "trial"}, "state": {"suspended", "all"},
			},
		},
	} {
		b := &broker{runtimes: fleet(3)}
		test.params.PageSize = 2
		_, err := b.client(t).ListRuntimes(test.params)
		require.NoError(t, err, name)
		require.Len(t, b.seen(), 3, name)
		for _, query := range b.seen() {
			query.Del("page")
			query.Del("page_size")
			require.Equal(t, test.want, query, name)
		}
	}
}

func TestListRuntimesRefusesNegativePages(t *testing.T) {
	t.Parallel()
	b := &broker{}
	for _, params := range []ListParameters{{Page: -1}, {PageSize: -1}, {Page: 1, PageSize: -5}} {
		_, err := b.client(t).ListRuntimes(params)
		require.ErrorContains(t, err, "must not be negative")
	}
	require.Empty(t, b.seen())
}

// Walking through pages of two with two states: the same filters on every page, every runtime once, and the caller's list as it was.
func TestCase_P1(t *testing.T) {
	t.Parallel()
	b := &broker{runtimes: fleet(5)}
	states := make([]State, 2, 10)
	states[0], states[1] = StateFailed, StateError
	page, err := b.client(t).ListRuntimes(ListParameters{States: states, PageSize: 2})
	require.NoError(t, err)
	requireWholeFleet(t, b.runtimes, page)
	require.Equal(t, []State{StateFailed, StateError}, states)
	require.Equal(t, make([]State, 8), states[2:cap(states)])
	require.Equal(t, []url.Values{
		{"state": {"failed", "error"}, "page": {"1"}, "page_size": {"2"}},
		{"state": {"failed", "error"}, "page": {"2"}, "page_size": {"2"}},
		{"state": {"failed", "error"}, "page": {"3"}, "page_size": {"2"}},
		{"state": {"failed", "error"}, "page": {"4"}, "page_size": {"2"}},
	}, b.seen())
}

// A base address with or without slash and path prefix gives the same clean path, and the error holds the server's reason, whether it
// is JSON or plain text.
func TestCase_CL2(t *testing.T) {
	t.Parallel()
	var paths []string
	reason := `{"error":"state is unknown: finished"}`
	status := http.StatusBadRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, reason)
	}))
	t.Cleanup(server.Close)

	for suffix, path := range map[string]string{"": "/runtimes", "/": "/runtimes", "/api": "/api/runtimes", "/api/": "/api/runtimes"} {
		paths = nil
		_, err := NewClient(server.URL+suffix, server.Client()).ListRuntimes(ListParameters{})
		var answer *Error
		require.ErrorAs(t, err, &answer)
		require.Equal(t, []string{path}, paths)
		require.Equal(t, Error{
			Method: http.MethodGet, URL: server.URL + path + "?page=1", Status: http.StatusBadRequest, Reason: "state is unknown: finished",
		}, *answer)
		require.EqualError(t, err, "list runtimes: GET "+server.URL+path+"?page=1: status 400 Bad Request: state is unknown: finished")
	}

	reason, status = "no healthy upstream\n", http.StatusServiceUnavailable
	client := newClient(t.Context(), apiclient.Options{BaseURL: server.URL, HTTPClient: server.Client(), FirstPause: time.Microsecond, Tries: 2})
	_, err := client.ListRuntimes(ListParameters{})
	var answer *Error
	require.ErrorAs(t, err, &answer)
	require.Equal(t, http.StatusServiceUnavailable, answer.Status)
	require.Equal(t, "no healthy upstream", answer.Reason)
}

func TestABaseURLThatCannotBeUsedIsReported(t *testing.T) {
	t.Parallel()
	_, err := NewClient("keb.example", nil).ListRuntimes(ListParameters{})
	require.ErrorContains(t, err, "list runtimes: base URL keb.example: the scheme must be http or https")
}

func TestTheTokenOfTheHTTPClientIsSent(t *testing.T) {
	t.Parallel()
	b := &broker{before: func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") != "Bearer id-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, server.Client())
	httpClient := oauth2.NewClient(ctx, oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "id-token"}))

	_, err := NewClient(server.URL, httpClient).ListRuntimes(ListParameters{})
	require.NoError(t, err)
	_, err = NewClient(server.URL, server.Client()).ListRuntimes(ListParameters{})
	var answer *Error
	require.ErrorAs(t, err, &answer)
	require.Equal(t, http.StatusUnauthorized, answer.Status)
}

func TestANilHTTPClientWorks(t *testing.T) {
	t.Parallel()
	b := &broker{runtimes: fleet(3), before: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		// The shared transport must not keep a connection that outlives the test.
		w.Header().Set("Connection", "close")
		return false
	}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	page, err := NewClient(server.URL, nil).ListRuntimes(ListParameters{})
	require.NoError(t, err)
	requireWholeFleet(t, b.runtimes, page)
}

func TestListRuntimesIsNotFooledByTotals(t *testing.T) {
	t.Parallel()
	calls := 0
	for name, total := range map[string]func() int{
		"zero":      func() int { return 0 },
		"too small": func() int { return 3 },
		"too large": func() int { return 10_000 },
		"erratic":   func() int { calls++; return calls * 31 % 17 },
	} {
		b := &broker{runtimes: fleet(7), total: total}
		page, err := b.client(t).ListRuntimes(ListParameters{PageSize: 2})
		require.NoError(t, err, name)
		requireWholeFleet(t, b.runtimes, page)
	}
}

func TestListRuntimesWhileTheFleetChanges(t *testing.T) {
	t.Parallel()
	all := fleet(9)
	for name, test := range map[string]struct {
		change func(runtimes []RuntimeDTO) []RuntimeDTO
		want   []RuntimeDTO
	}{
		"a runtime is added":            {func(r []RuntimeDTO) []RuntimeDTO { return append(r, all[8]) }, all},
		"a runtime is removed in front": {func(r []RuntimeDTO) []RuntimeDTO { return r[1:] }, all[:8]},
		"two runtimes are removed in front": {
			func(r []RuntimeDTO) []RuntimeDTO { return r[2:] }, all[:8],
		},
		"a runtime is removed behind": {func(r []RuntimeDTO) []RuntimeDTO { return r[:7] }, all[:7]},
		"a runtime comes again":       {func(r []RuntimeDTO) []RuntimeDTO { return append(slices.Clone(r[:1]), r...) }, all[:8]},
	} {
		b := &broker{runtimes: slices.Clone(all[:8])}
		b.before = func(request int, _ http.ResponseWriter, _ *http.Request) bool {
			if request == 3 {
				b.runtimes = test.change(b.runtimes)
			}
			return false
		}
		page, err := b.client(t).ListRuntimes(ListParameters{PageSize: 2})
		require.NoError(t, err, name)
		got := instanceIDs(page)
		slices.Sort(got)
		require.Equal(t, instanceIDs(RuntimesPage{Data: test.want}), got, name)
		require.Equal(t, len(test.want), page.Count, name)
	}
}

func TestListRuntimesEndsWithAnErrorWhenTheServerKnowsNoPages(t *testing.T) {
	t.Parallel()
	b := &broker{before: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, `{"data":[{"instanceID":"i-1"},{"instanceID":"i-2"}],"count":2,"totalCount":2}`)
		return true
	}}
	page, err := b.client(t).ListRuntimes(ListParameters{})
	require.ErrorContains(t, err, "does not seem to know pages")
	require.Zero(t, page)
}

func TestListRuntimesReturnsNoPart(t *testing.T) {
	t.Parallel()
	for name, third := range map[string]func(w http.ResponseWriter){
		"500":             func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"404":             func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"garbage":         func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"garbage after":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"data":[],"count":0,"totalCount":0}]`) },
		"not a page":      func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"error":"database is away"}`) },
		"null":            func(w http.ResponseWriter) { _, _ = io.WriteString(w, `null`) },
		"not understood":  func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"data":{"instanceID":"i-1"}}`) },
		"cut on each try": func(w http.ResponseWriter) { cut(w) },
		"503 on each try": func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
	} {
		b := &broker{runtimes: fleet(7), before: func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Get("page") != "3" {
				return false
			}
			third(w)
			return true
		}}
		page, err := b.client(t).ListRuntimes(ListParameters{PageSize: 2})
		require.ErrorContains(t, err, "list runtimes: ", name)
		require.ErrorContains(t, err, "page=3", name)
		require.Zero(t, page, name)
	}
}

// cut breaks off in the middle of the answer.
func cut(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"data":[{"instanceID":"i-1"}`)
}

func TestListRuntimesSurvivesPassingTrouble(t *testing.T) {
	t.Parallel()
	trouble := map[int]func(w http.ResponseWriter){
		1: func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) },
		3: func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		4: cut,
		6: func(w http.ResponseWriter) { http.Error(w, "no healthy upstream", http.StatusServiceUnavailable) },
		7: func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
		8: func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) },
	}
	b := &broker{runtimes: fleet(7), before: func(request int, w http.ResponseWriter, _ *http.Request) bool {
		step, ok := trouble[request]
		if ok {
			step(w)
		}
		return ok
	}}
	page, err := b.client(t).ListRuntimes(ListParameters{PageSize: 2})
	require.NoError(t, err)
	requireWholeFleet(t, b.runtimes, page)
}

func TestListRuntimesWaitsAsLongAsTheServerAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &broker{runtimes: fleet(3), before: func(request int, w http.ResponseWriter, _ *http.Request) bool {
			if request != 2 {
				return false
			}
			w.Header().Set("Retry-After", "40")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}}
		begin := time.Now()
		page, err := NewClient("http://keb.example", &http.Client{Transport: inMemory{b}}).ListRuntimes(ListParameters{PageSize: 2})
		require.NoError(t, err)
		requireWholeFleet(t, b.runtimes, page)
		require.Equal(t, 40*time.Second, time.Since(begin))
	})
}

// inMemory calls the broker without a network, so that a synctest bubble can move its clock.
type inMemory struct{ broker *broker }

func (m inMemory) RoundTrip(request *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	m.broker.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

func TestTheContextEndsTheWalk(t *testing.T) {
	t.Parallel()
	t.Run("between pages", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		b := &broker{runtimes: fleet(9), before: func(request int, _ http.ResponseWriter, _ *http.Request) bool {
			if request == 2 {
				cancel()
			}
			return false
		}}
		page, err := b.clientWithContext(t, ctx).ListRuntimes(ListParameters{PageSize: 2})
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, page)
		require.LessOrEqual(t, len(b.seen()), 2)
	})
	t.Run("in a slow body", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		shutdown := errors.New("shutting down")
		b := &broker{before: func(_ int, w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.WriteString(w, `{"data":[`)
			_ = http.NewResponseController(w).Flush()
			cancel(shutdown)
			<-r.Context().Done()
			return true
		}}
		page, err := b.clientWithContext(t, ctx).ListRuntimes(ListParameters{})
		require.ErrorIs(t, err, shutdown)
		require.Zero(t, page)
	})
	t.Run("in a pause", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			b := &broker{before: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}}
			begin := time.Now()
			_, err := NewClientWithContext(ctx, "http://keb.example", &http.Client{Transport: inMemory{b}}).ListRuntimes(ListParameters{})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 5*time.Second, time.Since(begin))
		})
	})
}

func TestAClientServesManyAtOnce(t *testing.T) {
	t.Parallel()
	b := &broker{runtimes: fleet(25)}
	client := b.client(t)
	results := make(chan error, 8)
	for range cap(results) {
		go func() {
			page, err := client.ListRuntimes(ListParameters{PageSize: 10})
			if err == nil && len(page.Data) != 25 {
				err = errors.New("a part was returned")
			}
			results <- err
		}()
	}
	for range cap(results) {
		require.NoError(t, <-results)
	}
}

func TestErrorsNeverHoldThePassword(t *testing.T) {
	t.Parallel()
	b := &broker{before: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	base := strings.Replace(server.URL, "http://", "http://operator:s3cret@", 1)
	_, err := NewClient(base, server.Client()).ListRuntimes(ListParameters{})
	var answer *Error
	require.ErrorAs(t, err, &answer)
	require.Equal(t, server.URL+"/runtimes?page=1", answer.URL)
	require.NotContains(t, err.Error(), "s3cret")
}
