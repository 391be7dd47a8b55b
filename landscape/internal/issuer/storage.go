package issuer

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// storage is what the protocol sees of an issuer. It implements op.Storage and
// the optional interfaces for client credentials and device codes; logins.go,
// tokens.go and devices.go hold the larger parts.
type storage struct{ *Issuer }

var (
	_ op.Storage                    = storage{}
	_ op.ClientCredentialsStorage   = storage{}
	_ op.DeviceAuthorizationStorage = storage{}
	_ op.CanSetUserinfoFromRequest  = storage{}
)

func (s storage) Health(context.Context) error { return nil }

func (s storage) SigningKey(context.Context) (op.SigningKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[0], nil
}

func (s storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []jose.SignatureAlgorithm{s.keys[0].algorithm}, nil
}

func (s storage) KeySet(context.Context) ([]op.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var set []op.Key
	for _, key := range s.keys {
		set = append(set, publicKey{key})
	}
	return set, nil
}

func (s storage) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	c, err := s.client(id)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (s storage) client(id string) (*client, error) {
	c, ok := s.clients[id]
	if !ok {
		return nil, oidc.ErrInvalidClient().WithDescription("unknown client")
	}
	return c, nil
}

func (s storage) AuthorizeClientIDSecret(_ context.Context, id, secret string) error {
	_, err := s.authorize(id, secret)
	return err
}

func (s storage) authorize(id, secret string) (*client, error) {
	c, err := s.client(id)
	if err != nil {
		return nil, err
	}
	if !c.robot() || subtle.ConstantTimeCompare([]byte(c.secret), []byte(secret)) != 1 {
		return nil, errors.New("wrong secret")
	}
	return c, nil
}

func (s storage) ClientCredentials(_ context.Context, id, secret string) (op.Client, error) {
	c, err := s.authorize(id, secret)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// robotRequest is a request of a robot for a token. It implements op.TokenRequest.
type robotRequest struct {
	robot  string
	scopes []string
}

func (r robotRequest) GetSubject() string    { return r.robot }
func (r robotRequest) GetAudience() []string { return []string{ClientID} }
func (r robotRequest) GetScopes() []string   { return r.scopes }

func (s storage) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	return robotRequest{robot: id, scopes: known(scopes)}, nil
}

// scopes are the scopes that the issuer knows.
var scopes = []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail, groupsScope, oidc.ScopeOfflineAccess}

// known returns the scopes that the issuer knows of those asked for.
func known(asked []string) []string {
	return slices.DeleteFunc(slices.Clone(asked), func(scope string) bool { return !slices.Contains(scopes, scope) })
}

// GetPrivateClaimsFromScopes returns the further claims of an access token that
// can be read, which robots have: their groups, whatever scopes they ask for.
func (s storage) GetPrivateClaimsFromScopes(_ context.Context, _, id string, _ []string) (map[string]any, error) {
	c, err := s.client(id)
	if err != nil || c.groups.claim() == nil {
		return nil, err
	}
	return map[string]any{"groups": c.groups.claim()}, nil
}

// SetUserinfoFromScopes does nothing: SetUserinfoFromRequest took its place.
func (s storage) SetUserinfoFromScopes(context.Context, *oidc.UserInfo, string, string, []string) error {
	return nil
}

func (s storage) SetUserinfoFromRequest(_ context.Context, info *oidc.UserInfo, request op.IDTokenRequest, scopes []string) error {
	return s.describe(info, request.GetSubject(), scopes)
}

// describe fills in what the scopes let a client know about a user.
func (i *Issuer) describe(info *oidc.UserInfo, name string, scopes []string) error {
	user, err := i.User(name)
	if err != nil {
		return err
	}
	info.Subject = user.Name
	for _, scope := range scopes {
		switch scope {
		case oidc.ScopeProfile:
			info.Name = user.FullName
			info.PreferredUsername = user.Name
		case oidc.ScopeEmail:
			if user.Email != "" {
				info.Email, info.EmailVerified = user.Email, oidc.Bool(user.EmailVerified)
			}
		case groupsScope:
			if claim := user.Groups.claim(); claim != nil {
				info.AppendClaims("groups", claim)
			}
		}
	}
	return nil
}

// GetKeyByIDAndClientID refuses: no client has a key.
func (s storage) GetKeyByIDAndClientID(_ context.Context, _, id string) (*jose.JSONWebKey, error) {
	return nil, fmt.Errorf("key of client %q: %w", id, ErrNotFound)
}

// ValidateJWTProfileScopes refuses: the grant is not supported.
func (s storage) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, oidc.ErrUnsupportedGrantType()
}
