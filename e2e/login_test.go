package e2e_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
)

func TestABrowserLogsIn(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := newUser(t, s.URL)
	require.Contains(t, u.fails(t, 5, "runtimes"), "log in with 'swell login'")

	login := u.start(t, "login", "--no-browser")
	page := issuer.LogIn(t, login.says(t, address), "ann")
	require.Equal(t, http.StatusOK, page.Status)
	require.Contains(t, page.Body, "<h1>You are logged in</h1>")
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "default-src 'none'")
	end := login.wait()
	require.Zero(t, end.code, end.err)
	require.Contains(t, end.out, "as ann@example.com, role admin.")
	require.Contains(t, u.does(t, "whoami"), "ann@example.com")
	u.does(t, "runtimes")
	require.Contains(t, u.does(t, "context", "list"), "logged in")

	operator := loggedIn(t, s.URL, issuer, "bob")
	operator.does(t, "runtimes")
	require.Contains(t, operator.fails(t, 5, "upgrade", "cluster", "--target", "all", "--yes"), "this needs the role admin")
	single := loggedIn(t, s.URL, issuer, "oscar")
	require.Contains(t, single.does(t, "whoami"), "operator")
	nobody := newUser(t, s.URL)
	require.Contains(t, nobody.logIn(t, issuer, "eve").out, "without any role")
	require.Contains(t, nobody.fails(t, 5, "runtimes"), "this needs the role operator")

	require.Contains(t, u.does(t, "logout"), "Logged out of")
	require.Equal(t, 1, issuer.Requests(t).Received["revoke"])
	require.Contains(t, u.fails(t, 5, "runtimes"), "you are not logged in")
	require.Contains(t, u.does(t, "logout"), "no login to give up")
}

func TestALoginThatIsNotGranted(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := newUser(t, s.URL)
	denied := u.logIn(t, issuer, "")
	require.Equal(t, 5, denied.code, denied.err)
	require.Contains(t, denied.err, "access_denied")

	// Somebody else who leads the browser to the waiting program is sent away, and the login goes on.
	login := u.start(t, "login", "--no-browser")
	begun := parse(t, login.says(t, address))
	back := returnTo(begun)
	for _, forged := range []string{"", "?code=x", "?code=x&state=y", "?error=access_denied", "?state=" + begun.Query().Get("nonce")} {
		require.Equal(t, http.StatusBadRequest, visit(t, back+forged), forged)
	}
	require.Equal(t, http.StatusNotFound, visit(t, back+"/x"))
	issuer.LogIn(t, begun.String(), "ann")
	require.Zero(t, login.wait().code)

	// An answer that says to come from another provider ends it: one of the two is not who they say they are.
	login = u.start(t, "login", "--no-browser")
	begun = parse(t, login.says(t, address))
	require.Equal(t, http.StatusBadRequest, visit(t, returnTo(begun)+"?code=x&iss=https://evil.example&state="+begun.Query().Get("state")))
	end := login.wait()
	require.Equal(t, 1, end.code)
	require.Contains(t, end.err, `the answer comes from "https://evil.example"`)
	require.Contains(t, u.does(t, "whoami"), "ann@example.com", "the login before it stays")
}

// A login whose tokens cannot be kept leaves nothing that is good: the provider is told, and the context knows what to log out of.
func TestALoginThatCannotBeKept(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := newUser(t, s.URL)
	require.NoError(t, os.Mkdir(u.home, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(u.home, "tokens"), nil, 0o600))
	failed := u.logIn(t, issuer, "ann")
	require.Equal(t, 1, failed.code, failed.err)
	require.Contains(t, failed.err, "keep the tokens of the login")
	require.Equal(t, 1, issuer.Requests(t).Received["revoke"])
	require.NoError(t, os.Remove(filepath.Join(u.home, "tokens")))
	require.Contains(t, u.does(t, "context", "list"), "logged out")
	require.Zero(t, u.logIn(t, issuer, "ann").code)
	u.does(t, "runtimes")

	// The same scopes in another order are the same login, whose tokens stay.
	require.Zero(t, u.logIn(t, issuer, "ann", "--scopes", "offline_access,groups,email,openid").code)
	u.does(t, "runtimes")
	require.Zero(t, u.logIn(t, issuer, "ann", "--scopes", "openid,groups,email,offline_access").code)
	u.does(t, "runtimes")
}

// returnTo is where a provider sends the browser back to.
func returnTo(begun *url.URL) string { return begun.Query().Get("redirect_uri") }

func visit(t *testing.T, address string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	http.DefaultClient.CloseIdleConnections()
	return response.StatusCode
}

func TestADeviceLogsIn(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{Algorithm: "RS256"})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := newUser(t, s.URL)
	const code = `and enter the code:\n  (\S+)`

	login := u.start(t, "login", "--device")
	shown := login.says(t, code)
	await.That(t, "the program asks, and is told that nobody has answered yet", func() error {
		if issuer.Requests(t).Refused["token/device_code"] == 0 {
			return errors.New("it has not")
		}
		return nil
	})
	issuer.ApproveDevice(t, shown, "ann")
	end := login.wait()
	require.Zero(t, end.code, end.err)
	require.Contains(t, end.out, "as ann@example.com, role admin.")

	login = u.start(t, "login", "--device")
	issuer.DenyDevice(t, login.says(t, code))
	end = login.wait()
	require.Equal(t, 5, end.code, end.err)
	require.Contains(t, end.err, "access_denied")

	issuer.Set(t, landscape.IssuerSettings{DeviceCode: 2 * time.Second})
	end = u.run(t, "login", "--device")
	require.Equal(t, 5, end.code, end.err)
	require.Contains(t, end.err, "expired_token")
	require.Contains(t, u.does(t, "whoami"), "ann@example.com", "the login before it stays")
}

// Machines get tokens without a person; theirs are access tokens that are JWTs.
func TestAMachineLogsIn(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	token := func(id, secret string) string {
		config := clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: issuer.URL + "/oauth/token", AuthStyle: oauth2.AuthStyleInHeader}
		got, err := config.Token(t.Context())
		require.NoError(t, err)
		http.DefaultClient.CloseIdleConnections()
		return got.AccessToken
	}
	u := newUser(t, s.URL)
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte(token(issuer.RobotID, issuer.RobotSecret)+"\n"), 0o600))
	require.Contains(t, u.does(t, "--token-file", path, "whoami"), "operator")
	u.does(t, "--token-file", path, "runtimes")

	u.env = append(u.env, "SWELL_TOKEN="+token(issuer.AdminRobotID, issuer.AdminRobotSecret))
	require.Contains(t, u.does(t, "whoami"), "admin")
	require.Contains(t, u.fails(t, 2, "login"), "SWELL_TOKEN is set")
}

func TestATokenThatHasExpired(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := newUser(t, s.URL)
	u.env = append(u.env, "SWELL_TOKEN="+issuer.Issue(t, landscape.Wish{User: "ann", Lifetime: -time.Minute}).IDToken)
	text := u.fails(t, 5, "runtimes")
	require.Contains(t, text, "the token has expired")
	require.Contains(t, text, "it was shown the token of SWELL_TOKEN")
	answer := s.Send(t, http.MethodGet, "/runtimes", "", "Authorization", "Bearer "+issuer.Token(t, "ann")+"x")
	require.Equal(t, http.StatusUnauthorized, answer.Status)
}

func TestALoginIsRenewedUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	issuer.Set(t, landscape.IssuerSettings{IDToken: 2 * time.Second})
	u := loggedIn(t, s.URL, issuer, "ann")
	renewed := func() int { return issuer.Requests(t).Received["token/refresh_token"] }
	for _, want := range []int{1, 2} {
		await.That(t, "the login is renewed", func() error {
			u.does(t, "runtimes")
			if renewed() < want {
				return errors.New("it is not")
			}
			return nil
		})
	}
	require.Zero(t, issuer.Requests(t).Refused["token/refresh_token"], "each refresh token was used once")

	// A change of groups shows with the next token.
	issuer.SetGroups(t, "ann", "runtimeOperator")
	await.That(t, "ann is an operator", func() error {
		if out := u.does(t, "whoami", "-o", "json"); !strings.Contains(out, `"operator"`) {
			return errors.New(out)
		}
		return nil
	})

	require.Equal(t, 1, issuer.Revoke(t, "ann"))
	await.That(t, "the login is over", func() error {
		r := u.run(t, "whoami")
		if r.code == 0 {
			return errors.New("it is not")
		}
		require.Equal(t, 5, r.code, r.err)
		require.Contains(t, r.err, "the login has ended; log in with 'swell login'")
		return nil
	})
	require.Zero(t, u.logIn(t, issuer, "ann").code)
	u.does(t, "whoami")
}

// A server that was started after the keys were changed does not accept the token that the user has; the program gets another one and repeats.
func TestKeysAreChanged(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	place := newFront(t, server.StartLocal(t, nil, settingsOf(t, issuer)).URL)
	u := loggedIn(t, place.URL, issuer, "ann")
	issuer.RotateKeys(t, true)
	later := loggedIn(t, place.URL, issuer, "bob")
	later.does(t, "runtimes")
	u.does(t, "runtimes")
	require.Zero(t, issuer.Requests(t).Received["token/refresh_token"], "both keys are good")

	issuer.RotateKeys(t, false)
	place.show(t, server.StartLocal(t, nil, settingsOf(t, issuer)).URL)
	require.Contains(t, u.does(t, "whoami"), "ann@example.com")
	require.Equal(t, 1, issuer.Requests(t).Received["token/refresh_token"])
}

// front is an address that shows one server after another.
type front struct {
	*httptest.Server

	behind atomic.Pointer[url.URL]
}

func newFront(t *testing.T, behind string) *front {
	t.Helper()
	f := &front{}
	f.show(t, behind)
	transport := &http.Transport{}
	f.Server = httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(f.behind.Load()) }})
	t.Cleanup(func() {
		f.Close()
		transport.CloseIdleConnections()
	})
	return f
}

func (f *front) show(t *testing.T, behind string) {
	t.Helper()
	f.behind.Store(parse(t, behind))
}

func TestAProviderThatIsDown(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	token := issuer.Token(t, "ann")
	issuer.SetState(t, landscape.IssuerDown)
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	answer := s.Send(t, http.MethodGet, "/runtimes", "", "Authorization", "Bearer "+token)
	require.Equal(t, http.StatusServiceUnavailable, answer.Status, answer.Body)
	require.NotEmpty(t, answer.Header.Get("Retry-After"))
	s.Degraded(t)
	u := newUser(t, s.URL)
	text := u.fails(t, 4, "login")
	require.Contains(t, text, "ask the provider "+issuer.URL)
	require.NotContains(t, text, "swell serve", "the server is there")

	issuer.SetState(t, landscape.IssuerUp)
	s.Ready(t)
	require.Equal(t, http.StatusOK, s.Send(t, http.MethodGet, "/runtimes", "", "Authorization", "Bearer "+token).Status)
	require.Zero(t, u.logIn(t, issuer, "ann").code)

	for _, state := range []landscape.IssuerState{landscape.IssuerDown, landscape.IssuerFailing} {
		issuer.SetState(t, state)
		u.does(t, "runtimes")
		require.Contains(t, u.fails(t, 4, "login"), "ask the provider "+issuer.URL)
	}
	require.Contains(t, u.run(t, "logout").err, "the provider could not be told")
	require.Contains(t, u.fails(t, 5, "runtimes"), "you are not logged in")
}

// Whoever calls themselves what they like does not write into the terminal or the history of others.
func TestAHostileUser(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	issuer.SetGroups(t, "mallory", "runtimeAdmin", "\x1b[2J", "<script>")
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := newUser(t, s.URL)
	r := u.logIn(t, issuer, "mallory")
	require.Zero(t, r.code, r.err)
	for _, text := range []string{r.out, r.err, u.does(t, "whoami"), u.does(t, "whoami", "-o", "json")} {
		require.NotContains(t, text, "\x1b")
	}
	require.NotContains(t, r.out, "script", "a mail address that is none is nobody's name")
}

// Two providers are trusted at once; the user chooses one, and nobody is taken for somebody else's user.
func TestTwoProviders(t *testing.T) {
	t.Parallel()
	one, other := landscape.NewIssuer(t, landscape.IssuerOptions{}), landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, one, other))
	u := newUser(t, s.URL)
	require.Contains(t, u.fails(t, 2, "login"), "choose one with --issuer")
	r := u.logIn(t, other, "ann", "--issuer", other.URL)
	require.Zero(t, r.code, r.err)
	require.Contains(t, u.does(t, "whoami"), "ann@example.com ("+other.URL+")")
	r = u.logIn(t, other, "bob")
	require.Zero(t, r.code, r.err)
	require.Contains(t, u.does(t, "whoami"), "bob@example.com ("+other.URL+")", "the context remembers the provider")
}

// A watch that takes longer than a token goes on with the next one.
func TestAWatchOutlivesItsTokens(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	f := landscape.New(t, landscape.Options{Shoots: 6, Version: "1.34.5", ReconcileTime: time.Second})
	s := server.StartLocal(t, nil, with(settingsFor(t, f), "auth-issuers", issuer.URL, "auth-audiences", issuer.ClientID))
	issuer.Set(t, landscape.IssuerSettings{IDToken: 2 * time.Second})
	u := loggedIn(t, s.URL, issuer, "ann")
	u.does(t, "runtimes", "import", f.RuntimesFile)
	issuer.ForgetRequests(t)
	r := u.run(t, "upgrade", "cluster", "--target", "all", "--version", landscape.Target, "--yes", "--wait")
	require.Zero(t, r.code, r.err)
	require.Greater(t, issuer.Requests(t).Received["token/refresh_token"], 1)
	require.Zero(t, issuer.Requests(t).Refused["token/refresh_token"])
	require.Contains(t, u.does(t, "orchestrations"), "succeeded")
}

// A login is used for the server that it was made for, also when another one trusts the same provider.
func TestAnotherServerGetsNoToken(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	one, other := server.StartLocal(t, nil, settingsOf(t, issuer)), server.StartLocal(t, nil, settingsOf(t, issuer))
	u := loggedIn(t, one.URL, issuer, "ann")
	require.Contains(t, u.fails(t, 5, "--url", other.URL, "whoami"), "this server asks for a login")
	u.does(t, "whoami")

	// A context that is told the same login is not logged in by that.
	received := make(chan string, 10)
	spy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received <- r.Header.Get("Authorization") }))
	t.Cleanup(spy.Close)
	login := []string{"--issuer", issuer.URL, "--client-id", issuer.ClientID, "--scopes", "openid,email,groups,offline_access"}
	for name, address := range map[string]string{"spy": spy.URL, "other": other.URL} {
		u.does(t, append([]string{"context", "add", name, "--url", address}, login...)...)
	}
	u.env = u.env[:len(u.env)-1]
	require.Contains(t, u.fails(t, 5, "--context", "spy", "whoami"), "you are not logged in to this server; log in with 'swell --context spy login'")
	require.Empty(t, received)
	require.Regexp(t, `spy\t.*\tlogged out`, u.does(t, "context", "list"))
	require.Contains(t, u.does(t, "--context", "spy", "logout"), "no login to give up")

	// Logging in there adds the server; both are shown the same tokens from then on.
	page := u.start(t, "--context", "other", "login", "--no-browser")
	issuer.LogIn(t, page.says(t, address), "ann")
	require.Zero(t, page.wait().code)
	u.does(t, "--context", "other", "runtimes")
	u.does(t, "--url", one.URL, "runtimes")
	require.Contains(t, u.does(t, "--context", "other", "logout"), "Logged out of "+other.URL)
	require.Contains(t, u.fails(t, 5, "--url", one.URL, "runtimes"), "you are not logged in")
}
