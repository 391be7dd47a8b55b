package orchestration_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/orchestration"
)

func TestForgetRuntime(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(http.StatusOK, `{"instanceID":"i/1?","canceledOperations":2,"more":1}`))
	got, err := server.client(t, "/api/").ForgetRuntime("i/1?")
	require.NoError(t, err)
	require.Equal(t, orchestration.ForgetResponse{InstanceID: "i/1?", CanceledOperations: 2}, got)
	require.Equal(t, []request{{Method: http.MethodDelete, URI: "/api/runtimes/i%2F1%3F", Authorization: "Bearer id-token"}}, server.seen())
}

// An empty ID must not become a request about all runtimes.
func TestForgetRuntimeNeedsAnID(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(http.StatusOK, `{}`))
	_, err := server.client(t, "").ForgetRuntime("")
	require.ErrorContains(t, err, "forget runtime")
	require.Empty(t, server.seen())
}

func TestForgetRuntimeRefused(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(http.StatusConflict, `{"detail":"the Shoot \"c-1\" has its runtime ID"}`))
	got, err := server.client(t, "").ForgetRuntime("i-1")
	var refused *orchestration.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusConflict, refused.Status)
	require.Equal(t, `the Shoot "c-1" has its runtime ID`, refused.Reason)
	require.Zero(t, got)
	require.Len(t, server.seen(), 1)
}

// The server answers the second request like the first one, so one whose answer got lost is made again.
func TestForgetRuntimeIsRepeated(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answer(http.StatusOK, `{"instanceID":"i-1","canceledOperations":0}`)(w, r)
	})
	got, err := server.client(t, "").ForgetRuntime("i-1")
	require.NoError(t, err)
	require.Equal(t, "i-1", got.InstanceID)
	require.Len(t, server.seen(), 2)
}
