package httpapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
)

// warnings makes the log take nothing below WARN.
func warnings(log *logBuffer) func(*httpapi.Options) {
	return func(o *httpapi.Options) {
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
}

// Whoever is refused leaves a line that says who it was, with which roles, from where and what for, also where only warnings are logged.
func TestRefusalsAreLoggedWithWhoWasRefused(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	f, i := withLogins(t, warnings(log))
	send := func(status int, headers ...string) string {
		before := len(log.String())
		r := request(http.MethodPost, "/upgrade/cluster", strings.NewReader(`{}`), append(headers, "X-Request-Id", "req-7")...)
		r.RemoteAddr = "192.0.2.1:4711"
		problem(t, f.send(r), status, "")
		line := log.String()[before:]
		require.Equal(t, 1, strings.Count(line, "\n"), line)
		for _, part := range []string{"level=WARN", "request_id=req-7", "method=POST", "path=/upgrade/cluster", "remote_addr=192.0.2.1", "error="} {
			require.Contains(t, line, part)
		}
		return line
	}
	line := send(http.StatusForbidden, "Authorization", "Bearer "+i.Token(issuer.Claims{"sub": "ann", "groups": "runtimeOperator"}))
	require.Contains(t, line, "user=ann roles=[operator]")
	line = send(http.StatusForbidden, "Authorization", "Bearer "+i.Token(issuer.Claims{"sub": "bob"}))
	require.Contains(t, line, "user=bob roles=[]")
	line = send(http.StatusUnauthorized, "Authorization", "Bearer "+i.Token(issuer.Claims{"exp": noon.Add(-time.Hour).Unix()}))
	require.Contains(t, line, "the token has expired")
	send(http.StatusUnauthorized)
	send(http.StatusForbidden, "Origin", "https://evil.example")
	require.Equal(t, http.StatusOK, f.get("/runtimes", "Authorization", "Bearer "+i.Token(issuer.Claims{"groups": "runtimeAdmin"})).status)
	require.Equal(t, 5, strings.Count(log.String(), "\n"), "who is served is no warning")
}

// However many refusals somebody asks for, the limit of requests bounds how many warnings they are.
func TestAFloodOfRefusalsDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	f, i := withLogins(t, warnings(log), func(o *httpapi.Options) { o.RateLimit, o.RateBurst = 0.5, 3 })
	stranger := "Bearer " + i.Token(issuer.Claims{"sub": "eve"})
	for range 100 {
		f.get("/runtimes", "Authorization", "Bearer a.b.c")
		f.get("/runtimes", "Authorization", stranger)
		f.post("/upgrade/cluster", "{}", "Origin", "https://evil.example")
		f.get("/logins")
	}
	require.Equal(t, 3+3, strings.Count(log.String(), "\n"), log.String())
}

// A probe that finds the server not ready is told in the line of the check that failed, and not in another for each probe.
func TestProbesAreQuiet(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	f := newFixture(t, warnings(log), func(o *httpapi.Options) {
		o.Checks = []httpapi.Check{{Name: "store", Run: func(context.Context) error { return errors.New("away") }}}
	})
	require.Equal(t, http.StatusServiceUnavailable, f.get("/readyz").status)
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "readiness check failed")
}
