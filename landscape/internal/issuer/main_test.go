package issuer_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/issuer"
)

func TestMain(m *testing.M) {
	issuer.Quiet()
	goleak.VerifyTestMain(m)
}

// everything are all scopes.
var everything = []string{oidc.ScopeOpenID, "profile", "email", "groups", oidc.ScopeOfflineAccess}

// program is a command line in front of an issuer: it waits for codes on a
// loopback port.
type program struct {
	*issuer.Issuer

	t        *testing.T
	client   *http.Client
	config   oauth2.Config
	verifier *oidc.IDTokenVerifier
	// called receives the query of each request to its address.
	called chan url.Values
}

func open(t *testing.T, o issuer.Options) *issuer.Issuer {
	t.Helper()
	i, err := issuer.Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()) })
	return i
}

func start(t *testing.T) *program {
	t.Helper()
	return startFor(t, open(t, issuer.Options{}))
}

func startFor(t *testing.T, i *issuer.Issuer) *program {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	p := &program{Issuer: i, t: t, client: &http.Client{Transport: transport}, called: make(chan url.Values, 10)}
	waiting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.called <- r.URL.Query()
		_, _ = w.Write([]byte("go back to your terminal"))
	}))
	t.Cleanup(waiting.Close)
	provider, err := oidc.NewProvider(p.ctx(), i.URL())
	require.NoError(t, err)
	p.config = oauth2.Config{ClientID: issuer.ClientID, Endpoint: provider.Endpoint(), RedirectURL: waiting.URL + "/callback", Scopes: everything}
	p.config.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	p.verifier = provider.VerifierContext(p.ctx(), &oidc.Config{ClientID: issuer.ClientID})
	return p
}

// ctx is a context with the program's client.
func (p *program) ctx() context.Context { return oidc.ClientContext(p.t.Context(), p.client) }

// set changes the settings.
func (p *program) set(change func(*issuer.Settings)) {
	p.t.Helper()
	settings := p.Settings()
	change(&settings)
	require.NoError(p.t, p.SetSettings(settings))
}

func lasting(d time.Duration) faults.Duration { return faults.Duration(d) }

// code lets a user log in and returns the code and its verifier.
func (p *program) code(user string) (code, verifier string) {
	p.t.Helper()
	verifier = oauth2.GenerateVerifier()
	page, err := p.LogIn(p.t.Context(), p.config.AuthCodeURL("state-1", oauth2.S256ChallengeOption(verifier)), user)
	require.NoError(p.t, err)
	require.Equal(p.t, issuer.Page{Address: p.config.RedirectURL, Status: http.StatusOK, Body: "go back to your terminal"}, page)
	query := <-p.called
	require.Equal(p.t, "state-1", query.Get("state"))
	require.NotEmpty(p.t, query.Get("code"))
	return query.Get("code"), verifier
}

func (p *program) exchange(code, verifier string) (*oauth2.Token, error) {
	return p.config.Exchange(p.ctx(), code, oauth2.VerifierOption(verifier))
}

// login lets a user log in and returns the tokens.
func (p *program) login(user string) *oauth2.Token {
	p.t.Helper()
	token, err := p.exchange(p.code(user))
	require.NoError(p.t, err)
	return token
}

// refresh returns what a refresh token gets.
func (p *program) refresh(token string) (*oauth2.Token, error) {
	return p.config.TokenSource(p.ctx(), &oauth2.Token{RefreshToken: token}).Token()
}

// claims are what the tests look at in an ID token.
type claims struct {
	Name     string `json:"name"`
	Email    string `json:"email"`
	Verified bool   `json:"email_verified"`
	Groups   any    `json:"groups"`
	Nonce    string `json:"nonce"`
}

// identify verifies the ID token that came with a token.
func (p *program) identify(token *oauth2.Token) (*oidc.IDToken, claims) {
	p.t.Helper()
	raw, ok := token.Extra("id_token").(string)
	require.True(p.t, ok)
	return p.verify(raw)
}

func (p *program) verify(raw string) (*oidc.IDToken, claims) {
	p.t.Helper()
	verified, err := p.verifier.Verify(p.ctx(), raw)
	require.NoError(p.t, err)
	var c claims
	require.NoError(p.t, verified.Claims(&c))
	return verified, c
}

// refused requires that an endpoint for tokens answered with an error of a kind.
func refused(t *testing.T, err error, kind string) {
	t.Helper()
	var failure *oauth2.RetrieveError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, kind, failure.ErrorCode, failure.ErrorDescription)
}
