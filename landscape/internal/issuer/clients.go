package issuer

import (
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// ClientID is the public client for programs with a user in front of them. It
// is the audience of all tokens.
const ClientID = "swell"

// The robots: confidential clients that act for nobody. Robot is an operator,
// AdminRobot an admin.
const (
	Robot      = "robot"
	AdminRobot = "admin-robot"
)

// groupsScope asks for the claim with the groups.
const groupsScope = "groups"

// client is a registered client. Those with a secret are robots.
type client struct {
	id     string
	secret string
	groups Groups
	issuer *Issuer
}

func (c *client) robot() bool { return c.secret != "" }

// The methods below implement op.Client.

func (c *client) GetID() string { return c.id }

// RedirectURIs are the loopback addresses of programs. For them the port does
// not matter.
func (c *client) RedirectURIs() []string {
	if c.robot() {
		return nil
	}
	return []string{"http://127.0.0.1/callback", "http://localhost/callback", "http://[::1]/callback"}
}

func (c *client) PostLogoutRedirectURIs() []string { return c.RedirectURIs() }

func (c *client) ApplicationType() op.ApplicationType {
	if c.robot() {
		return op.ApplicationTypeWeb
	}
	return op.ApplicationTypeNative
}

func (c *client) AuthMethod() oidc.AuthMethod {
	if c.robot() {
		return oidc.AuthMethodBasic
	}
	return oidc.AuthMethodNone
}

func (c *client) ResponseTypes() []oidc.ResponseType {
	if c.robot() {
		return nil
	}
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}

func (c *client) GrantTypes() []oidc.GrantType {
	if c.robot() {
		return []oidc.GrantType{oidc.GrantTypeClientCredentials}
	}
	return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeDeviceCode}
}

func (c *client) LoginURL(request string) string { return loginPath + "?request=" + request }

// AccessTokenType is opaque for people, so that nobody takes the access token for
// the ID token.
func (c *client) AccessTokenType() op.AccessTokenType {
	if c.robot() {
		return op.AccessTokenTypeJWT
	}
	return op.AccessTokenTypeBearer
}

func (c *client) IDTokenLifetime() time.Duration { return time.Duration(c.issuer.Settings().IDToken) }

func (c *client) DevMode() bool { return false }

func (c *client) RestrictAdditionalIdTokenScopes() func([]string) []string { //nolint:revive // The interface spells it so.
	return func(scopes []string) []string { return scopes }
}

func (c *client) RestrictAdditionalAccessTokenScopes() func([]string) []string {
	return func(scopes []string) []string { return scopes }
}

func (c *client) IsScopeAllowed(scope string) bool { return scope == groupsScope }

func (c *client) IDTokenUserinfoClaimsAssertion() bool { return true }

func (c *client) ClockSkew() time.Duration { return 0 }
