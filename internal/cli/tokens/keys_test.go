package tokens_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
)

// atKeys puts something in the place of the provider's keys.
func (p *provider) atKeys(instead http.HandlerFunc) {
	p.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/keys" {
			return p.serve(w, r)
		}
		instead(w, r)
		return true
	})
}

// A provider whose keys cannot be had says nothing about a token: the login goes on when they are there again.
func TestKeysThatCannotBeHad(t *testing.T) {
	t.Parallel()
	text := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	for name, instead := range map[string]http.HandlerFunc{
		"503":         text(http.StatusServiceUnavailable, "away"),
		"404":         text(http.StatusNotFound, ""),
		"a page":      text(http.StatusOK, "<html>maintenance</html>"),
		"none":        text(http.StatusOK, `{"keys":[]}`),
		"none for us": text(http.StatusOK, `{"keys":[{"kty":"oct","k":"AAAA","kid":"key-1"}]}`),
		"a move to another page": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://login.example/keys", http.StatusFound)
		},
		"a move to nowhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://nowhere.example/", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, folder := newProvider(t), home.At(t.TempDir())
			refused := p.kept(t, folder)
			p.atKeys(instead)
			session := p.session(t, folder)
			_, err := session.Renew(t.Context(), refused)
			var away *tokens.ProviderError
			require.ErrorAs(t, err, &away)
			require.True(t, away.Away)
			require.False(t, away.Refused)
			require.ErrorContains(t, err, "the keys of the provider cannot be had")
			var absent *tokens.AbsentError
			require.NotErrorAs(t, err, &absent)

			p.SetFault(p.serve)
			_, err = session.Renew(t.Context(), refused)
			require.NoError(t, err)
			require.Equal(t, 2, p.renewals(), "by the refresh token that came with the token that nobody could verify")
		})
	}
}

// Interrupting the program while the keys are read is no fault of the provider.
func TestReadingKeysEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	p, folder := newProvider(t), home.At(t.TempDir())
	refused := p.kept(t, folder)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.atKeys(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := p.session(t, folder).Renew(ctx, refused)
	require.ErrorIs(t, err, context.Canceled)
}

// Keys are read once, and again when they do not verify a token.
func TestNewKeysOfAProviderAreFound(t *testing.T) {
	t.Parallel()
	p, folder := newProvider(t), home.At(t.TempDir())
	token := p.kept(t, folder)
	session := p.session(t, folder)
	renew := func() {
		t.Helper()
		var err error
		token, err = session.Renew(t.Context(), token)
		require.NoError(t, err)
	}
	renew()
	renew()
	require.Equal(t, 1, p.Requests("/keys"))
	p.Rotate()
	renew()
	require.Equal(t, 2, p.Requests("/keys"))
}

// Nothing that stands in a token makes a wrong one look like a provider that is away.
func TestAWrongTokenIsNotAProviderThatIsAway(t *testing.T) {
	t.Parallel()
	stranger := issuer.New(t, "https://login.example", (&clock{now: noon}).Now)
	stranger.Rotate()
	for name, token := range map[string]func(*provider) string{
		"words of another error":   func(p *provider) string { return p.Token(issuer.Claims{"aud": "fetching keys"}) },
		"a key that is not known":  func(*provider) string { return stranger.Token(nil) },
		"another key of that name": func(p *provider) string { p.Rotate(); return stranger.Token(nil) },
		"no token":                 func(*provider) string { return "fetching.keys.failed" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, folder := newProvider(t), home.At(t.TempDir())
			refused := p.kept(t, folder)
			wrong := token(p)
			p.answers(func(w http.ResponseWriter) {
				answer(w, http.StatusOK, map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": wrong})
			})
			_, err := p.session(t, folder).Renew(t.Context(), refused)
			var absent *tokens.AbsentError
			require.ErrorAs(t, err, &absent)
			require.ErrorContains(t, err, "verify the ID token")
			require.NotContains(t, err.Error(), wrong)
		})
	}
}

// A token is signed as the provider says that it signs; one that does not say signs as every provider is able to, which is RS256.
func TestAlgorithmsAreThoseOfTheProvider(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		told any
		good bool
	}{
		"this one":      {[]string{"ES256"}, true},
		"among others":  {[]string{"none", "HS256", "RS256", "ES256"}, true},
		"another one":   {[]string{"RS256"}, false},
		"what none can": {[]string{"none", "HS256"}, false},
		"not told":      {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			p.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/.well-known/openid-configuration" {
					return p.serve(w, r)
				}
				answer(w, http.StatusOK, map[string]any{
					"issuer": p.URL, "jwks_uri": p.URL + "/keys", "token_endpoint": p.URL + "/token", "id_token_signing_alg_values_supported": test.told,
				})
				return true
			})
			found, signed := p.discovered(t), p.Token(nil)
			claims := strings.Split(signed, ".")[1]
			for token, good := range map[string]bool{
				signed: test.good,
				base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + claims + ".":                    false,
				base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","kid":"key-1"}`)) + "." + claims + ".c2ln": false,
			} {
				p.answers(func(w http.ResponseWriter) {
					answer(w, http.StatusOK, map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": token})
				})
				_, err := found.Exchange(t.Context(), found.Config(p.login()), p.login(), "code", "verifier", "")
				require.Equal(t, good, err == nil, "%v", err)
			}
		})
	}
}
