package httpapi_test

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/auth"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
	"github.com/swell-fleet/swell/orchestration"
)

// withLogins makes an API whose callers have to show tokens of a provider.
func withLogins(t testing.TB, change ...func(*httpapi.Options)) (*fixture, *issuer.Issuer) {
	t.Helper()
	i := issuer.New(t, "https://login.example", clock)
	v, err := auth.NewVerifier(auth.Options{
		Issuers: []string{i.URL}, Audiences: []string{issuer.Audience}, Client: issuer.Client(i), Logger: discard, Clock: clock,
		Groups: auth.Groups{Admin: []string{"runtimeAdmin"}, Operator: []string{"runtimeOperator"}},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	f := newFixture(t, append([]func(*httpapi.Options){func(o *httpapi.Options) {
		o.Loopback, o.Authenticator = false, httpapi.Tokens{Verifier: v}
		o.Checks = []httpapi.Check{{Name: "identity providers", Optional: true, Run: v.Healthy}}
	}}, change...)...)
	return f, i
}

// prefixes reads networks that are separated by blanks.
func prefixes(t testing.TB, text string) []netip.Prefix {
	t.Helper()
	var list []netip.Prefix
	for field := range strings.FieldsSeq(text) {
		prefix, err := netip.ParsePrefix(field)
		require.NoError(t, err)
		list = append(list, prefix)
	}
	return list
}

// call makes a good request to a route.
func call(t *testing.T, route httpapi.RouteInfo, headers ...string) *http.Request {
	t.Helper()
	var body string
	switch route.ID {
	case "importRuntimes":
		body = page(t, document("rt-1", "c-1"))
	case "upgradeKyma", "upgradeCluster", "previewKyma", "previewCluster":
		body = `{"version":"1.33.4","targets":{"include":[{"target":"all"}]}}`
	}
	r := request(route.Method, example(route), strings.NewReader(body), headers...)
	r.Host, r.RemoteAddr = "swell.example", "192.0.2.1:4711"
	return r
}

// What every route answers to whom. A new route has to be entered here.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	f, i := withLogins(t)
	group := func(names ...string) string { return "Bearer " + i.Token(issuer.Claims{"groups": names}) }
	callers := map[string]string{
		"nobody": "", "forger": "Bearer a.b.c", "stranger": group("others"), "operator": group("runtimeOperator"), "admin": group("runtimeAdmin"),
	}
	type answers map[string]int
	everyone := answers{"nobody": 200, "forger": 200, "stranger": 200, "operator": 200, "admin": 200}
	members := answers{"nobody": 401, "forger": 401, "stranger": 200, "operator": 200, "admin": 200}
	readers := answers{"nobody": 401, "forger": 401, "stranger": 403, "operator": 200, "admin": 200}
	readersOfNothing := answers{"nobody": 401, "forger": 401, "stranger": 403, "operator": 404, "admin": 404}
	writers := func(status int) answers {
		return answers{"nobody": 401, "forger": 401, "stranger": 403, "operator": 403, "admin": status}
	}
	table := map[string]answers{
		"listRuntimes":            readers,
		"listOrchestrations":      readers,
		"listEvents":              readers,
		"getOrchestration":        readersOfNothing,
		"listOperations":          readersOfNothing,
		"getOperation":            readersOfNothing,
		"listLeftOut":             readersOfNothing,
		"listOrchestrationEvents": readersOfNothing,
		"importRuntimes":          writers(200),
		"forgetRuntime":           writers(404),
		"cancelOrchestration":     writers(404),
		"retryOrchestration":      writers(404),
		"upgradeKyma":             writers(202),
		"upgradeCluster":          writers(202),
		"previewKyma":             readers,
		"previewCluster":          readers,
		"whoAmI":                  members,
		"listLogins":              everyone,
		"health":                  everyone,
		"ready":                   everyone,
		"metrics":                 {"nobody": 404, "forger": 404, "stranger": 404, "operator": 404, "admin": 404},
		"openAPI":                 everyone,
	}
	for _, route := range httpapi.Routes() {
		want, ok := table[route.ID]
		require.True(t, ok, "enter the route %s: who may use it?", route.ID)
		delete(table, route.ID)
		for caller, token := range callers {
			r := call(t, route)
			if token != "" {
				r.Header.Set("Authorization", token)
			}
			got := f.send(r)
			require.Equal(t, want[caller], got.status, "%s calls %s: %s", caller, route.ID, got.text)
			switch got.status {
			case http.StatusUnauthorized:
				challenge := got.header.Get("WWW-Authenticate")
				require.Contains(t, challenge, `Bearer realm="swell"`)
				require.Equal(t, caller == "forger", strings.Contains(challenge, `error="invalid_token", error_description="`))
			case http.StatusForbidden:
				require.Contains(t, problem(t, got, http.StatusForbidden, "").Detail, string(route.Role), "the role is named")
				require.NotContains(t, got.text, "runtime", "the groups that have it are not")
				require.Contains(t, got.header.Get("WWW-Authenticate"), `error="insufficient_scope"`)
			}
		}
	}
	require.Empty(t, table, "these routes are gone")
}

// Each shape of the groups claim, at every route: a single group is text or a list; what is not understood is no group and never an error of the server.
func TestCase_A1(t *testing.T) {
	t.Parallel()
	f, i := withLogins(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-9", State: fleet.Failed}, fleet.Operation{ID: "op-9", State: fleet.Failed})
	const all, reading, nothing, unknown = "all", "reading", "nothing", "unknown"
	tests := map[string]struct {
		token string
		may   string
	}{
		"a": {i.Token(issuer.Claims{"groups": "runtimeAdmin"}), all},
		"b": {i.Token(issuer.Claims{"groups": []string{"runtimeAdmin"}, "aud": []string{"x", issuer.Audience}}), all},
		"c": {i.Token(issuer.Claims{"groups": []string{"runtimeOperator"}}), reading},
		"d": {i.Token(issuer.Claims{"groups": []string{}}), nothing},
		"D": {i.Token(nil), nothing},
		"e": {i.Token(issuer.Claims{"groups": []map[string]string{{"id": "runtimeAdmin"}}}), nothing},
		"f": {i.Token(issuer.Claims{"groups": []string{"runtimeAdmins"}}), nothing},
		"g": {"", unknown},
		"h": {i.Token(issuer.Claims{"groups": "runtimeAdmin", "exp": noon.Add(-time.Hour).Unix()}), unknown},
		"i": {i.Token(issuer.Claims{"groups": "runtimeAdmin", "aud": "another"}), unknown},
		"j": {i.Token(issuer.Claims{"groups": "runtimeAdmin", "aud": []string{"another"}}), unknown},
	}
	for _, route := range httpapi.Routes() {
		for name, test := range tests {
			r := call(t, route)
			if test.token != "" {
				r.Header.Set("Authorization", "Bearer "+test.token)
			}
			got := f.send(r)
			why := name + " " + route.ID + " " + got.text
			switch {
			case route.Role == httpapi.RoleNone, test.may == all, test.may == reading && route.Role == httpapi.RoleOperator:
				require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, got.status, why)
				require.Less(t, got.status, 500, why)
			case test.may == unknown:
				problem(t, got, http.StatusUnauthorized, "")
			case route.Role == httpapi.RoleAny:
				if who := read[orchestration.Identity](t, got); test.may == nothing {
					require.Equal(t, []string{}, who.Roles, why)
				}
			default:
				problem(t, got, http.StatusForbidden, "")
			}
		}
	}
}

func TestTheAuthorizationHeaderIsOneToken(t *testing.T) {
	t.Parallel()
	f, i := withLogins(t)
	good := i.Token(issuer.Claims{"groups": "runtimeAdmin"})
	require.Equal(t, http.StatusOK, f.get("/runtimes", "Authorization", "bearer "+good).status)
	for _, header := range []string{"", "Bearer", "Bearer ", "Basic dTpw", good, "Bearer " + good + "," + good, "Bearer " + good + " x", "Token " + good} {
		problem(t, f.get("/runtimes", "Authorization", header), http.StatusUnauthorized, "")
	}
	two := request(http.MethodGet, "/runtimes", nil)
	two.Header["Authorization"] = []string{"Bearer " + good, "Bearer " + good}
	problem(t, f.send(two), http.StatusUnauthorized, "")
	problem(t, f.get("/runtimes?access_token="+good), http.StatusUnauthorized, "")
	problem(t, f.get("/runtimes", "Cookie", "token="+good), http.StatusUnauthorized, "")
}

func TestAProviderThatIsAwayIsNotTheCallersFault(t *testing.T) {
	t.Parallel()
	f, i := withLogins(t)
	require.Equal(t, http.StatusOK, f.get("/runtimes", "Authorization", "Bearer "+i.Token(issuer.Claims{"groups": "runtimeAdmin"})).status)
	require.Equal(t, "ready", read[httpapi.ReadyResponse](t, f.get("/readyz")).Status)
	i.SetFault(issuer.Away)
	i.Rotate()
	r := f.get("/runtimes", "Authorization", "Bearer "+i.Token(issuer.Claims{"groups": "runtimeAdmin"}))
	problem(t, r, http.StatusServiceUnavailable, "")
	require.NotEmpty(t, r.header.Get("Retry-After"))
	require.NotContains(t, r.text, "login.example")
	require.Equal(t, httpapi.ReadyResponse{Status: "degraded", Checks: []httpapi.CheckResult{
		{Name: "identity providers", Status: "failed", Optional: true, Message: "no answer from https://login.example"},
	}}, read[httpapi.ReadyResponse](t, f.get("/readyz")), "the server stays in service for everybody else")
}

// Every change says in the history who made it, with which roles, from where and by which request.
func TestTheHistorySaysWhoDidWhat(t *testing.T) {
	t.Parallel()
	f, i := withLogins(t, func(o *httpapi.Options) { o.TrustedProxies = prefixes(t, "192.0.2.0/24") })
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress, ResolvedAt: noon}, fleet.Operation{ID: "op-1", State: fleet.Failed, InstanceID: "in-1"})
	token := "Bearer " + i.Token(issuer.Claims{"email": "ann@example.com", "email_verified": true, "groups": []string{"runtimeAdmin", "runtimeOperator"}})
	send := func(id, method, path, body string) {
		r := request(method, path, strings.NewReader(body), "Authorization", token, "X-Request-Id", id, "X-Forwarded-For", "198.51.100.7")
		r.RemoteAddr = "192.0.2.1:4711"
		got := f.send(r)
		require.Less(t, got.status, 300, got.text)
	}
	send("r-import", http.MethodPost, "/runtimes/import", page(t, document("rt-1", "c-1")))
	send("r-create", http.MethodPost, "/upgrade/cluster", `{"kubernetes":{"kubernetesVersion":"1.33.4"},"targets":{"include":[{"target":"all"}]},"strategy":{"parallel":{"workers":7}}}`)
	send("r-retry", http.MethodPost, "/orchestrations/o-1/retry", `{"operation-id":"op-1"}`)
	send("r-cancel", http.MethodPut, "/orchestrations/o-1/cancel", "")
	send("r-forget", http.MethodDelete, "/runtimes/in-rt-1", "")

	found := map[string]orchestration.Event{}
	for _, e := range read[[]orchestration.Event](t, f.get("/events", "Authorization", token)) {
		if e.RequestID != "" {
			require.Equal(t, "ann@example.com", e.User)
			require.ElementsMatch(t, []string{"admin", "operator"}, e.Roles)
			require.Equal(t, "198.51.100.7", e.RemoteAddr)
			// Newest first: of an import, what it did to its one runtime remains.
			found[e.RequestID] = e
		}
	}
	require.Equal(t, string(fleet.EventImported), found["r-import"].Kind)
	require.Contains(t, found["r-import"].Message, ": added by an import")
	require.Equal(t, "in-rt-1", found["r-import"].InstanceID)
	require.Equal(t, "c-1", found["r-import"].ShootName)
	require.Equal(t, string(fleet.EventForgotten), found["r-forget"].Kind)
	require.Equal(t, "in-rt-1", found["r-forget"].InstanceID)
	require.Equal(t, string(fleet.EventCreated), found["r-create"].Kind)
	require.Equal(t, `created: upgradeCluster to 1.33.4 of {"target":"all"} by 7 workers`, found["r-create"].Message)
	require.Equal(t, string(fleet.EventRetry), found["r-retry"].Kind)
	require.Contains(t, found["r-retry"].Message, "asked to repeat 1 operation: ")
	require.Equal(t, string(fleet.EventCancel), found["r-cancel"].Kind)

	own := read[orchestration.EventList](t, f.get("/orchestrations/o-1/events", "Authorization", token)).Data
	require.True(t, slices.ContainsFunc(own, func(e orchestration.Event) bool {
		return e.Kind == string(fleet.EventCancel) && e.User == "ann@example.com"
	}))
	o := read[orchestration.StatusResponse](t, f.get("/orchestrations/"+found["r-create"].OrchestrationID, "Authorization", token))
	require.Equal(t, 7, o.Parameters.Strategy.Parallel.Workers, "what was asked is kept whole")
	require.Equal(t, "ann@example.com", o.CreatedBy)
	require.Empty(t, o.CanceledBy)
	canceled := read[orchestration.StatusResponse](t, f.get("/orchestrations/o-1", "Authorization", token))
	require.Equal(t, "ann@example.com", canceled.CanceledBy)
}

func TestAStolenTokenEndsWithItsTime(t *testing.T) {
	t.Parallel()
	f, i := withLogins(t)
	for _, test := range []struct {
		after  time.Duration
		status int
	}{{-time.Minute, http.StatusUnauthorized}, {time.Minute, http.StatusOK}} {
		token := i.Token(issuer.Claims{"groups": "runtimeOperator", "exp": noon.Add(test.after).Unix()})
		require.Equal(t, test.status, f.get("/runtimes", "Authorization", "Bearer "+token).status)
	}
}

func TestClientsAreLimitedEachByThemselves(t *testing.T) {
	t.Parallel()
	now := noon
	f, i := withLogins(t, func(o *httpapi.Options) {
		o.RateLimit, o.RateBurst = 0.5, 3
		o.Clock = func() time.Time { return now }
	})
	get := func(path, user, address string) reply {
		r := request(http.MethodGet, path, nil)
		r.RemoteAddr = address
		if user != "" {
			r.Header.Set("Authorization", "Bearer "+i.Token(issuer.Claims{"sub": user, "groups": "runtimeOperator"}))
		}
		return f.send(r)
	}
	for range 3 {
		require.Equal(t, http.StatusOK, get("/runtimes", "ann", "192.0.2.1:1").status)
	}
	limited := get("/runtimes", "ann", "192.0.2.2:2")
	problem(t, limited, http.StatusTooManyRequests, "")
	require.Equal(t, "2", limited.header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, get("/runtimes", "bob", "192.0.2.1:1").status, "who shares an address is not disturbed")

	// Who cannot say who they are is limited by address, and a network of IPv6 is one.
	for _, addresses := range [][]string{{"192.0.2.1:1", "192.0.2.1:2"}, {"[2001:db8::1]:1", "[2001:db8::ffff]:1"}, {"[::ffff:192.0.2.9]:1", "192.0.2.9:1"}} {
		for n := range 3 {
			problem(t, get("/runtimes", "", addresses[n%2]), http.StatusUnauthorized, "")
		}
		problem(t, get("/runtimes", "", addresses[1]), http.StatusTooManyRequests, "")
		problem(t, get("/runtimes", "", addresses[0]), http.StatusTooManyRequests, "")
	}
	require.Equal(t, http.StatusOK, get("/runtimes", "bob", "192.0.2.1:1").status, "a good token is welcome from an address that sent bad ones")
	now = now.Add(2 * time.Second)
	require.Equal(t, http.StatusOK, get("/runtimes", "ann", "192.0.2.1:1").status)
	problem(t, get("/runtimes", "ann", "192.0.2.1:1"), http.StatusTooManyRequests, "")
}

// Many people and machines may share one address. Bad tokens from there use up what that address may be refused, and nothing else.
func TestBadTokensKeepNobodyBehindTheirAddressOut(t *testing.T) {
	t.Parallel()
	f, i := withLogins(t, func(o *httpapi.Options) { o.RateLimit, o.RateBurst = 0.5, 3 })
	get := func(path string, headers ...string) int { return f.get(path, headers...).status }
	for n := range 20 {
		want := http.StatusUnauthorized
		if n >= 3 {
			want = http.StatusTooManyRequests
		}
		require.Equal(t, want, get("/runtimes", "Authorization", "Bearer a.b.c"))
	}
	for range 100 {
		require.Equal(t, http.StatusOK, get("/healthz"), "a probe is always answered")
		require.Equal(t, http.StatusOK, get("/readyz"))
	}
	for _, path := range []string{"/logins", "/openapi.json", "/metrics"} {
		for range 3 {
			require.NotEqual(t, http.StatusTooManyRequests, get(path), path)
		}
		require.Equal(t, http.StatusTooManyRequests, get(path), "it has a limit of its own: %s", path)
	}
	require.Equal(t, http.StatusOK, get("/runtimes", "Authorization", "Bearer "+i.Token(issuer.Claims{"groups": "runtimeOperator"})))
}

func TestTheLimiterForgetsWhoWasAwayForLongest(t *testing.T) {
	t.Parallel()
	l := httpapi.NewLimiter(1, 1, clock)
	require.True(t, l.Take("ann"))
	require.False(t, l.Take("ann"))
	for n := range 3 * httpapi.MaxClients {
		require.True(t, l.Take(time.Duration(n).String()))
		require.False(t, l.Take("ann"), "who keeps coming is remembered")
		require.LessOrEqual(t, l.Len(), httpapi.MaxClients)
	}
	require.True(t, l.Take("0s"))
}

func TestWithoutALimitNobodyIsCounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 1000 {
		require.Equal(t, http.StatusOK, f.get("/healthz").status)
	}
}

// The address of a caller is taken from a header only when a proxy that is trusted wrote it.
func TestTheAddressOfACaller(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		trusted, peer, forwarded, want string
	}{
		{"", "192.0.2.1:1", "", "192.0.2.1"},
		{"", "192.0.2.1:1", "198.51.100.7", "192.0.2.1"},
		{"10.0.0.0/8", "192.0.2.1:1", "198.51.100.7", "192.0.2.1"},
		{"10.0.0.0/8", "10.1.2.3:1", "", "10.1.2.3"},
		{"10.0.0.0/8", "10.1.2.3:1", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.0/8", "[::ffff:10.1.2.3]:1", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.0/8", "10.1.2.3:1", "203.0.113.1, 198.51.100.7", "198.51.100.7"},
		{"10.0.0.0/8", "10.1.2.3:1", "203.0.113.1, 198.51.100.7 , 10.9.9.9", "198.51.100.7"},
		{"10.0.0.0/8", "10.1.2.3:1", "10.0.0.1,10.0.0.2", "10.0.0.1"},
		{"10.0.0.0/8", "10.1.2.3:1", "198.51.100.7:4711", "198.51.100.7"},
		{"10.0.0.0/8", "10.1.2.3:1", "[2001:db8::1]:4711", "2001:db8::1"},
		{"10.0.0.0/8", "10.1.2.3:1", "unknown", "10.1.2.3"},
		{"10.0.0.0/8", "10.1.2.3:1", "203.0.113.1, <script>, 10.0.0.9", "10.0.0.9"},
		{"10.0.0.0/8", "10.1.2.3:1", strings.Repeat(",", 5000), "10.1.2.3"},
		{"2001:db8::/32", "[2001:db8::5]:1", "198.51.100.7", "198.51.100.7"},
	} {
		f := newFixture(t, func(o *httpapi.Options) {
			o.TrustedProxies = prefixes(t, test.trusted)
			o.Loopback, o.Authenticator = false, identity{who: httpapi.Identity{User: "u", Roles: []httpapi.Role{httpapi.RoleAdmin}}}
		})
		r := request(http.MethodPost, "/upgrade/cluster", strings.NewReader(`{"targets":{"include":[{"target":"all"}]}}`))
		r.RemoteAddr = test.peer
		if test.forwarded != "" {
			r.Header.Set("X-Forwarded-For", test.forwarded)
		}
		require.Equal(t, http.StatusAccepted, f.send(r).status)
		require.Equal(t, test.want, read[[]orchestration.Event](t, f.get("/events"))[0].RemoteAddr, "%+v", test)
		require.Contains(t, f.log.String(), "remote_addr="+test.want)
	}
}

// A proxy cannot make somebody far away look like a local caller.
func TestALocalCallerIsJudgedByTheConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) { o.TrustedProxies = prefixes(t, "0.0.0.0/0") })
	r := request(http.MethodGet, "/runtimes", nil, "X-Forwarded-For", "127.0.0.1")
	r.RemoteAddr = "192.0.2.1:1"
	problem(t, f.send(r), http.StatusForbidden, "")
}

// A provider that hangs costs a request two seconds at most, and its place is free again after that.
func TestAProviderThatHangsDoesNotFillTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := issuer.New(t, "https://login.example", clock)
		i.SetFault(issuer.Hang)
		v, err := auth.NewVerifier(auth.Options{
			Issuers: []string{i.URL}, Audiences: []string{issuer.Audience}, Client: issuer.Client(i), Logger: discard, Clock: clock,
		})
		require.NoError(t, err)
		handler, err := httpapi.New(httpapi.Options{
			Reader: reader{}, Commands: &recordingCommands{}, Previewer: &recordingCommands{}, Authenticator: httpapi.Tokens{Verifier: v}, MaxInFlight: 2, Logger: discard, Clock: clock,
		})
		require.NoError(t, err)
		f := &fixture{t: t, handler: handler}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			v.Run(ctx)
		}()
		begin := time.Now()
		replies := make(chan int, 20)
		for range 20 {
			go func() { replies <- f.get("/runtimes", "Authorization", "Bearer "+i.Token(nil)).status }()
		}
		for range 20 {
			require.Equal(t, http.StatusServiceUnavailable, <-replies)
		}
		require.Equal(t, 2*time.Second, time.Since(begin))
		cancel()
		<-done
	})
}
