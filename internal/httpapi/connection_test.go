package httpapi_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/httpapi"
)

// A connection that holds no more is answered as somebody without credentials is, on every route, and closed.
func TestAConnectionThatHoldsNoMoreIsClosed(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ended atomic.Bool
			f := newFixture(t, func(o *httpapi.Options) {
				o.CheckConnection = func(state *tls.ConnectionState) error {
					if state == nil || ended.Load() {
						return errors.New("hunter2")
					}
					return nil
				}
			})
			server := httptest.NewUnstartedServer(f.handler)
			closed := make(chan struct{}, 100)
			server.EnableHTTP2 = http2
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateClosed {
					closed <- struct{}{}
				}
			}
			server.StartTLS()
			t.Cleanup(server.Close)
			for _, path := range []string{"/runtimes", "/healthz", "/nothing"} {
				ended.Store(false)
				response, err := server.Client().Get(server.URL + "/healthz")
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				require.Equal(t, http.StatusOK, response.StatusCode)
				require.Equal(t, name, response.Proto)
				ended.Store(true)
				response, err = server.Client().Get(server.URL + path)
				require.NoError(t, err)
				text, err := io.ReadAll(response.Body)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				problem(t, reply{response.StatusCode, response.Header, string(text)}, http.StatusUnauthorized, "")
				require.NotContains(t, string(text), "hunter2")
				<-closed
			}
			require.Contains(t, f.log.String(), "hunter2")
		})
	}
}
