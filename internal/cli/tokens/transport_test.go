package tokens_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/apiclient"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// turns brings one token after another.
type turns struct {
	mu   sync.Mutex
	list []string
	err  error
}

// Token implements tokens.Source.
func (t *turns) Token(context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.list[0], nil
}

// Renew implements tokens.Source.
func (t *turns) Renew(context.Context, string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) > 1 {
		t.list = t.list[1:]
	}
	return t.list[0], t.err
}

// seen is a server that accepts one token and notes what it gets.
type seen struct {
	*httptest.Server

	challenge string
	mu        sync.Mutex
	requests  []string
}

func newSeen(t *testing.T, good, challenge string) *seen {
	t.Helper()
	s := &seen{challenge: challenge}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, strings.TrimSpace(r.Header.Get("Authorization")+" "+string(body)))
		s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+good {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// client returns a client that sends a source's tokens to the server.
func (s *seen) client(t *testing.T, source tokens.Source) *http.Client {
	t.Helper()
	server, err := url.Parse(s.URL)
	require.NoError(t, err)
	return &http.Client{Transport: &tokens.Transport{Server: server, Source: source, Base: s.Client().Transport}}
}

// send sends a body and returns the status.
func send(t *testing.T, client *http.Client, address, body string) (int, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	response, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	require.NoError(t, response.Body.Close())
	require.Empty(t, r.Header.Get("Authorization"), "the caller's request is left alone")
	return response.StatusCode, nil
}

const invalid = `Bearer realm="swell", error="invalid_token", error_description="the token has expired"`

func TestARequestIsRepeatedOnceWithANewToken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tokens    []string
		challenge string
		status    int
		requests  []string
	}{
		"a good token":         {[]string{"good"}, invalid, 200, []string{"Bearer good body"}},
		"renewed":              {[]string{"old", "good"}, invalid, 200, []string{"Bearer old body", "Bearer good body"}},
		"renewed in vain":      {[]string{"old", "older", "good"}, invalid, 401, []string{"Bearer old body", "Bearer older body"}},
		"nothing else to send": {[]string{"old"}, invalid, 401, []string{"Bearer old body"}},
		"not the token's fault": {
			[]string{"old", "good"}, `Bearer realm="swell"`, 401, []string{"Bearer old body"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newSeen(t, "good", test.challenge)
			status, err := send(t, server.client(t, &turns{list: test.tokens}), server.URL, "body")
			require.NoError(t, err)
			require.Equal(t, test.status, status)
			require.Equal(t, test.requests, server.requests)
		})
	}
}

func TestALoginThatEndsMeanwhileIsTold(t *testing.T) {
	t.Parallel()
	server := newSeen(t, "good", invalid)
	_, err := send(t, server.client(t, &turns{list: []string{"old", "none"}, err: &tokens.AbsentError{Reason: "the login has ended"}}), server.URL, "body")
	require.ErrorContains(t, err, "the login has ended")
	var lasting *apiclient.TokenError
	require.ErrorAs(t, err, &lasting, "nobody tries again")

	away := errors.New("away")
	_, err = send(t, server.client(t, &turns{list: []string{"old", "none"}, err: away}), server.URL, "body")
	require.ErrorIs(t, err, away)
	require.ErrorAs(t, err, &lasting)
}

// Whoever the server sends us to does not get the token.
func TestTheTokenGoesToTheServerOnly(t *testing.T) {
	t.Parallel()
	elsewhere := newSeen(t, "", invalid)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	own, err := url.Parse(server.URL)
	require.NoError(t, err)
	client := &http.Client{Transport: &tokens.Transport{Server: own, Source: tokens.Given{Text: "secret"}, Base: server.Client().Transport}}
	t.Cleanup(client.CloseIdleConnections)
	status, err := send(t, client, server.URL, "body")
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, []string{"body"}, elsewhere.requests)
}

// Another program may stand under another path of the same host.
func TestTheTokenGoesBelowThePathOfTheServerOnly(t *testing.T) {
	t.Parallel()
	for path, own := range map[string]bool{
		"/swell": true, "/swell/": true, "/swell/runtimes": true, "/": false, "/other": false, "/swell-other/collect": false, "/sw%65ll/runtimes": false,
	} {
		host := newSeen(t, "secret", invalid)
		server, err := url.Parse(host.URL + "/swell/")
		require.NoError(t, err)
		client := &http.Client{Transport: &tokens.Transport{Server: server, Source: tokens.Given{Text: "secret"}, Base: http.DefaultTransport}}
		status, err := send(t, client, host.URL+path, "body")
		require.NoError(t, err)
		require.Equal(t, own, status == http.StatusOK, path)
	}
}

func TestATokenInAFileIsReadForEveryRequest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("first\n"), 0o600))
	source := tokens.File(path)
	token, err := source.Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, "first", token)
	require.NoError(t, os.WriteFile(path, []byte("second"), 0o600))
	token, err = source.Renew(t.Context(), "first")
	require.NoError(t, err)
	require.Equal(t, "second", token)
	for _, text := range []string{"", "\n", "two words", "two\nlines", "ö"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := source.Token(t.Context())
		var absent *tokens.AbsentError
		require.ErrorAs(t, err, &absent, "%q", text)
		require.NotContains(t, err.Error(), "words")
	}
}
