package e2e_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
)

// A watch whose login is over ends and says so, and does not ask the provider for ever; the upgrade goes on.
func TestAWatchEndsWithItsLogin(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	f := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.34.5", ReconcileTime: 10 * time.Minute})
	s := server.StartLocal(t, nil, with(settingsFor(t, f), "auth-issuers", issuer.URL, "auth-audiences", issuer.ClientID))
	issuer.Set(t, landscape.IssuerSettings{IDToken: 2 * time.Second})
	u := loggedIn(t, s.URL, issuer, "ann")
	id := strings.TrimSpace(u.does(t, "upgrade", "cluster", "--target", "all", "--version", landscape.Target, "--yes"))

	watch := u.start(t, "orchestrations", id, "watch")
	await.That(t, "the login is renewed", func() error {
		if issuer.Requests(t).Received["token/refresh_token"] == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	issuer.Revoke(t, "ann")
	end := watch.wait()
	require.Equal(t, 5, end.code, end.out+end.err)
	require.Contains(t, end.err, "the login has ended; log in with 'swell login'")
	require.Contains(t, end.err, "swell orchestrations "+id+" watch", "the upgrade goes on")
	require.LessOrEqual(t, issuer.Requests(t).Refused["token/refresh_token"], 2)

	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte(issuer.Issue(t, landscape.Wish{User: "ann", Lifetime: time.Hour}).IDToken), 0o600))
	watch = u.start(t, "--token-file", path, "orchestrations", id, "watch", "-o", "json")
	watch.says(t, "(in progress)")
	require.NoError(t, os.Remove(path))
	end = watch.wait()
	require.Equal(t, 5, end.code, end.err)
	require.Contains(t, end.err, "the token cannot be read")
}

// The browser is the user's: it is not waited for, and not ended with the login.
func TestABrowserIsLeftAlone(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := newUser(t, s.URL)
	folder := t.TempDir()
	browser, gate, opened, closed := filepath.Join(folder, "browser"), filepath.Join(folder, "gate"), filepath.Join(folder, "opened"), filepath.Join(folder, "closed")
	require.NoError(t, os.WriteFile(browser, []byte("#!/bin/sh\necho \"$2\" >"+opened+".new\nmv "+opened+".new "+opened+"\nread line <"+gate+"\ntouch "+closed+"\n"), 0o700))
	makeFIFO(t, gate)
	u.env = append(u.env, "BROWSER="+browser+" --new-window %s")
	login := u.start(t, "login")
	var page string
	await.That(t, "the browser has the address", func() error {
		text, err := os.ReadFile(opened)
		page = strings.TrimSpace(string(text))
		return err
	})
	issuer.LogIn(t, page, "ann")
	require.Zero(t, login.wait().code)
	require.NoFileExists(t, closed)
	// It still waits for this line.
	require.NoError(t, os.WriteFile(gate, []byte("go\n"), 0o600))
	await.That(t, "the browser ends by itself", func() error {
		_, err := os.Stat(closed)
		return err
	})
}

// Whoever logs in as somebody else, with other scopes, or removes the context gives the login before up, at the provider, too.
func TestLoginsAreGivenUp(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := loggedIn(t, s.URL, issuer, "ann")
	revoked := 0
	requireRevoked := func() {
		t.Helper()
		revoked++
		require.Equal(t, revoked, issuer.Requests(t).Received["revoke"])
	}
	require.Zero(t, u.logIn(t, issuer, "bob").code)
	requireRevoked()
	require.Zero(t, u.logIn(t, issuer, "ann", "--scopes", "openid,groups,offline_access").code)
	requireRevoked()
	files, err := filepath.Glob(filepath.Join(u.home, "tokens", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	u.does(t, "context", "remove", "127.0.0.1")
	requireRevoked()
	files, err = filepath.Glob(filepath.Join(u.home, "tokens", "*.json"))
	require.NoError(t, err)
	require.Empty(t, files)
	require.Zero(t, issuer.Requests(t).Refused["revoke"])
}

// Logging out works also where nothing else does.
func TestLoggingOutAlwaysWorks(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := loggedIn(t, s.URL, issuer, "ann")
	path := filepath.Join(u.home, "contexts.yaml")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(text, []byte("    ca-file: /missing/ca.pem\n")...), 0o600))
	require.Contains(t, u.fails(t, 2, "whoami"), "/missing/ca.pem")
	r := u.run(t, "logout")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.err, "could not be told")
	files, err := filepath.Glob(filepath.Join(u.home, "tokens", "*.json"))
	require.NoError(t, err)
	require.Empty(t, files)
}

// What a provider says about a refusal is one line of ours, whatever it holds.
func TestAProviderCannotWriteLinesOfItsOwn(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := newUser(t, s.URL)
	login := u.start(t, "login", "--no-browser")
	begun := parse(t, login.says(t, address))
	forged := "?error=x&error_description=" + "a%0Aswell:%20type%20your%20password:%0D%1B%5B2J" + "&state=" + begun.Query().Get("state") + "&iss=" + issuer.URL
	require.Equal(t, http.StatusBadRequest, visit(t, returnTo(begun)+forged))
	end := login.wait()
	require.Equal(t, 5, end.code)
	require.Contains(t, end.err, "swell: log in: the provider refuses it: x (a swell: type your password: [2J)")
	require.NotContains(t, end.err, "\nswell: type")
}

// A token in a pipe is read once, and what is no token is not waited for.
func TestATokenInAPipe(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := newUser(t, s.URL)
	pipe := filepath.Join(t.TempDir(), "pipe")
	makeFIFO(t, pipe)
	who := u.start(t, "--token-file", pipe, "whoami", "-o", "json")
	require.NoError(t, os.WriteFile(pipe, []byte(issuer.Token(t, "bob")), 0o600))
	end := who.wait()
	require.Zero(t, end.code, end.err)
	require.Contains(t, end.out, `"token": "file"`)
	require.Contains(t, u.fails(t, 2, "--token-file", "/dev/zero", "whoami"), "is longer than")
}

func makeFIFO(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}

func parse(t *testing.T, address string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	return parsed
}

// A login that the server does not accept is not kept, and the one before it stays. Nobody has to log in to learn that nothing can be kept.
func TestALoginThatIsOfNoUse(t *testing.T) {
	t.Parallel()
	issuer, other := landscape.NewIssuer(t, landscape.IssuerOptions{}), landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := loggedIn(t, s.URL, issuer, "ann")
	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/logins" {
			_, _ = io.WriteString(w, `{"data":[{"issuer":"`+other.URL+`","clientID":"`+other.ClientID+`"}]}`)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="swell", error="invalid_token"`)
		http.Error(w, `{"detail":"the token is meant\nfor another audience"}`, http.StatusUnauthorized)
	}))
	t.Cleanup(liar.Close)
	r := u.logIn(t, other, "bob", "--url", liar.URL)
	require.Equal(t, 5, r.code, r.err)
	require.Contains(t, r.err, "the server does not accept its token")
	require.Equal(t, 1, other.Requests(t).Received["revoke"])
	require.Contains(t, u.does(t, "whoami"), "ann@example.com")
	require.NotContains(t, u.does(t, "context", "list"), liar.URL)

	u.env = append(u.env, "SWELL_HOME=/proc/nowhere")
	require.Contains(t, u.fails(t, 1, "login", "--no-browser"), "keep the login")
	require.Equal(t, 1, issuer.Requests(t).Received["authorize"], "nobody was sent to log in for nothing")
}
