package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// hangUp cuts the connection without an answer.
func hangUp(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	connection, _, err := http.NewResponseController(w).Hijack()
	require.NoError(t, err)
	require.NoError(t, connection.Close())
}

// silent is for servers whose complaints are what the test wants.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// flaky answers with the steps one after another and remembers the requests.
type flaky struct {
	steps []func(w http.ResponseWriter)

	mu     sync.Mutex // a cut connection orders nothing
	bodies []string
	keys   []string
}

func (f *flaky) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bodies = append(f.bodies, string(body))
	f.keys = append(f.keys, r.Header.Get("Idempotency-Key"))
	if len(f.steps) == 0 {
		_, _ = io.WriteString(w, `{"id":"1"}`)
		return
	}
	step := f.steps[0]
	f.steps = f.steps[1:]
	step(w)
}

func (f *flaky) seen() (bodies, keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.bodies), slices.Clone(f.keys)
}

func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { http.Error(w, "not now", code) }
}

func cutBody(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"id":`)
}

func TestReadsAreRepeatedUntilTheyAreAnswered(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]func(http.ResponseWriter){
		"429":            status(http.StatusTooManyRequests),
		"502":            status(http.StatusBadGateway),
		"503":            status(http.StatusServiceUnavailable),
		"504":            status(http.StatusGatewayTimeout),
		"cut connection": func(w http.ResponseWriter) { hangUp(t, w) },
		"cut body":       cutBody,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &flaky{steps: []func(http.ResponseWriter){step, step, step}}
			got, err := Get[thing](t.Context(), overNetwork(t, server.serve), []string{"things"}, nil)
			require.NoError(t, err)
			require.Equal(t, "1", got.ID)
			bodies, _ := server.seen()
			require.GreaterOrEqual(t, len(bodies), 4)
		})
	}
}

func TestOtherStatusesAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, code := range []int{400, 401, 403, 404, 408, 409, 500, 501, 505} {
		server := &flaky{steps: []func(http.ResponseWriter){status(code)}}
		_, err := Get[thing](t.Context(), overNetwork(t, server.serve), []string{"things"}, nil)
		require.ErrorContains(t, err, "not now")
		bodies, _ := server.seen()
		require.Len(t, bodies, 1, "%d", code)
	}
}

func TestTheLastAnswerIsReturnedWhenNoTryHelps(t *testing.T) {
	t.Parallel()
	always := func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no healthy upstream", http.StatusServiceUnavailable)
	}
	var failures []Failure
	client := overNetwork(t, always, func(o *Options) {
		o.Tries = 3
		o.NewError = func(f Failure) error {
			failures = append(failures, f)
			return errors.New(f.String())
		}
	})
	_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
	require.Len(t, failures, 3)
	require.EqualError(t, err, failures[2].String())
	require.Equal(t, http.StatusServiceUnavailable, failures[2].Status)
	require.Equal(t, "no healthy upstream", failures[2].Reason)

	server := httptest.NewServer(nil)
	server.Close()
	client = New(Options{BaseURL: server.URL, HTTPClient: server.Client(), FirstPause: time.Microsecond, Tries: 3})
	_, err = Get[thing](t.Context(), client, []string{"things"}, nil)
	require.ErrorContains(t, err, "GET "+server.URL+"/things: after 3 tries: ")
	require.ErrorContains(t, err, "refused")
}

func TestWritesAreRepeatedOnlyWhereTheServerCannotHaveActed(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]func(http.ResponseWriter){
		"429":            status(http.StatusTooManyRequests),
		"502":            status(http.StatusBadGateway),
		"503":            status(http.StatusServiceUnavailable),
		"cut connection": func(w http.ResponseWriter) { hangUp(t, w) },
		"cut body":       cutBody,
	} {
		for _, method := range []string{http.MethodPost, http.MethodPut} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				req := Request{Method: method, Path: []string{"things"}, Form: url.Values{"id": {"1"}}}

				server := &flaky{steps: []func(http.ResponseWriter){step}}
				_, err := Send[thing](t.Context(), overNetwork(t, server.serve), req)
				require.Error(t, err)
				bodies, _ := server.seen()
				require.Len(t, bodies, 1)

				server = &flaky{steps: []func(http.ResponseWriter){step, step}}
				req.IdempotencyKey = "key-1"
				_, err = Send[thing](t.Context(), overNetwork(t, server.serve), req)
				require.NoError(t, err)
				bodies, keys := server.seen()
				require.Equal(t, []string{"id=1", "id=1", "id=1"}, bodies)
				require.Equal(t, []string{"key-1", "key-1", "key-1"}, keys)
			})
		}
	}
}

func TestWritesAreRepeatedWhenTheConnectionIsRefused(t *testing.T) {
	t.Parallel()
	server := &flaky{}
	backend := httptest.NewServer(http.HandlerFunc(server.serve))
	t.Cleanup(backend.Close)
	var dials atomic.Int32
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) < 3 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	client := New(Options{BaseURL: backend.URL, HTTPClient: &http.Client{Transport: transport}, FirstPause: time.Microsecond})
	_, err := Send[thing](t.Context(), client, Request{Method: http.MethodPost, Path: []string{"things"}, JSON: thing{ID: "1"}})
	require.NoError(t, err)
	bodies, _ := server.seen()
	require.Equal(t, []string{`{"id":"1","name":""}`}, bodies)
	require.EqualValues(t, 3, dials.Load())
}

func TestWhatCannotGetBetterIsNotRepeated(t *testing.T) {
	t.Parallel()
	t.Run("a certificate that nobody trusts", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(answer(`{}`))
		server.Config.ErrorLog = silent()
		server.StartTLS()
		t.Cleanup(server.Close)
		client := New(Options{BaseURL: server.URL, HTTPClient: &http.Client{Transport: &http.Transport{}}, FirstPause: time.Hour})
		_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
		require.ErrorContains(t, err, "certificate")
	})
	t.Run("a server that asks for a certificate", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(answer(`{}`))
		server.Config.ErrorLog = silent()
		server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
		server.StartTLS()
		t.Cleanup(server.Close)
		client := New(Options{BaseURL: server.URL, HTTPClient: server.Client(), FirstPause: time.Hour})
		_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
		require.True(t, Distrusted(err), err)
	})
	t.Run("a server that there is not", func(t *testing.T) {
		t.Parallel()
		transport := roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "keb.example", IsNotFound: true}}
		})
		client := New(Options{BaseURL: "http://keb.example", HTTPClient: &http.Client{Transport: transport}, FirstPause: time.Hour})
		_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
		require.ErrorContains(t, err, "no such host")
	})
	t.Run("a server without TLS", func(t *testing.T) {
		t.Parallel()
		client := overNetwork(t, answer(`{}`), func(o *Options) {
			o.BaseURL = strings.Replace(o.BaseURL, "http://", "https://", 1)
			o.FirstPause = time.Hour
		})
		_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
		require.ErrorIs(t, err, http.ErrSchemeMismatch)
	})
	t.Run("a token that the HTTP client cannot get", func(t *testing.T) {
		t.Parallel()
		refused := &oauth2.RetrieveError{Response: &http.Response{Status: "400 Bad Request"}, ErrorCode: "invalid_grant"}
		transport := &oauth2.Transport{Source: tokenSource(func() (*oauth2.Token, error) { return nil, refused })}
		client := New(Options{BaseURL: "http://keb.example", HTTPClient: &http.Client{Transport: transport}, FirstPause: time.Hour})
		_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
		require.ErrorIs(t, err, refused)
	})
	t.Run("a login that is over", func(t *testing.T) {
		t.Parallel()
		over := errors.New("the login is over")
		transport := roundTrip(func(*http.Request) (*http.Response, error) { return nil, &TokenError{Err: over} })
		client := New(Options{BaseURL: "http://keb.example", HTTPClient: &http.Client{Transport: transport}, FirstPause: time.Hour})
		_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
		require.ErrorIs(t, err, over)
	})
}

func TestPausesGrowAndFollowRetryAfter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		header          http.Header
		atLeast, atMost time.Duration
	}{
		"own pauses":       {nil, 7500 * time.Millisecond, 23500 * time.Millisecond},
		"seconds":          {http.Header{"Retry-After": {"20"}}, 100 * time.Second, 100 * time.Second},
		"capped":           {http.Header{"Retry-After": {"86400"}}, 300 * time.Second, 300 * time.Second},
		"no time at all":   {http.Header{"Retry-After": {"0"}}, 7500 * time.Millisecond, 23500 * time.Millisecond},
		"not a time":       {http.Header{"Retry-After": {"soon"}}, 7500 * time.Millisecond, 23500 * time.Millisecond},
		"negative seconds": {http.Header{"Retry-After": {"-5"}}, 7500 * time.Millisecond, 23500 * time.Millisecond},
		"a date": {http.Header{
			"Date": {"Wed, 15 May 2024 12:00:00 GMT"}, "Retry-After": {"Wed, 15 May 2024 12:00:30 GMT"},
		}, 150 * time.Second, 150 * time.Second},
		"a date that is over": {http.Header{
			"Date": {"Wed, 15 May 2024 12:00:00 GMT"}, "Retry-After": {"Wed, 15 May 2024 11:00:00 GMT"},
		}, 7500 * time.Millisecond, 23500 * time.Millisecond},
		"a date and no clock to compare it with": {http.Header{
			"Retry-After": {"Wed, 15 May 2024 12:00:30 GMT"},
		}, 7500 * time.Millisecond, 23500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				client := withoutNetwork(func(w http.ResponseWriter, _ *http.Request) {
					tries++
					for key, values := range test.header {
						w.Header()[key] = values
					}
					w.WriteHeader(http.StatusTooManyRequests)
				})
				begin := time.Now()
				_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
				require.ErrorContains(t, err, "status 429")
				require.Equal(t, DefaultTries, tries)
				require.GreaterOrEqual(t, time.Since(begin), test.atLeast)
				require.LessOrEqual(t, time.Since(begin), test.atMost)
			})
		})
	}
}

func TestTheContextEndsAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := withoutNetwork(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			http.Error(w, "away", http.StatusServiceUnavailable)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		_, err := Get[thing](ctx, client, []string{"things"}, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "away")
		require.Equal(t, 10*time.Second, time.Since(begin))
	})
}

func TestACanceledContextSendsNothingMore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	shutdown := errors.New("shutting down")
	calls := 0
	client := overNetwork(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		cancel(shutdown)
		w.WriteHeader(http.StatusServiceUnavailable)
	}, func(o *Options) { o.FirstPause = time.Hour })
	_, err := Get[thing](ctx, client, []string{"things"}, nil)
	require.ErrorIs(t, err, shutdown)
	require.Equal(t, 1, calls)

	_, err = Get[thing](ctx, client, []string{"things"}, nil)
	require.ErrorIs(t, err, shutdown)
	require.Equal(t, 1, calls)
}

// roundTrip is a function as the transport of an HTTP client.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
