package app

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
)

// wire is a transport that answers everything with 429 and counts what leaves.
type wire struct{ sent []string }

// RoundTrip answers one request.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.sent = append(w.sent, r.Method)
	return &http.Response{
		StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"8"}}, Body: io.NopCloser(strings.NewReader("")), Request: r,
	}, nil
}

func TestWritesAreGuardedWhereTheyLeave(t *testing.T) {
	t.Parallel()
	w := &wire{}
	send := func(method string, guard fleet.Guard) (*http.Response, error) {
		ctx, _ := fleet.WithGuard(t.Context(), guard)
		r, err := http.NewRequestWithContext(ctx, method, "http://gardener.example/shoots/c-1", strings.NewReader("{}"))
		require.NoError(t, err)
		answer, err := guarded{w}.RoundTrip(r)
		if answer != nil {
			require.NoError(t, answer.Body.Close())
		}
		return answer, err
	}
	yes := func(context.Context) error { return nil }
	no := func(context.Context) error { return fleet.ErrWindowClosed }

	_, err := send(http.MethodPatch, no)
	require.ErrorIs(t, err, fleet.ErrWindowClosed)
	require.Empty(t, w.sent, "what the guard refuses does not leave")

	answer, err := send(http.MethodPatch, yes)
	require.NoError(t, err)
	require.Empty(t, answer.Header.Get("Retry-After"), "the client must not repeat a write by itself")
	answer, err = send(http.MethodGet, no)
	require.NoError(t, err, "reading is not guarded")
	require.Equal(t, "8", answer.Header.Get("Retry-After"), "reads may be repeated")
	require.Equal(t, []string{http.MethodPatch, http.MethodGet}, w.sent)
}
