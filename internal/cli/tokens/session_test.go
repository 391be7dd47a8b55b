package tokens_test

import (
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
)

func TestATokenIsRenewedAheadOfItsEnd(t *testing.T) {
	t.Parallel()
	p, folder := newProvider(t), home.At(t.TempDir())
	first := p.kept(t, folder)
	session := p.session(t, folder)

	p.clock.Set(58 * time.Minute)
	token, err := session.Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, token)
	require.Zero(t, p.renewals())

	p.clock.Set(59*time.Minute + time.Second)
	token, err = session.Token(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first, token)
	require.Equal(t, 1, p.renewals())

	again, err := session.Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, token, again)
	other, err := p.session(t, folder).Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, token, other, "the next process uses what this one got")
	require.Equal(t, 1, p.renewals())
}

func TestShortTokensAreRenewedInTheLastQuarterOfTheirLife(t *testing.T) {
	t.Parallel()
	p, folder := newProvider(t), home.At(t.TempDir())
	p.kept(t, folder)
	short := tokens.Tokens{Login: p.login(), Subject: "user-1", IDToken: "short", RefreshToken: "refresh-0", IssuedAt: noon, Expiry: noon.Add(40 * time.Second)}
	replace(t, folder, short)
	p.clock.Set(29 * time.Second)
	token, err := p.session(t, folder).Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, "short", token)
	p.clock.Set(31 * time.Second)
	token, err = p.session(t, folder).Token(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, "short", token)
}

// A refresh token is good once: processes that renew at the same time must not use the same one.
func TestOneOfManyProcessesRenews(t *testing.T) {
	t.Parallel()
	p, folder := newProvider(t), home.At(t.TempDir())
	p.kept(t, folder)
	p.clock.Set(2 * time.Hour)
	got := make([]string, 20)
	var running sync.WaitGroup
	for i := range got {
		session := p.session(t, folder)
		running.Go(func() {
			token, err := session.Token(t.Context())
			if err != nil {
				t.Error(err)
			}
			got[i] = token
		})
	}
	running.Wait()
	require.Equal(t, 1, p.renewals())
	for _, token := range got {
		require.Equal(t, got[0], token)
	}
}

func TestARefusedTokenIsRenewedUnlessSomebodyDidItAlready(t *testing.T) {
	t.Parallel()
	p, folder := newProvider(t), home.At(t.TempDir())
	first := p.kept(t, folder)
	one, other := p.session(t, folder), p.session(t, folder)
	for _, session := range []*tokens.Session{one, other} {
		token, err := session.Token(t.Context())
		require.NoError(t, err)
		require.Equal(t, first, token)
	}
	p.clock.Set(time.Second)
	renewed, err := one.Renew(t.Context(), first)
	require.NoError(t, err)
	require.NotEqual(t, first, renewed)
	taken, err := other.Renew(t.Context(), first)
	require.NoError(t, err)
	require.Equal(t, renewed, taken)
	require.Equal(t, 1, p.renewals())
	p.clock.Set(2 * time.Second)
	third, err := other.Renew(t.Context(), renewed)
	require.NoError(t, err)
	require.NotEqual(t, renewed, third)
}

// What cannot be renewed at the moment is used as long as it is good; what can never be renewed asks for a login.
func TestTheEndOfALogin(t *testing.T) {
	t.Parallel()
	refuse := func(status int, code string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { answer(w, status, map[string]string{"error": code}) }
	}
	for name, test := range map[string]struct {
		answer func(*provider) func(http.ResponseWriter)
		lasts  bool
		text   string
	}{
		"revoked":   {func(*provider) func(http.ResponseWriter) { return refuse(400, "invalid_grant") }, true, "the login has ended"},
		"forbidden": {func(*provider) func(http.ResponseWriter) { return refuse(401, "invalid_client") }, true, "the provider refuses it: invalid_client"},
		"away": {func(*provider) func(http.ResponseWriter) {
			return func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
		}, false, "503"},
		"busy": {func(*provider) func(http.ResponseWriter) { return refuse(400, "temporarily_unavailable") }, false, "temporarily_unavailable"},
		"no ID token": {func(*provider) func(http.ResponseWriter) {
			return func(w http.ResponseWriter) {
				answer(w, 200, map[string]string{"access_token": "a", "token_type": "Bearer"})
			}
		}, true, "the provider sent no ID token"},
		"somebody else": {func(p *provider) func(http.ResponseWriter) {
			token := p.Token(issuer.Claims{"sub": "user-2"})
			return func(w http.ResponseWriter) {
				answer(w, 200, map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": token})
			}
		}, true, "somebody else"},
		"another audience": {func(p *provider) func(http.ResponseWriter) {
			token := p.Token(issuer.Claims{"aud": "another"})
			return func(w http.ResponseWriter) {
				answer(w, 200, map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": token})
			}
		}, true, "verify the ID token"},
		"another signer": {func(p *provider) func(http.ResponseWriter) {
			token := p.Token(nil) + "x"
			return func(w http.ResponseWriter) {
				answer(w, 200, map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": token})
			}
		}, true, "verify the ID token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, folder := newProvider(t), home.At(t.TempDir())
			first := p.kept(t, folder)
			p.answers(test.answer(p))

			p.clock.Set(59*time.Minute + 30*time.Second)
			token, err := p.session(t, folder).Token(t.Context())
			require.NoError(t, err, "it is still good for half a minute")
			require.Equal(t, first, token)

			p.clock.Set(time.Hour)
			_, err = p.session(t, folder).Token(t.Context())
			require.ErrorContains(t, err, test.text)
			require.NotContains(t, err.Error(), "refresh-0")
			var absent *tokens.AbsentError
			if test.lasts {
				require.ErrorAs(t, err, &absent)
				require.ErrorContains(t, err, "log in with 'swell login'")
			} else {
				require.NotErrorAs(t, err, &absent)
			}

			p.answers(nil)
			_, kept, err := tokens.Load(folder, p.login())
			require.NoError(t, err)
			require.Equal(t, name != "revoked", kept, "what the provider has revoked is of no use any more")
			if test.lasts {
				return
			}
			_, err = p.session(t, folder).Token(t.Context())
			require.NoError(t, err, "the login goes on when the provider does")
		})
	}
}

// A clock that is wrong by hours neither renews a token with every request nor misses its end.
func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		p, folder := newProvider(t), home.At(t.TempDir())
		refused := p.kept(t, folder)
		var here time.Duration
		session := p.session(t, folder)
		session.Clock = func() time.Time { return p.clock.Now().Add(here) }
		here = wrong
		first, err := session.Renew(t.Context(), refused)
		require.NoError(t, err)
		p.clock.Set(58 * time.Minute)
		again, err := session.Token(t.Context())
		require.NoError(t, err)
		require.Equal(t, first, again)
		p.clock.Set(59*time.Minute + time.Second)
		again, err = session.Token(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, first, again)
		require.Equal(t, 2, p.renewals())
	}
}

// A refresh token that came is kept even when what came with it cannot be used, since the one before is not good any more.
func TestARefreshTokenDoesNotGetLost(t *testing.T) {
	t.Parallel()
	p, folder := newProvider(t), home.At(t.TempDir())
	p.kept(t, folder)
	p.clock.Set(2 * time.Hour)
	p.claims = issuer.Claims{"aud": "another"}
	_, err := p.session(t, folder).Token(t.Context())
	require.ErrorContains(t, err, "verify the ID token")
	require.Equal(t, 1, p.renewals())
	p.claims = nil
	_, err = p.session(t, folder).Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, p.renewals())
}

// Whether a token that cannot be renewed is still good, the server knows better than this machine's clock.
func TestALoginWithoutRenewalEndsWhenTheServerSaysSo(t *testing.T) {
	t.Parallel()
	p, folder := newProvider(t), home.At(t.TempDir())
	once := tokens.Tokens{Login: p.login(), Subject: "user-1", Servers: []string{place}, IDToken: "once", IssuedAt: noon, Expiry: noon.Add(time.Hour)}
	replace(t, folder, once)
	p.clock.Set(2 * time.Hour)
	session := p.session(t, folder)
	token, err := session.Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, "once", token)
	_, err = session.Renew(t.Context(), token)
	require.ErrorContains(t, err, "the login has ended; log in with 'swell login'")
}

// Logging out and in while another process renews the login: what the user did last holds.
func TestWhatTheUserDoesHoldsAgainstARenewal(t *testing.T) {
	t.Parallel()
	for _, out := range []bool{true, false} {
		p, folder := newProvider(t), home.At(t.TempDir())
		p.kept(t, folder)
		p.clock.Set(2 * time.Hour)
		asked, goOn := make(chan struct{}), make(chan struct{})
		renewed := p.Token(nil)
		p.answers(func(w http.ResponseWriter) {
			close(asked)
			<-goOn
			answer(w, http.StatusOK, map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": renewed, "refresh_token": "renewed"})
		})
		session := p.session(t, folder)
		var running sync.WaitGroup
		running.Go(func() {
			if _, err := session.Token(t.Context()); err != nil {
				t.Error(err)
			}
		})
		<-asked
		ended := make(chan []tokens.Tokens)
		running.Go(func() {
			defer close(ended)
			var old []tokens.Tokens
			var err error
			if out {
				old, err = tokens.Take(t.Context(), folder, p.login())
			} else {
				old, err = tokens.Replace(t.Context(), folder, tokens.Tokens{Login: p.login(), Subject: "user-2", IDToken: "bob"})
			}
			if err != nil {
				t.Error(err)
			}
			ended <- old
		})
		select {
		case <-ended:
			t.Error("it did not wait for the renewal")
		default:
		}
		close(goOn)
		old := <-ended
		require.Len(t, old, 1)
		require.Equal(t, "renewed", old[0].RefreshToken, "the token that is good is the one to give up")
		running.Wait()
		kept, ok, err := tokens.Load(folder, p.login())
		require.NoError(t, err)
		require.Equal(t, !out, ok)
		if !out {
			require.Equal(t, "bob", kept.IDToken)
		}
	}
}

func TestTokensAreKeptForEachProviderClientAndScopes(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	logins := []home.Login{
		{Issuer: "https://a.example", ClientID: "swell", Scopes: []string{"openid"}},
		{Issuer: "https://b.example", ClientID: "swell", Scopes: []string{"openid"}},
		{Issuer: "https://a.example", ClientID: "other", Scopes: []string{"openid"}},
		{Issuer: "https://a.example", ClientID: "swell", Scopes: []string{"openid", "groups"}},
	}
	for _, login := range logins {
		_, ok, err := tokens.Load(folder, login)
		require.NoError(t, err)
		require.False(t, ok)
		replace(t, folder, tokens.Tokens{Login: login, IDToken: login.Issuer + login.ClientID})
	}
	for _, login := range logins {
		kept, ok, err := tokens.Load(folder, login)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, login.Issuer+login.ClientID, kept.IDToken)
	}
	swapped := home.Login{Issuer: "https://a.example", ClientID: "swell", Scopes: []string{"groups", "openid"}}
	gone, err := tokens.Take(t.Context(), folder, swapped)
	require.NoError(t, err)
	require.Len(t, gone, 1, "the order of scopes does not matter")
	_, ok, err := tokens.Load(folder, logins[3])
	require.NoError(t, err)
	require.False(t, ok)
}

func TestTokensThatCannotBeReadAskForALogin(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	for _, text := range []string{"", "{", "[]", "null", `{"idToken":""}`} {
		folder := home.At(t.TempDir())
		p.kept(t, folder)
		files, err := filepath.Glob(folder.Path("tokens/*.json"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		require.NoError(t, os.WriteFile(files[0], []byte(text), 0o600))
		_, err = p.session(t, folder).Token(t.Context())
		require.ErrorContains(t, err, "you are not logged in")
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	end, ok := tokens.Expiry(p.Token(nil))
	require.True(t, ok)
	require.Equal(t, noon.Add(time.Hour), end)
	for _, text := range []string{"", "a.b", "a.b.c", p.Token(issuer.Claims{"exp": nil}), p.Token(issuer.Claims{"exp": 1e18}), p.Token(issuer.Claims{"exp": "x"})} {
		_, ok := tokens.Expiry(text)
		require.False(t, ok, text)
	}
}
