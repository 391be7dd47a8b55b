package issuer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// grant is what a client was given for one login: by which it got tokens, and can
// get more. It implements op.RefreshTokenRequest.
type grant struct {
	// login is the same for all tokens that come from one login.
	login    string
	user     string
	client   string
	audience []string
	scopes   []string
	amr      []string
	at       time.Time
	expires  time.Time
	// asked are the scopes of a refresh that wants fewer than the login had.
	asked []string
}

func (g *grant) GetAMR() []string            { return g.amr }
func (g *grant) GetAudience() []string       { return g.audience }
func (g *grant) GetAuthTime() time.Time      { return g.at }
func (g *grant) GetClientID() string         { return g.client }
func (g *grant) GetSubject() string          { return g.user }
func (g *grant) SetCurrentScopes(s []string) { g.asked = s }

func (g *grant) GetScopes() []string {
	if g.asked != nil {
		return g.asked
	}
	return g.scopes
}

// grantFor makes the grant of a request for tokens.
func grantFor(request op.TokenRequest) *grant {
	switch request := request.(type) {
	case *grant:
		return request
	case *login:
		return &grant{
			login: request.id, user: request.user, client: request.asked.ClientID, audience: request.GetAudience(),
			scopes: request.asked.Scopes, amr: request.GetAMR(), at: request.at,
		}
	case *op.DeviceAuthorizationState:
		return &grant{
			login: rand.Text(), user: request.Subject, client: request.ClientID, audience: request.GetAudience(),
			scopes: request.Scopes, amr: request.AMR, at: request.AuthTime,
		}
	}
	return &grant{login: rand.Text(), user: request.GetSubject(), client: request.GetSubject(), audience: request.GetAudience(), scopes: request.GetScopes()}
}

func (s storage) CreateAccessToken(_ context.Context, request op.TokenRequest) (id string, expires time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, expires = s.giveAccess(grantFor(request))
	return id, expires, nil
}

// giveAccess makes an access token. The lock is held.
func (i *Issuer) giveAccess(g *grant) (id string, expires time.Time) {
	given := *g
	given.scopes, given.asked = g.GetScopes(), nil
	given.expires = time.Now().Add(time.Duration(i.settings.AccessToken))
	id = rand.Text()
	i.accessTokens.put(id, &given, given.expires)
	return id, given.expires
}

// giveRefresh makes a refresh token. The lock is held.
func (i *Issuer) giveRefresh(g *grant) string {
	given := *g
	given.asked = nil
	given.expires = time.Now().Add(time.Duration(i.settings.RefreshToken))
	token := rand.Text() + rand.Text()
	i.refreshTokens.put(token, &given, given.expires)
	return token
}

// CreateAccessAndRefreshTokens makes both. Several may come here with the same
// refresh token, which TokenRequestByRefreshToken has found good for each: one
// gets them.
func (s storage) CreateAccessAndRefreshTokens(_ context.Context, request op.TokenRequest, current string) (id, refresh string, expires time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := grantFor(request)
	if current != "" {
		if err := s.unused(current); err != nil {
			return "", "", time.Time{}, oidc.ErrInvalidGrant().WithParent(err).WithDescription("%v", err)
		}
		old, ok := s.refreshTokens.take(current)
		if !ok {
			return "", "", time.Time{}, oidc.ErrInvalidGrant().WithDescription("the refresh token has expired or was revoked")
		}
		s.spend(current, old.login)
	}
	id, expires = s.giveAccess(g)
	return id, s.giveRefresh(g), expires, nil
}

func (s storage) TokenRequestByRefreshToken(_ context.Context, token string) (op.RefreshTokenRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unused(token); err != nil {
		return nil, err
	}
	g, ok := s.refreshTokens.get(token)
	if !ok {
		return nil, errors.New("the refresh token is not known, has expired or was revoked")
	}
	request := *g
	return &request, nil
}

// revokeLogin takes back all tokens of one login. The lock is held.
func (i *Issuer) revokeLogin(id string) {
	of := func(g *grant) bool { return g.login == id }
	i.refreshTokens.drop(of)
	i.accessTokens.drop(of)
}

// RevokeUser takes back all refresh and access tokens of a user, and returns how
// many refresh tokens that were.
func (i *Issuer) RevokeUser(name string) (int, error) {
	if _, err := i.User(name); err != nil {
		return 0, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	of := func(g *grant) bool { return g.user == name }
	i.accessTokens.drop(of)
	return i.refreshTokens.drop(of), nil
}

func (s storage) TerminateSession(_ context.Context, user, client string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := func(g *grant) bool { return g.user == user && g.client == client }
	s.refreshTokens.drop(of)
	s.accessTokens.drop(of)
	return nil
}

func (s storage) GetRefreshTokenInfo(_ context.Context, _, token string) (user, id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.refreshTokens.get(token)
	if !ok {
		return "", "", op.ErrInvalidRefreshToken
	}
	return g.user, token, nil
}

// RevokeToken takes back a refresh token with all that came from its login, or an
// access token. One that is not known needs nothing more.
func (s storage) RevokeToken(_ context.Context, token, _, client string) *oidc.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, refresh := s.refreshTokens.get(token)
	if !refresh {
		var access bool
		if g, access = s.accessTokens.get(token); !access {
			return nil
		}
	}
	if g.client != client {
		return oidc.ErrInvalidClient().WithDescription("the token belongs to another client")
	}
	if refresh {
		s.revokeLogin(g.login)
	} else {
		s.accessTokens.take(token)
	}
	return nil
}

func (i *Issuer) accessGrant(id string) (*grant, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	g, ok := i.accessTokens.get(id)
	if !ok {
		return nil, oidc.ErrInvalidRequest().WithDescription("the access token has expired or was revoked")
	}
	return g, nil
}

func (s storage) SetUserinfoFromToken(_ context.Context, info *oidc.UserInfo, id, _, _ string) error {
	g, err := s.accessGrant(id)
	if err != nil {
		return err
	}
	return s.describe(info, g.user, g.scopes)
}

func (s storage) SetIntrospectionFromToken(_ context.Context, answer *oidc.IntrospectionResponse, id, _, client string) error {
	g, err := s.accessGrant(id)
	if err != nil {
		return err
	}
	if !slices.Contains(g.audience, client) && g.client != client {
		return fmt.Errorf("client %q: %w", client, ErrNotFound)
	}
	answer.Subject, answer.ClientID, answer.Scope, answer.Expiration = g.user, g.client, g.scopes, oidc.FromTime(g.expires)
	return nil
}
