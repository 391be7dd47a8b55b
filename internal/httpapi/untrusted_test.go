package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// hostile is text as a stranger would write it into a Shoot: HTML, SQL, escape sequences of terminals, lines that look like those of a log.
const hostile = "<script>alert(1)</script>'; DROP TABLE runtimes; -- \x1b]0;owned\a\x1b[2J\r\nlevel=ERROR msg=forged \u202e\u2028{{.}}"

// Names and descriptions from outside stay text: in answers they can be neither HTML nor control characters, and in the log they make no line.
func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addRuntimes(document("rt-1", hostile))
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.Failed, Description: hostile},
		fleet.Operation{ID: "op-1", State: fleet.Failed, InstanceID: "in-rt-1", ShootName: hostile, Description: hostile, Reason: hostile})
	for _, path := range []string{"/runtimes", "/orchestrations", "/orchestrations/o-1", "/orchestrations/o-1/operations", "/orchestrations/o-1/operations/op-1"} {
		r := f.get(path)
		require.Equal(t, http.StatusOK, r.status, r.text)
		require.Equal(t, "application/json", r.header.Get("Content-Type"))
		require.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
		require.True(t, json.Valid([]byte(r.text)))
		require.NotContains(t, r.text, "<script>")
		require.Contains(t, r.text, `\u003cscript\u003e`)
		require.Equal(t, len(r.text)-1, strings.IndexFunc(r.text, unicode.IsControl), "the newline at the end is the only control character")
	}
	for _, path := range []string{"/orchestrations?state=" + "%3Cscript%3E%1b%5b2J", "/runtimes?page=%0d%0aSet-Cookie:x", "/orchestrations/%3Cscript%3E%0a"} {
		r := f.get(path, "X-Request-Id", "x\x1b[2J")
		require.GreaterOrEqual(t, r.status, 400)
		require.NotContains(t, r.text, "<script>")
		require.NotContains(t, r.text, "\x1b")
		require.Empty(t, r.header.Get("Set-Cookie"))
	}
	for line := range strings.Lines(f.log.String()) {
		require.True(t, strings.HasPrefix(line, "time="), line)
		require.Equal(t, len(line)-1, strings.IndexFunc(line, unicode.IsControl))
	}
	require.Equal(t, 1, read[orchestration.StatusResponseList](t, f.get("/orchestrations")).TotalCount)
}

func TestHeadersAreLimited(t *testing.T) {
	t.Parallel()
	address := newFixture(t).serve(func(*http.Server) {})
	for size, status := range map[int]string{1 << 10: "200 OK", 200 << 10: "431 Request Header Fields Too Large"} {
		connection, err := net.Dial("tcp", address)
		require.NoError(t, err)
		_, _ = fmt.Fprintf(connection, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", size))
		answer := make([]byte, 64)
		n, err := connection.Read(answer)
		require.NoError(t, err)
		require.Contains(t, string(answer[:n]), status)
		require.NoError(t, connection.Close())
	}
}

// Patterns of targets are matched in linear time, so one that makes other engines run for years is as good as any.
func TestPatternsCannotHoldTheServerUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.post("/upgrade/cluster", `{"targets":{"include":[{"region":"^(a+)+$"}]}}`)
	require.Equal(t, http.StatusAccepted, r.status, r.text)
	r = f.post("/upgrade/cluster", `{"targets":{"include":[{"region":"`+strings.Repeat("(a{1,1000}){1,1000}", 50)+`"}]}}`)
	require.Equal(t, http.StatusBadRequest, r.status, r.text)
}

// Errors of the database stay in the log: an answer has no SQL, no address and no stack.
func TestAnswersTellNothingOfTheInside(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.NoError(t, f.store.SQL().Close())
	for _, r := range []reply{
		f.post("/upgrade/cluster", `{"targets":{"include":[{"target":"all"}]}}`), f.post("/runtimes/import", page(t, document("rt-1", "c-1"))),
		f.send(request(http.MethodPut, "/orchestrations/o-1/cancel", nil)), f.post("/orchestrations/o-1/retry", "{}"),
	} {
		require.Equal(t, http.StatusServiceUnavailable, r.status)
		for _, word := range []string{"sql", "SELECT", "database is", ".go:", "goroutine", "/tmp"} {
			require.NotContains(t, r.text, word)
		}
	}
	require.Contains(t, f.log.String(), "database is closed", "the log has the cause")
}
