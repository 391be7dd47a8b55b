package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli"
	"github.com/swell-fleet/swell/internal/cli/console"
)

// poison is a text that steers a terminal, hides itself and begins a line.
const poison = "\x1b[2J\x1b]0;t\x07\u009b31m\u202e\u200b\r\nFORGED"

// hostileID is the ID that a hostile server answers to.
const hostileID = "0d9b7f5e-6c1a-4f3e-8a52-7b1c9e4d2f60"

// hostile answers everything with poison in every text that the program does not compare with its own words.
func hostile(t *testing.T, state string) string {
	t.Helper()
	at := "2030-01-01T00:00:00Z"
	type object map[string]any
	operation := object{"operationID": poison, "orchestrationID": poison, "shootName": poison, "state": poison, "description": poison, "waitReason": poison, "startedAt": at,
		"instanceID": poison, "runtimeID": poison, "globalAccountID": poison, "subAccountID": poison, "servicePlanName": poison, "type": poison}
	event := object{"id": "7", "level": "info" + poison, "message": poison, "createdAt": at, "instanceID": "i-1", "orchestrationID": poison, "operationID": poison, "kind": poison,
		"from": poison, "to": poison, "user": poison, "shootName": poison}
	status := object{"orchestrationID": hostileID[:8] + poison, "type": poison, "state": state, "description": poison, "createdAt": at, "updatedAt": at,
		"parameters": object{"version": poison, "targets": object{"include": []object{{"shoot": poison}}}}, "createdBy": poison, "canceledBy": poison,
		"operationStats": object{"succeeded": 1, "failed": 1, "in progress": 1, "pending": 1, poison: 3}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		first := query.Get("page") == "1" || !query.Has("page") && !query.Has("before")
		page := func(row object) object {
			if !first {
				return object{"data": []object{}, "count": 0, "totalCount": 1}
			}
			return object{"data": []object{row}, "count": 1, "totalCount": 1}
		}
		code := http.StatusOK
		var answer any
		switch path := r.URL.Path; {
		case path == "/whoami":
			answer = object{"user": "ann" + poison, "roles": []string{"admin", poison}, "groups": []string{poison}, "issuer": poison}
		case path == "/logins":
			answer = object{"data": []object{{"issuer": "https://login.example/" + poison, "clientID": poison, "scopes": []string{poison}}}}
		case path == "/events":
			w.Header().Set("X-Total-Count", "1")
			answer = []object{event}
			if !first {
				answer = []object{}
			}
		case path == "/runtimes":
			answer = page(object{"instanceID": "i-1", "runtimeID": poison, "shootName": poison, "servicePlanName": poison, "region": poison, "globalAccountID": poison,
				"status": object{"createdAt": at, "state": "failed" + poison, "provisioning": object{"state": poison, "type": poison, "description": poison, "operationID": poison, "createdAt": at}}})
		case path == "/orchestrations":
			answer = page(status)
		case strings.HasSuffix(path, "/events"):
			answer = page(event)
		case strings.HasSuffix(path, "/operations"):
			answer = page(operation)
		case strings.HasSuffix(path, "/leftout"):
			answer = page(object{"shootName": poison, "runtimeID": poison, "reason": poison, "description": poison})
		case strings.Contains(path, "/operations/"):
			answer = operation
		case strings.HasSuffix(path, "/preview"):
			answer = object{"at": at, "revision": "r1", "type": poison, "parameters": status["parameters"], "unmatched": []int{0}, "leftOutReasons": object{poison: 1},
				"runtimes": page(object{"shootName": poison, "runtimeID": poison, "busyWith": poison, "skipped": poison}), "leftOut": page(object{"shootName": poison, "reason": poison})}
		case strings.HasPrefix(path, "/upgrade/"):
			code, answer = http.StatusAccepted, object{"orchestrationID": poison}
		case strings.HasSuffix(path, "/retry"):
			code, answer = http.StatusAccepted, object{"orchestrationID": poison, "msg": poison, "retryShoots": []string{poison}, "oldOperations": []string{poison}, "invalidOperations": []string{poison}}
		case r.Method == http.MethodDelete:
			code, answer = http.StatusConflict, object{"message": poison}
		default:
			answer = status
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// broad is a terminal.
type broad struct{}

// Size implements console.Screen.
func (broad) Size() (columns, rows int, ok bool) { return 120, 40, true }

// own are the control sequences that the program writes itself.
var own = regexp.MustCompile(`\x1b\[(\?25[lh]|\?2026[hl]|[KJA]|[0-9]+m)|\r`)

// Whatever a server answers, with all commands and in all forms of output: nothing of it steers a terminal, hides itself there or begins a line.
func TestNoAnswerSteersATerminal(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"failed", "canceled", "succeeded"} {
		address := hostile(t, state)
		for _, args := range []string{
			"whoami", "orchestrations", "orchestrations ID", "orchestrations ID operations", "orchestrations ID operations 20b7f5e1-6c1a-4f3e-8a52-7b1c9e4d2f60",
			"orchestrations ID events", "orchestrations ID events --follow", "orchestrations ID leftout", "orchestrations ID watch", "orchestrations ID cancel --yes",
			"orchestrations ID cancel --yes --wait", "orchestrations ID retry", "runtimes", "runtimes --events", "runtimes --ops last",
			"upgrade cluster --target all --preview", "upgrade cluster --target all --yes", "upgrade cluster --target all --yes --require-match",
			"upgrade cluster --target all --yes --wait", "orchestrations 0d9b7f operations", "runtimes forget i-1 --yes", "login",
		} {
			for _, form := range []string{"", " -o json"} {
				for _, terminal := range []bool{true, false} {
					line := strings.ReplaceAll(args, "ID", hostileID) + form
					shown := say(t, address, terminal, line)
					what := own.ReplaceAllString(shown, "")
					if !terminal {
						what = shown
					}
					require.Equal(t, -1, strings.IndexFunc(what, func(r rune) bool {
						return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
					}), "%s %s: %q", state, line, what)
					require.NotContains(t, what, "\nFORGED", "%s %s", state, line)
				}
			}
		}
	}
}

// say carries out a command line and returns all that it writes.
func say(t *testing.T, address string, terminal bool, args string) string {
	t.Helper()
	var shown bytes.Buffer
	c := &console.Console{
		In: strings.NewReader("n\n"), Out: &shown, Err: &shown, Environ: []string{"SWELL_URL=" + address},
		Clock: func() time.Time { return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) },
	}
	if terminal {
		c.Screen, c.ErrScreen, c.Person = broad{}, broad{}, true
	}
	cli.Run(t.Context(), c, strings.Fields(args))
	return shown.String()
}
