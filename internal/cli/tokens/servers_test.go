package tokens_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// Another server may name the same provider, client and scopes: it is not shown what was not made for it, nor is that renewed for its sake.
func TestALoginIsForTheServersItWasMadeFor(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"https://evil.example", "http://swell.example", "https://swell.example:8443", "https://swell.example/other", ""} {
		for _, later := range []time.Duration{0, 2 * time.Hour} {
			p := newProvider(t)
			folder := home.At(t.TempDir())
			first := p.kept(t, folder)
			p.clock.Set(later)
			session := p.session(t, folder)
			session.Server = server
			_, err := session.Token(t.Context())
			var absent *tokens.AbsentError
			require.ErrorAs(t, err, &absent, server)
			require.ErrorContains(t, err, "you are not logged in to this server")
			require.ErrorContains(t, err, "log in with 'swell login'")
			_, err = session.Renew(t.Context(), first)
			require.ErrorAs(t, err, &absent, server)
			require.Zero(t, p.renewals(), server)
		}
	}
}

// A login at another server adds it; both have the same tokens from then on, also after they were renewed.
func TestALoginAtAnotherServerAddsIt(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	folder := home.At(t.TempDir())
	p.kept(t, folder)
	replace(t, folder, tokens.Tokens{
		Login: p.login(), Subject: "user-1", Servers: []string{"https://other.example"}, IDToken: p.Token(nil), RefreshToken: "refresh-0",
		IssuedAt: noon, Expiry: noon.Add(time.Hour),
	})
	p.clock.Set(2 * time.Hour)
	var shown []string
	for _, server := range []string{"https://SWELL.example:443/", "https://other.example"} {
		session := p.session(t, folder)
		session.Server = server
		token, err := session.Token(t.Context())
		require.NoError(t, err, server)
		shown = append(shown, token)
	}
	require.Equal(t, shown[0], shown[1])
	require.Equal(t, 1, p.renewals())
}

// Who logs in as somebody else does so at one server. At the others nobody asked for that.
func TestALoginAsSomebodyElseIsForOneServer(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	folder := home.At(t.TempDir())
	p.kept(t, folder)
	replace(t, folder, tokens.Tokens{Login: p.login(), Subject: "user-2", Servers: []string{"https://other.example"}, IDToken: "bob"})
	kept, ok, err := tokens.Load(folder, p.login())
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"https://other.example"}, kept.Servers)
}

// Tokens that an older version kept do not say for which server they are.
func TestTokensWithoutServersAskForALogin(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	folder := home.At(t.TempDir())
	replace(t, folder, tokens.Tokens{Login: p.login(), Subject: "user-1", IDToken: p.Token(nil), IssuedAt: noon, Expiry: noon.Add(time.Hour)})
	_, err := p.session(t, folder).Token(t.Context())
	require.ErrorContains(t, err, "you are not logged in to this server")
}

// A server that is left is not shown the tokens any more; the others are.
func TestAServerThatIsLeft(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	folder := home.At(t.TempDir())
	replace(t, folder, tokens.Tokens{
		Login: p.login(), Subject: "user-1", Servers: []string{"https://other.example", place}, IDToken: p.Token(nil), RefreshToken: "refresh-0",
		IssuedAt: noon, Expiry: noon.Add(time.Hour),
	})
	for range 2 {
		require.NoError(t, tokens.Leave(t.Context(), folder, p.login(), "https://OTHER.example/"))
		kept, ok, err := tokens.Load(folder, p.login())
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, []string{place}, kept.Servers)
		require.Equal(t, "refresh-0", kept.RefreshToken)
	}
}
