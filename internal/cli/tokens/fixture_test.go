package tokens_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
)

// noon is when the tests begin.
var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set sets the time to so long after noon.
func (c *clock) Set(after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = noon.Add(after)
}

// provider is a provider that renews logins: each refresh token once.
type provider struct {
	*issuer.Issuer

	clock *clock

	mu      sync.Mutex
	good    string
	renewed int
	// answer replaces the answer of the token endpoint, where it is set.
	answer func(w http.ResponseWriter)
	// claims change the tokens.
	claims issuer.Claims
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	c := &clock{now: noon}
	p := &provider{Issuer: issuer.New(t, "https://login.example", c.Now), clock: c, good: "refresh-0"}
	p.SetFault(p.serve)
	return p
}

// serve answers what the issuer of the test kit does not know.
func (p *provider) serve(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		answer(w, http.StatusOK, map[string]any{
			"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"revocation_endpoint": p.URL + "/revoke", "scopes_supported": []string{"openid", "groups", "offline_access"},
			"id_token_signing_alg_values_supported": []string{"ES256"},
		})
	case "/token":
		p.token(w, r)
	default:
		return false
	}
	return true
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answer != nil {
		p.answer(w)
		return
	}
	if r.FormValue("grant_type") != "refresh_token" || r.FormValue("client_id") != "swell" || r.FormValue("refresh_token") != p.good {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	p.renewed++
	p.good = fmt.Sprintf("refresh-%d", p.renewed)
	answer(w, http.StatusOK, map[string]any{
		"access_token": "opaque", "token_type": "Bearer", "expires_in": 60, "refresh_token": p.good, "id_token": p.Token(p.claims),
	})
}

// answers makes the token endpoint answer with something else from now on.
func (p *provider) answers(with func(w http.ResponseWriter)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = with
}

func (p *provider) renewals() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.renewed
}

func answer(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err)
	}
}

// login is the login of the tests.
func (p *provider) login() home.Login {
	return home.Login{Issuer: p.URL, ClientID: issuer.Audience, Scopes: []string{"openid", "groups"}}
}

// kept keeps tokens for an hour, as a login at noon brought them, and returns the first token.
func (p *provider) kept(t *testing.T, folder home.Folder) string {
	t.Helper()
	first := tokens.Tokens{
		Login: p.login(), Subject: "user-1", Servers: []string{place}, IDToken: p.Token(nil), RefreshToken: "refresh-0", IssuedAt: noon, Expiry: noon.Add(time.Hour),
	}
	replace(t, folder, first)
	return first.IDToken
}

// replace keeps tokens.
func replace(t *testing.T, folder home.Folder, with tokens.Tokens) {
	t.Helper()
	_, err := tokens.Replace(t.Context(), folder, with)
	require.NoError(t, err)
}

// place is the server that the tests log in to.
const place = "https://swell.example"

// session is one process that uses the login.
func (p *provider) session(t *testing.T, folder home.Folder) *tokens.Session {
	t.Helper()
	return &tokens.Session{
		Login: p.login(), Server: place, Folder: folder, Client: issuer.Client(p.Issuer), Clock: p.clock.Now, Again: "swell login",
		Note: func(format string, args ...any) { t.Errorf(format, args...) },
	}
}
