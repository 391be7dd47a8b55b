package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The server has no redirects. Whoever answers in its place with one has nothing of the user's sent elsewhere: a server without logins on this machine takes every
// request for one of its user's.
func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, args := range []string{
			"whoami", "orchestrations", "runtimes --state failed", "orchestrations 0d9b7f5e-6c1a-4f3e-8a52-7b1c9e4d2f60 watch",
			"upgrade cluster --target all --preview", "upgrade cluster --target all --yes", "runtimes forget i-1 --yes",
			"orchestrations 0d9b7f5e-6c1a-4f3e-8a52-7b1c9e4d2f60 cancel --yes", "orchestrations 0d9b7f5e-6c1a-4f3e-8a52-7b1c9e4d2f60 retry",
		} {
			var reached atomic.Int32
			victim := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
			t.Cleanup(victim.Close)
			hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", victim.URL+"/base"+r.URL.Path+"?secret=s3cret")
				w.WriteHeader(status)
			}))
			t.Cleanup(hostile.Close)
			got := run(t, hostile.URL, strings.Fields(args)...)
			require.Zero(t, reached.Load(), "%d %s", status, args)
			require.Equal(t, 5, got.code, "%d %s: %s", status, args, got.err)
			require.Empty(t, got.out)
			require.Contains(t, got.err, "points to "+victim.URL+"/base", args)
			require.Contains(t, got.err, "give that address with --url", args)
			require.NotContains(t, got.err, "s3cret", args)
		}
	}
}

// A token is for what stands below the path of the server, not for all that its host has.
func TestTheTokenIsNotSentToAnotherPathOfTheHost(t *testing.T) {
	t.Parallel()
	var other atomic.Int32
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/swell/") {
			other.Add(1)
			return
		}
		http.Redirect(w, r, "/other/collect", http.StatusFound)
	}))
	t.Cleanup(host.Close)
	got := runWith(t, []string{"SWELL_URL=" + host.URL + "/swell", "SWELL_TOKEN=s3cret"}, "whoami")
	require.Equal(t, 5, got.code, got.err)
	require.Zero(t, other.Load())
	require.Contains(t, got.err, "points to "+host.URL+"/other/collect")
}
