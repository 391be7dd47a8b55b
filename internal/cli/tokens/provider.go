package tokens

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/internal/auth"
	"github.com/swell-fleet/swell/internal/cli/home"
)

// Provider is an OpenID Connect provider as a public client sees it.
type Provider struct {
	issuer   string
	client   *http.Client
	clock    func() time.Time
	provider *oidc.Provider
	document document
	keys     keys
}

// document is what the provider says about itself, beyond what go-oidc keeps.
type document struct {
	Scopes        []string `json:"scopes_supported"`
	RevocationURL string   `json:"revocation_endpoint"`
	NamesItself   bool     `json:"authorization_response_iss_parameter_supported"`
	DeviceURL     string   `json:"device_authorization_endpoint"`
	CodeURL       string   `json:"authorization_endpoint"`
	KeysURL       string   `json:"jwks_uri"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
}

// Discover asks a provider about itself. The client is not changed. The clock is the one by which tokens will be renewed.
func Discover(ctx context.Context, client *http.Client, issuer string, clock func() time.Time) (*Provider, error) {
	if err := auth.CheckIssuer(issuer); err != nil {
		return nil, err
	}
	p := &Provider{issuer: issuer, client: followingReads(auth.ProviderClient(client)), clock: clock}
	provider, err := oidc.NewProvider(p.ctx(ctx), issuer)
	if err != nil {
		// Whatever it says, it is no answer of a provider that works, unless it is another one.
		_, another := errors.AsType[*oidc.IssuerMismatchError](err)
		return nil, fmt.Errorf("ask the provider %s about itself: %w", issuer, &ProviderError{Away: !another, Err: err, text: shorten(err.Error())})
	}
	if err := provider.Claims(&p.document); err != nil {
		return nil, fmt.Errorf("ask the provider %s about itself: %w", issuer, err)
	}
	p.provider = provider
	for _, address := range []string{p.document.CodeURL, p.document.DeviceURL} {
		if address != "" && !Page(address) {
			return nil, fmt.Errorf("ask the provider %s about itself: it sends to %q, which is no https address", issuer, shorten(address))
		}
	}
	return p, nil
}

// followingReads makes a client follow redirects of reads only: a refresh token or a code that is sent must not be sent again to where an answer points.
func followingReads(client *http.Client) *http.Client {
	follow := client.CheckRedirect
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if via[0].Method != http.MethodGet {
			return http.ErrUseLastResponse
		}
		return follow(next, via)
	}
	return client
}

// Page reports whether an address may be shown in a browser: it is that of a page, and nobody on the way can answer instead.
func Page(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && auth.Secure(u)
}

// ctx makes requests go through the client of the provider.
func (p *Provider) ctx(ctx context.Context) context.Context { return oidc.ClientContext(ctx, p.client) }

// wanted are the scopes that are asked for where the provider knows them: who it is, in which groups, and a token to renew the login with.
var wanted = []string{"email", "groups", oidc.ScopeOfflineAccess}

// Scopes returns what to ask for when nobody said it. A provider that does not tell its scopes is asked for those that every provider knows.
func (p *Provider) Scopes() []string {
	scopes := []string{oidc.ScopeOpenID}
	for _, scope := range wanted {
		if slices.Contains(p.document.Scopes, scope) || len(p.document.Scopes) == 0 && scope == "email" {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// HasCodes reports whether one can log in with a browser.
func (p *Provider) HasCodes() bool { return p.document.CodeURL != "" }

// HasDevices reports whether one can log in with a code that is entered on another device.
func (p *Provider) HasDevices() bool { return p.document.DeviceURL != "" }

// NamesItself reports whether the provider says who it is when it sends a browser back.
func (p *Provider) NamesItself() bool { return p.document.NamesItself }

// Config returns the settings of a login at the provider. RedirectURL is left to the caller.
func (p *Provider) Config(login home.Login) *oauth2.Config {
	endpoint := p.provider.Endpoint()
	// The program keeps no secret, so there is nothing to try out.
	endpoint.AuthStyle = oauth2.AuthStyleInParams
	return &oauth2.Config{ClientID: login.ClientID, Endpoint: endpoint, Scopes: login.Scopes}
}

// Device starts a login with a code that is entered on another device, and Wait ends it.
func (p *Provider) Device(ctx context.Context, login home.Login) (*oauth2.DeviceAuthResponse, error) {
	answer, err := p.Config(login).DeviceAuth(p.ctx(ctx))
	if err != nil {
		return nil, fmt.Errorf("begin the login: %w", readable(err))
	}
	return answer, nil
}

// Wait waits until the code was entered, and returns the tokens. A provider that does not answer for a while is asked on until the code expires.
func (p *Provider) Wait(ctx context.Context, login home.Login, code *oauth2.DeviceAuthResponse) (Tokens, error) {
	about := "the code was not entered in time"
	for {
		// It waits before it asks, so this does not turn in circles.
		answer, err := p.Config(login).DeviceAccessToken(p.ctx(ctx), code)
		if err == nil {
			return p.take(ctx, login, answer, nil)
		}
		refused, ok := errors.AsType[*oauth2.RetrieveError](err)
		switch {
		case ctx.Err() != nil:
			return Tokens{}, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded) && !code.Expiry.IsZero():
			return Tokens{}, Refusal("expired_token", about)
		case ok && final(refused):
			return Tokens{}, fmt.Errorf("log in: %w", readable(err))
		}
		about = "at last " + readable(err).Error()
	}
}

// Exchange returns the tokens for a code that a browser brought back.
func (p *Provider) Exchange(ctx context.Context, config *oauth2.Config, login home.Login, code, verifier, nonce string) (Tokens, error) {
	answer, err := config.Exchange(p.ctx(ctx), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return Tokens{}, fmt.Errorf("log in: %w", readable(err))
	}
	return p.take(ctx, login, answer, func(token *oidc.IDToken) error {
		if token.Nonce != nonce {
			return errors.New("the token is the answer to another login")
		}
		return nil
	})
}

// Renew returns new tokens of the same login. With an error it returns the old ones, which may have a new refresh token: many providers take each
// of them once, so it must not get lost.
func (p *Provider) Renew(ctx context.Context, old Tokens) (Tokens, error) {
	answer, err := p.Config(old.Login).TokenSource(p.ctx(ctx), &oauth2.Token{RefreshToken: old.RefreshToken}).Token()
	if err != nil {
		return old, fmt.Errorf("renew the login: %w", readable(err))
	}
	fresh, err := p.take(ctx, old.Login, answer, func(token *oidc.IDToken) error {
		if token.Subject != old.Subject {
			return errors.New("the token is that of somebody else")
		}
		return nil
	})
	if err != nil {
		old.RefreshToken = answer.RefreshToken
		return old, fmt.Errorf("renew the login: %w", err)
	}
	fresh.Servers = old.Servers
	return fresh, nil
}

// Revoke tells the provider that a login is over. It does nothing at a provider that cannot be told.
func (p *Provider) Revoke(ctx context.Context, old Tokens) error {
	if p.document.RevocationURL == "" || old.RefreshToken == "" {
		return nil
	}
	form := url.Values{"client_id": {old.Login.ClientID}, "token": {old.RefreshToken}, "token_type_hint": {"refresh_token"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.document.RevocationURL, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("revoke the login: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := p.client.Do(request)
	if err != nil {
		return fmt.Errorf("revoke the login: %w", readable(err))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("revoke the login: the provider answered %s", response.Status)
	}
	return nil
}

// take verifies the ID token of an answer.
func (p *Provider) take(ctx context.Context, login home.Login, answer *oauth2.Token, check func(*oidc.IDToken) error) (Tokens, error) {
	raw, ok := answer.Extra("id_token").(string)
	if !ok || raw == "" {
		return Tokens{}, errNoIDToken
	}
	token, err := p.verify(ctx, login, raw)
	if err != nil {
		return Tokens{}, fmt.Errorf("verify the ID token: %w", err)
	}
	if check != nil {
		if err := check(token); err != nil {
			return Tokens{}, fmt.Errorf("verify the ID token: %w", err)
		}
	}
	off := p.off(token.IssuedAt)
	t := Tokens{
		Login: login, Subject: token.Subject, IDToken: raw, RefreshToken: answer.RefreshToken,
		IssuedAt: token.IssuedAt.Add(off).UTC(), Expiry: token.Expiry.Add(off).UTC(),
	}
	// Later times have no form that could be kept.
	if latest := p.clock().AddDate(10, 0, 0).UTC(); t.Expiry.After(latest) {
		t.Expiry = latest
	}
	return t, nil
}

// longestSkew is how far the clocks of the provider and of this machine may be apart before one of them counts as wrong.
const longestSkew = 5 * time.Minute

// off returns by how much the times of a token that was just made have to be moved to be times of this machine's clock. A clock that is wrong by
// hours would renew a token all the time, or not at all.
func (p *Provider) off(made time.Time) time.Duration {
	if made.Unix() <= 0 {
		return 0
	}
	if off := p.clock().Sub(made); off.Abs() > longestSkew {
		return off
	}
	return 0
}

var errNoIDToken = errors.New("the provider sent no ID token")

// ProviderError is an error in dealing with a provider, with a text that is fit for a line.
type ProviderError struct {
	// Away is true when the provider did not answer, or is not able to at the moment.
	Away bool
	// Refused is true when the provider, or the user there, said no.
	Refused bool
	// Err is what happened.
	Err  error
	text string
}

// Error returns the text.
func (e *ProviderError) Error() string { return e.text }

// Unwrap returns what happened.
func (e *ProviderError) Unwrap() error { return e.Err }

// Ended reports whether the provider says that a login is over.
func (e *ProviderError) Ended() bool {
	refused, ok := errors.AsType[*oauth2.RetrieveError](e.Err)
	return ok && refused.ErrorCode == "invalid_grant"
}

// readable makes the error of a request to a provider fit for a line: short, and with what the provider said instead of how.
func readable(err error) error {
	refused, answered := errors.AsType[*oauth2.RetrieveError](err)
	if !answered {
		_, unreachable := errors.AsType[*url.Error](err)
		return &ProviderError{Away: unreachable, Err: err, text: shorten(err.Error())}
	}
	text := "the provider refuses it"
	switch {
	case refused.ErrorCode != "":
		text += ": " + refused.ErrorCode
		if refused.ErrorDescription != "" {
			text += " (" + refused.ErrorDescription + ")"
		}
	case refused.Response != nil:
		text = "the provider answers " + refused.Response.Status
	}
	return &ProviderError{Away: !final(refused), Refused: final(refused), Err: refused, text: shorten(text)}
}

// Refusal is the error of a login that ended at the provider with a code, and with words about it or none.
func Refusal(code, about string) error {
	return fmt.Errorf("log in: %w", readable(&oauth2.RetrieveError{ErrorCode: code, ErrorDescription: about}))
}

// final reports whether a provider will give the same answer again.
func final(refused *oauth2.RetrieveError) bool {
	switch refused.ErrorCode {
	case "":
		return refused.Response != nil && refused.Response.StatusCode >= 400 && refused.Response.StatusCode < 500 &&
			refused.Response.StatusCode != http.StatusTooManyRequests
	case "temporarily_unavailable", "server_error", "slow_down":
		return false
	default:
		return true
	}
}

// longestText is how much of a provider's message is shown, in bytes.
const longestText = 300

// shorten cuts a text of a provider to what fits into a message, on one line.
func shorten(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(text) > longestText {
		return strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return text
}
