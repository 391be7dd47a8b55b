package httpapi_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/httpapi"
)

// caller is one end of a connection that comes from an address of a test's choice.
type caller struct {
	net.Conn
	from string
}

// RemoteAddr is where the connection comes from.
func (c caller) RemoteAddr() net.Addr { return addr(c.from) }

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// pipes is a listener without a network.
type pipes struct {
	calls  chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func newPipes() *pipes {
	ctx, cancel := context.WithCancel(context.Background())
	return &pipes{calls: make(chan net.Conn, 100), closed: ctx, close: cancel}
}

// dial returns the caller's end of a connection.
func (p *pipes) dial(from string) net.Conn {
	own, other := net.Pipe()
	p.calls <- caller{other, from}
	return own
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

func (p *pipes) Addr() net.Addr { return addr("127.0.0.1:1") }

func (p *pipes) Close() error {
	p.close()
	return nil
}

// open reports whether the other end of a connection has not closed it.
func open(t *testing.T, c net.Conn) bool {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Second)))
	_, err := c.Read(make([]byte, 1))
	return err != io.EOF //nolint:errorlint // a pipe returns it as it is
}

func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, log := newPipes(), &logBuffer{}
		l := httpapi.LimitConnections(p, httpapi.ConnectionLimits{
			All: 7, Each: 2, Trusted: prefixes(t, "10.0.0.0/8"), Logger: slog.New(slog.NewTextHandler(log, nil)),
		})
		accepted := make(chan net.Conn, 100)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
		dial := func(from string, want bool) net.Conn {
			t.Helper()
			c := p.dial(from)
			require.Equal(t, want, open(t, c), from)
			if !want {
				return nil
			}
			return <-accepted
		}
		first := dial("192.0.2.1:1", true)
		dial("192.0.2.1:2", true)
		dial("192.0.2.1:3", false)
		dial("[2001:db8::1]:1", true)
		dial("[2001:db8::2]:1", true)
		dial("[2001:db8::3]:1", false)
		for _, proxy := range []string{"10.0.0.1:1", "[::ffff:10.0.0.1]:2", "10.0.0.1:3"} {
			dial(proxy, true)
		}
		dial("198.51.100.1:1", false)
		dial("10.0.0.1:4", false)
		require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
		for range 2 {
			_ = first.Close()
		}
		dial("198.51.100.1:1", true)
		dial("198.51.100.2:1", false)
		require.NoError(t, l.Close())
		<-done
	})
}

// A connection of HTTP/2 that does not get to the end of its headers is closed, as one of HTTP/1.1 is; one that is idle and answers is not.
func TestHeadersWithoutEndDoNotHoldAConnectionOfHTTP2(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		server := httpapi.NewServer(f.handler, discard, time.Minute)
		server.Protocols = &http.Protocols{}
		server.Protocols.SetUnencryptedHTTP2(true)
		done := make(chan error, 1)
		go func() { done <- server.Serve(p) }()

		c := p.dial("192.0.2.1:1")
		go func() {
			// Settings, and the beginning of headers whose rest never comes.
			_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"+"\x00\x00\x01\x01\x00\x00\x00\x00\x01\x82")
		}()
		begin := time.Now()
		_, err := io.Copy(io.Discard, c)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(begin), 21*time.Second)

		transport := &http.Transport{
			Protocols:   server.Protocols,
			DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial("127.0.0.1:1"), nil },
		}
		client := &http.Client{Transport: transport}
		for range 2 {
			response, err := client.Get("http://127.0.0.1/healthz")
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Equal(t, 2, response.ProtoMajor)
			time.Sleep(100 * time.Second)
		}
		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
}
