package caller_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/caller"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/home"
)

// An older server, and one that has a fault in this answer only, may do what is asked: it decides when it is asked.
func TestAServerThatCannotSayWhoAsksDecidesLater(t *testing.T) {
	t.Parallel()
	for status, passes := range map[int]bool{
		http.StatusNotFound: true, http.StatusMethodNotAllowed: true, http.StatusInternalServerError: true,
		http.StatusUnauthorized: false, http.StatusForbidden: false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(server.Close)
		c := &console.Console{URL: server.URL, Context: home.Context{Name: "prod"}, Base: &http.Transport{DisableKeepAlives: true}, Clock: time.Now}
		where, err := caller.Admin(t.Context(), c)
		if passes {
			require.NoError(t, err, status)
			require.Equal(t, "prod ("+server.URL+")", where)
		} else {
			require.Equal(t, console.ExitRefused, console.ExitCode(err), status)
		}
	}
}

// Where the server is comes from a file that may be edited, and is cleaned like any other text.
func TestWhereIsClean(t *testing.T) {
	t.Parallel()
	require.Equal(t, "http://a\uFFFD[2J", caller.Where(&console.Console{URL: "http://a\x1b[2J"}))
	require.Equal(t, "b\uFFFD (http://a)", caller.Where(&console.Console{URL: "http://a", Context: home.Context{Name: "b\u202e"}}))
}
