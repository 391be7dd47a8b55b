package issuer_test

import (
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/issuer"
)

func (p *program) do(request *http.Request) (status int, body string) {
	p.t.Helper()
	response, err := p.client.Do(request)
	require.NoError(p.t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	require.NoError(p.t, response.Body.Close())
	return response.StatusCode, string(text)
}

// post sends a form to the issuer.
func (p *program) post(path string, form url.Values) (status int, body string) {
	p.t.Helper()
	response, err := p.client.PostForm(p.URL()+path, form)
	require.NoError(p.t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	require.NoError(p.t, response.Body.Close())
	return response.StatusCode, string(text)
}

func TestRefreshGivesANewIDTokenAndANewRefreshToken(t *testing.T) {
	t.Parallel()
	p := start(t)
	first := p.login("ann")
	before, _ := p.identify(first)
	require.NoError(t, p.SetUser(issuer.User{Name: "ann", Groups: issuer.InGroups("runtimeOperator", "others")}))
	second, err := p.refresh(first.RefreshToken)
	require.NoError(t, err)
	require.NotEqual(t, first.RefreshToken, second.RefreshToken)
	require.NotEqual(t, first.AccessToken, second.AccessToken)
	after, c := p.identify(second)
	require.Equal(t, before.Subject, after.Subject)
	require.Equal(t, claims{Groups: []any{"runtimeOperator", "others"}}, c, "what is known now")
	third, err := p.refresh(second.RefreshToken)
	require.NoError(t, err)
	require.NotEmpty(t, third.RefreshToken)
}

func TestUsedRefreshTokenTakesItsLoginWithIt(t *testing.T) {
	t.Parallel()
	p := start(t)
	other := p.login("ann")
	first := p.login("ann")
	second, err := p.refresh(first.RefreshToken)
	require.NoError(t, err)
	_, err = p.refresh(first.RefreshToken)
	refused(t, err, "invalid_grant")
	_, err = p.refresh(second.RefreshToken)
	refused(t, err, "invalid_grant")
	_, err = p.refresh(other.RefreshToken)
	require.NoError(t, err, "another login of the same user goes on")
}

func TestReuseCanBeForgiven(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.set(func(s *issuer.Settings) { s.ReuseRevokes = false })
	first := p.login("ann")
	second, err := p.refresh(first.RefreshToken)
	require.NoError(t, err)
	_, err = p.refresh(first.RefreshToken)
	refused(t, err, "invalid_grant")
	_, err = p.refresh(second.RefreshToken)
	require.NoError(t, err)
}

// However they meet: one gets new tokens, and the others are the second use that
// ends the login.
func TestOfManyRefreshesWithOneTokenOneSucceeds(t *testing.T) {
	t.Parallel()
	for _, revokes := range []bool{false, true} {
		p := start(t)
		p.set(func(s *issuer.Settings) { s.ReuseRevokes = revokes })
		token := p.login("ann").RefreshToken
		const tries = 8
		got, failed := make(chan string, tries), make(chan error, tries)
		var running sync.WaitGroup
		for range tries {
			running.Go(func() {
				if fresh, err := p.refresh(token); err != nil {
					failed <- err
				} else {
					got <- fresh.RefreshToken
				}
			})
		}
		running.Wait()
		close(failed)
		for err := range failed {
			refused(t, err, "invalid_grant")
		}
		require.Len(t, got, 1)
		_, err := p.refresh(<-got)
		if revokes {
			refused(t, err, "invalid_grant")
		} else {
			require.NoError(t, err)
		}
	}
}

func TestRefreshMayAskForLess(t *testing.T) {
	t.Parallel()
	p := start(t)
	first := p.login("ann")
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {issuer.ClientID}, "refresh_token": {first.RefreshToken}, "scope": {"openid address"}}
	status, body := p.post("/oauth/token", form)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "invalid_scope")
	form.Set("scope", "openid")
	status, body = p.post("/oauth/token", form)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"refresh_token"`)
}

func TestRevokedTokensAreRefused(t *testing.T) {
	t.Parallel()
	p := start(t)
	first, second, other := p.login("ann"), p.login("ann"), p.login("bob")
	status, body := p.post("/revoke", url.Values{"client_id": {issuer.ClientID}, "token": {first.RefreshToken}, "token_type_hint": {"refresh_token"}})
	require.Equal(t, http.StatusOK, status, body)
	_, err := p.refresh(first.RefreshToken)
	refused(t, err, "invalid_grant")

	revoked, err := p.RevokeUser("ann")
	require.NoError(t, err)
	require.Equal(t, 1, revoked)
	_, err = p.refresh(second.RefreshToken)
	refused(t, err, "invalid_grant")
	_, err = p.refresh(other.RefreshToken)
	require.NoError(t, err)
	_, err = p.RevokeUser("nobody")
	require.ErrorIs(t, err, issuer.ErrNotFound)
}

func TestLoggingOutEndsTheLogin(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.login("ann")
	status, body := p.post("/end_session", url.Values{"id_token_hint": {token.Extra("id_token").(string)}})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "Logged out")
	_, err := p.refresh(token.RefreshToken)
	refused(t, err, "invalid_grant")
}

func TestLifetimesAreAsSet(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.set(func(s *issuer.Settings) {
		s.IDToken, s.AccessToken, s.RefreshToken = lasting(5*time.Minute), lasting(2*time.Minute), lasting(time.Nanosecond)
	})
	token := p.login("ann")
	verified, _ := p.identify(token)
	require.Equal(t, 5*time.Minute, verified.Expiry.Sub(verified.IssuedAt))
	require.WithinDuration(t, time.Now().Add(2*time.Minute), token.Expiry, 30*time.Second)
	_, err := p.refresh(token.RefreshToken)
	refused(t, err, "invalid_grant")
}

func TestImpossibleSettingsAreRefused(t *testing.T) {
	t.Parallel()
	i := open(t, issuer.Options{})
	for name, change := range map[string]func(*issuer.Settings){
		"idToken": func(s *issuer.Settings) { s.IDToken = 0 }, "interval": func(s *issuer.Settings) { s.Interval = lasting(-time.Second) },
		"refreshToken": func(s *issuer.Settings) { s.RefreshToken = lasting(1 << 62) }, "slowDowns": func(s *issuer.Settings) { s.SlowDowns = -1 },
	} {
		settings := issuer.DefaultSettings()
		change(&settings)
		err := i.SetSettings(settings)
		require.ErrorIs(t, err, issuer.ErrInvalid)
		require.ErrorContains(t, err, name)
	}
	require.Equal(t, issuer.DefaultSettings(), i.Settings())
	_, err := issuer.Open(issuer.Options{Algorithm: "HS256"})
	require.ErrorIs(t, err, issuer.ErrInvalid)
	_, err = issuer.Open(issuer.Options{Listen: "0.0.0.0:0"})
	require.ErrorContains(t, err, "loopback")
}

func TestTokensAreIssuedWithoutALogin(t *testing.T) {
	t.Parallel()
	p := start(t)
	tokens, err := p.Issue(issuer.Wish{User: "bob"})
	require.NoError(t, err)
	require.Empty(t, tokens.RefreshToken)
	_, c := p.verify(tokens.IDToken)
	require.Equal(t, claims{Name: "Bob Builder", Email: "bob@example.com", Verified: true, Groups: []any{"runtimeOperator"}}, c)

	tokens, err = p.Issue(issuer.Wish{User: "bob", Scopes: everything, Claims: map[string]any{"groups": nil, "name": "Robert"}})
	require.NoError(t, err)
	_, c = p.verify(tokens.IDToken)
	require.Equal(t, claims{Name: "Robert", Email: "bob@example.com", Verified: true}, c)
	refreshed, err := p.refresh(tokens.RefreshToken)
	require.NoError(t, err)
	_, c = p.identify(refreshed)
	require.Equal(t, "Bob Builder", c.Name)

	expired := faults.Duration(-time.Minute)
	tokens, err = p.Issue(issuer.Wish{User: "bob", Lifetime: &expired})
	require.NoError(t, err)
	_, err = p.verifier.Verify(p.ctx(), tokens.IDToken)
	var tooLate *oidc.TokenExpiredError
	require.ErrorAs(t, err, &tooLate)
	require.WithinDuration(t, tokens.Expires, tooLate.Expiry, time.Second)

	_, err = p.Issue(issuer.Wish{User: "nobody"})
	require.ErrorIs(t, err, issuer.ErrNotFound)
}

func TestRobotsGetTokensThatCanBeRead(t *testing.T) {
	t.Parallel()
	p := start(t)
	for robot, group := range map[string]string{issuer.Robot: "runtimeOperator", issuer.AdminRobot: "runtimeAdmin"} {
		for _, style := range []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams} {
			config := clientcredentials.Config{ClientID: robot, ClientSecret: p.Secret(robot), TokenURL: p.config.Endpoint.TokenURL, AuthStyle: style, Scopes: []string{"groups"}}
			token, err := config.Token(p.ctx())
			require.NoError(t, err)
			require.Empty(t, token.RefreshToken)
			verified, c := p.verify(token.AccessToken)
			require.Equal(t, robot, verified.Subject)
			require.Equal(t, []any{group}, c.Groups)
		}
	}
}

func TestRobotsNeedTheirSecret(t *testing.T) {
	t.Parallel()
	p := start(t)
	for id, secret := range map[string]string{
		issuer.Robot: "wrong", issuer.AdminRobot: "", "unknown": p.Secret(issuer.Robot), issuer.ClientID: "",
	} {
		config := clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: p.config.Endpoint.TokenURL, AuthStyle: oauth2.AuthStyleInHeader}
		_, err := config.Token(p.ctx())
		refused(t, err, "invalid_client")
	}
}

func TestRobotsCannotLogInAsPeople(t *testing.T) {
	t.Parallel()
	p := start(t)
	form := url.Values{"client_id": {issuer.Robot}, "client_secret": {p.Secret(issuer.Robot)}, "scope": {"openid"}}
	status, body := p.post("/device_authorization", form)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "unauthorized_client")
	form.Set("grant_type", "refresh_token")
	form.Set("refresh_token", p.login("ann").RefreshToken)
	status, body = p.post("/oauth/token", form)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "unauthorized_client")
}
