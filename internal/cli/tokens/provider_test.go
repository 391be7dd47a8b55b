package tokens_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
)

// discovered asks the provider about itself.
func (p *provider) discovered(t *testing.T) *tokens.Provider {
	t.Helper()
	found, err := tokens.Discover(t.Context(), issuer.Client(p.Issuer), p.URL, p.clock.Now)
	require.NoError(t, err)
	return found
}

// A token is tied to the login that it was made for by a number that only the two sides know.
func TestTheAnswerToAnotherLoginIsRefused(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	found := p.discovered(t)
	for nonce, good := range map[any]bool{"mine": true, "another": false, "": false, nil: false} {
		token := p.Token(issuer.Claims{"nonce": nonce})
		p.answers(func(w http.ResponseWriter) {
			answer(w, http.StatusOK, map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": token, "refresh_token": "r"})
		})
		got, err := found.Exchange(t.Context(), found.Config(p.login()), p.login(), "code", "verifier", "mine")
		if !good {
			require.ErrorContains(t, err, "the answer to another login")
			require.Empty(t, got.IDToken)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tokens.Tokens{
			Login: p.login(), Subject: "user-1", IDToken: token, RefreshToken: "r", IssuedAt: noon, Expiry: got.Expiry,
		}, got)
	}
}

func TestScopesAreWhatTheProviderKnows(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	require.Equal(t, []string{"openid", "groups", "offline_access"}, p.discovered(t).Scopes())
	p.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/.well-known/openid-configuration" {
			return false
		}
		answer(w, http.StatusOK, map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys", "token_endpoint": p.URL + "/token"})
		return true
	})
	quiet := p.discovered(t)
	require.Equal(t, []string{"openid", "email"}, quiet.Scopes(), "a provider that does not tell its scopes")
	require.False(t, quiet.HasCodes())
	require.False(t, quiet.HasDevices())
	require.NoError(t, quiet.Revoke(t.Context(), tokens.Tokens{Login: p.login(), RefreshToken: "r"}), "there is nobody to tell")
}

// Nobody is asked where somebody else could answer, and what is no provider is told in a line.
func TestProvidersThatAreNone(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	_, err := tokens.Discover(t.Context(), issuer.Client(p.Issuer), "http://login.example", p.clock.Now)
	require.ErrorContains(t, err, "is not an https address")
	for name, document := range map[string]any{
		"another issuer":    map[string]any{"issuer": "https://evil.example", "token_endpoint": p.URL + "/token"},
		"no document":       []int{},
		"a page, at length": string(make([]byte, 100_000)),
	} {
		p.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
			answer(w, http.StatusOK, document)
			return true
		})
		_, err := tokens.Discover(t.Context(), issuer.Client(p.Issuer), p.URL, p.clock.Now)
		require.ErrorContains(t, err, "ask the provider https://login.example about itself", name)
		require.Less(t, len(err.Error()), 500, name)
	}
	for _, address := range []string{"file:///etc/passwd", "javascript:alert(1)", "vscode://x/y", "/bin/sh", "--remote-debugging-port=1", "http://evil.example/auth", "http:evil"} {
		p.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
			answer(w, http.StatusOK, map[string]any{"issuer": p.URL, "token_endpoint": p.URL + "/token", "authorization_endpoint": address})
			return true
		})
		_, err := tokens.Discover(t.Context(), issuer.Client(p.Issuer), p.URL, p.clock.Now)
		require.ErrorContains(t, err, "which is no https address", address)
	}
	insecure := newProvider(t)
	insecure.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
		answer(w, http.StatusOK, map[string]any{"issuer": insecure.URL, "jwks_uri": insecure.URL + "/keys", "token_endpoint": "http://login.example/token"})
		return true
	})
	_, err = insecure.discovered(t).Renew(t.Context(), tokens.Tokens{Login: home.Login{ClientID: "swell"}, RefreshToken: "secret"})
	require.ErrorContains(t, err, "is not an https address")
	require.NotContains(t, err.Error(), "secret")
}
