package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/orchestration"
)

// reader answers questions as a test wants it; what the test does not set must not be asked.
type reader struct {
	fleet.Reader
	orchestration func(ctx context.Context, id string) (fleet.Orchestration, error)
}

func (r reader) Orchestration(ctx context.Context, id string) (fleet.Orchestration, error) {
	return r.orchestration(ctx, id)
}

// asking makes an API whose orchestrations come from a function.
func asking(t *testing.T, get func(ctx context.Context, id string) (fleet.Orchestration, error), change ...func(*httpapi.Options)) *fixture {
	t.Helper()
	return newFixture(t, append(change, func(o *httpapi.Options) { o.Reader = reader{orchestration: get} })...)
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.Equal(t, "abc-1.2_3", f.get("/runtimes", "X-Request-ID", "abc-1.2_3").header.Get("X-Request-Id"))
	require.Contains(t, f.log.String(), "request_id=abc-1.2_3")
	seen := map[string]bool{}
	for _, id := range []string{"", "a b", "a\"b", strings.Repeat("x", 129), "é", "{{x}}"} {
		got := f.get("/runtimes", "X-Request-ID", id).header.Get("X-Request-Id")
		require.Regexp(t, `^[0-9a-f-]{36}$`, got)
		require.False(t, seen[got])
		seen[got] = true
	}
}

func TestChangesAreRecordedWithTheirUserAndRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.post("/upgrade/cluster", `{"targets":{"include":[{"target":"all"}]}}`, "X-Request-ID", "req-7")
	events := read[[]orchestration.Event](t, f.get("/events"))
	require.Len(t, events, 1)
	require.Equal(t, httpapi.LocalUser, events[0].User)
	require.Equal(t, "req-7", events[0].RequestID)
}

func TestEveryAnswerHasTheHeadersThatKeepBrowsersSafe(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, r := range []reply{f.get("/healthz"), f.get("/nothing"), f.get("/runtimes?x=1"), f.get("/runtimes", "Origin", "https://evil.example")} {
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			require.Equal(t, want, r.header.Get(name))
		}
		require.Empty(t, r.header.Get("Access-Control-Allow-Origin"))
	}
}

// A web page in the operator's browser can send requests to the loopback interface, under a name that resolves to it or from another origin.
func TestWebPagesCannotReachAServerWithoutALogin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for host, fine := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST:1": true, "127.0.0.1": true, "127.8.8.8:80": true, "[::1]:8080": true, "[::1]": true,
		"evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example:8080": false, "": false, "10.0.0.1:8080": false, "0.0.0.0": false,
		"[::ffff:127.0.0.1]:1": true, "[::1%eth0]:1": false, "localhost:8080@evil.example": false,
	} {
		r := request(http.MethodGet, "/orchestrations", nil)
		r.Host = host
		want := http.StatusForbidden
		if fine {
			want = http.StatusOK
		}
		require.Equal(t, want, f.send(r).status, host)
	}
	body := `{"targets":{"include":[{"target":"all"}]}}`
	for _, headers := range [][]string{
		{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.example", "Content-Type", "text/plain"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
	} {
		problem(t, f.post("/upgrade/cluster", body, headers...), http.StatusForbidden, "")
		for _, path := range []string{"/orchestrations", "/healthz", "/metrics", "/nothing"} {
			problem(t, f.get(path, headers...), http.StatusForbidden, "")
		}
	}
	for _, headers := range [][]string{{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://127.0.0.1:8080"}, nil} {
		require.Equal(t, http.StatusOK, f.get("/orchestrations", headers...).status, headers)
	}
	require.Zero(t, f.orchestrations())
	require.Equal(t, http.StatusAccepted, f.post("/upgrade/cluster", body, "Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:8080").status)

	far := request(http.MethodGet, "/orchestrations", nil)
	far.RemoteAddr = "192.0.2.1:4711"
	problem(t, f.send(far), http.StatusForbidden, "")
}

func TestAServerWithLoginsIsReachedUnderAnyName(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) {
		o.Loopback = false
		o.Authenticator = identity{who: httpapi.Identity{User: "u", Roles: []httpapi.Role{httpapi.RoleAdmin}}}
	})
	r := request(http.MethodGet, "/orchestrations", nil)
	r.Host, r.RemoteAddr = "swell.example", "192.0.2.1:4711"
	require.Equal(t, http.StatusOK, f.send(r).status)
	write := request(http.MethodPost, "/upgrade/cluster", strings.NewReader(`{}`), "Origin", "https://evil.example")
	problem(t, f.send(write), http.StatusForbidden, "")
	problem(t, f.get("/openapi.json", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"), http.StatusForbidden, "")
	problem(t, f.get("/openapi.json", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"), http.StatusForbidden, "")
	require.Equal(t, http.StatusOK, f.get("/openapi.json", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document").status, "a link leads here")
}

func TestErrorsBecomeProblemsInOnePlace(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial tcp 10.1.2.3:5432: password=hunter2")
	for _, test := range []struct {
		err    error
		status int
		field  string
	}{
		{fleet.Invalidf("version", "is too old"), http.StatusBadRequest, "version"},
		{fleet.NotFoundf("there is none"), http.StatusNotFound, ""},
		{fleet.Conflictf("is canceling"), http.StatusConflict, ""},
		{&fleet.Error{Kind: fleet.KindForbidden, Message: "not yours"}, http.StatusForbidden, ""},
		{fleet.Unavailable("the database cannot be reached", secret), http.StatusServiceUnavailable, ""},
		{&fleet.Error{Kind: fleet.KindInternal, Message: "the store failed", Err: secret}, http.StatusInternalServerError, ""},
		{secret, http.StatusInternalServerError, ""},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, ""},
		{fleet.ErrFenced, http.StatusInternalServerError, ""},
	} {
		f := asking(t, func(context.Context, string) (fleet.Orchestration, error) { return fleet.Orchestration{}, test.err })
		r := f.get("/orchestrations/o-1")
		problem(t, r, test.status, test.field)
		require.NotContains(t, r.text, "hunter2")
		require.Equal(t, test.status == http.StatusServiceUnavailable, r.header.Get("Retry-After") != "")
		require.Equal(t, 1, strings.Count(f.log.String(), "msg=request "), "an error is one line in the log")
		require.Contains(t, f.log.String(), "error=")
	}
}

func TestAPanicIsAnsweredWithoutItsStack(t *testing.T) {
	t.Parallel()
	f := asking(t, func(context.Context, string) (fleet.Orchestration, error) { panic("index out of hunter2") })
	r := f.get("/orchestrations/o-1")
	problem(t, r, http.StatusInternalServerError, "")
	require.NotContains(t, r.text, "hunter2")
	require.Contains(t, f.log.String(), "request handler panicked")
	require.Contains(t, f.log.String(), "middleware_test.go")

	f = asking(t, func(context.Context, string) (fleet.Orchestration, error) { panic(http.ErrAbortHandler) })
	require.PanicsWithError(t, http.ErrAbortHandler.Error(), func() { f.get("/orchestrations/o-1") })
}

func TestTextFromOutsideIsOneLineInTheLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.get("/orchestrations/a%0Alevel=ERROR%20msg=forged" + strings.Repeat("x", 1000))
	require.Equal(t, 1, strings.Count(f.log.String(), "\n"))
	require.Less(t, len(f.log.String()), 1500)
}

func TestASlowRequestIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	slow := func(ctx context.Context, _ string) (fleet.Orchestration, error) {
		<-ctx.Done()
		return fleet.Orchestration{}, ctx.Err()
	}
	f := asking(t, slow, func(o *httpapi.Options) { o.Timeout = time.Minute })
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		problem(t, f.get("/orchestrations/o-1"), http.StatusServiceUnavailable, "")
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

// When more requests come than can be served, the others wait for a while and are then told so; health is not asked to wait.
func TestTooManyRequestsAreToldSo(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	entered := make(chan struct{}, 2)
	f := asking(t, func(context.Context, string) (fleet.Orchestration, error) {
		entered <- struct{}{}
		<-release
		return fleet.Orchestration{}, fleet.NotFoundf("there is none")
	}, func(o *httpapi.Options) { o.MaxInFlight, o.MaxWait = 2, time.Millisecond })
	replies := make(chan reply, 2)
	for range 2 {
		go func() { replies <- f.get("/orchestrations/o-1") }()
		<-entered
	}
	r := f.get("/orchestrations/o-1")
	problem(t, r, http.StatusTooManyRequests, "")
	require.NotEmpty(t, r.header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, f.get("/healthz").status)
	close(release)
	for range 2 {
		require.Equal(t, http.StatusNotFound, (<-replies).status)
	}
	require.Equal(t, http.StatusNotFound, f.get("/orchestrations/o-1").status, "places are given back")
}

func TestReadinessNamesWhatFails(t *testing.T) {
	t.Parallel()
	var storeErr, sourceErr error
	f := newFixture(t, func(o *httpapi.Options) {
		o.Checks = []httpapi.Check{
			{Name: "store", Run: func(context.Context) error { return storeErr }},
			{Name: "source", Optional: true, Run: func(context.Context) error { return sourceErr }},
		}
	})
	ready := func() (int, httpapi.ReadyResponse) {
		r := f.get("/readyz")
		require.NotContains(t, r.text, "hunter2")
		return r.status, decode[httpapi.ReadyResponse](t, r)
	}
	status, got := ready()
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ready", got.Status)
	sourceErr = errors.New("hunter2")
	status, got = ready()
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "degraded", got.Status)
	storeErr = fleet.Unavailable("the database cannot be reached", errors.New("hunter2"))
	status, got = ready()
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, httpapi.ReadyResponse{Status: "not ready", Checks: []httpapi.CheckResult{
		{Name: "store", Status: "failed", Message: "the database cannot be reached"}, {Name: "source", Status: "failed", Optional: true},
	}}, got)
}

func TestMetricsCountAnswersByRouteAndNotByPath(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	f := newFixture(t, func(o *httpapi.Options) { o.Registerer = registry })
	for _, path := range []string{"/orchestrations/a", "/orchestrations/b", "/x", "/y", "/runtimes"} {
		f.get(path)
	}
	f.send(request("BREW", "/runtimes", nil))
	n, err := testutil.GatherAndCount(registry, "swell_http_request_duration_seconds")
	require.NoError(t, err)
	require.Equal(t, 4, n, "two orchestrations, two unknown paths, one list, one unknown method")
	_, err = httpapi.New(httpapi.Options{
		Reader: f.store, Commands: f.commands, Previewer: f.commands, Authenticator: httpapi.Loopback{}, Logger: discard, Clock: clock, Registerer: registry,
	})
	require.ErrorContains(t, err, "metrics")
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := httptest.NewServer(f.handler)
	t.Cleanup(server.Close)
	r, err := server.Client().Head(server.URL + "/runtimes")
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, int64(len(f.get("/runtimes").text)), r.ContentLength)
}
