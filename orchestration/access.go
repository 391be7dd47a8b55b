package orchestration

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/swell-fleet/swell/internal/apiclient"
)

// Identity is who a server takes a caller for.
type Identity struct {
	// User is the name under which the caller's changes are recorded; "local" on a server without logins.
	User string `json:"user"`
	// Issuer is the address of the provider that vouches for the user; empty on a server without logins.
	Issuer string `json:"issuer,omitempty"`
	// Groups are those that the user's token names, whether they give a role or not; empty when it names none, or in a form that is not understood.
	Groups []string `json:"groups,omitempty"`
	// Roles are what the user may do: "admin" may read and write, "operator" may read, and nobody without a role may do anything.
	Roles []string `json:"roles"`
}

// LoginList is every login that a server accepts.
type LoginList struct {
	Data []Login `json:"data"`
}

// Login says where a person gets a token that the server accepts. It is what the server says: a program judges the address before it sends
// anybody there.
type Login struct {
	// Issuer is the address of an OpenID Connect provider, exactly as in the claim "iss" of its tokens.
	Issuer string `json:"issuer"`
	// ClientID is the public client of the provider that a program logs in as. It has no secret.
	ClientID string `json:"clientID"`
	// Scopes are what a program asks the provider for. Empty means that it decides by what the provider offers.
	Scopes []string `json:"scopes,omitempty"`
}

// WhoAmI implements ExtendedClient.
func (c *client) WhoAmI() (Identity, error) {
	identity, err := apiclient.Get[Identity](c.ctx, c.api, []string{"whoami"}, nil)
	if err == nil && identity.User == "" {
		err = errors.New("the answer names no user")
	}
	if err != nil {
		return Identity{}, fmt.Errorf("ask who the caller is: %w", err)
	}
	if identity.Roles == nil {
		identity.Roles = []string{}
	}
	return identity, nil
}

// ListLogins implements ExtendedClient.
func (c *client) ListLogins() (LoginList, error) {
	list, err := apiclient.Send[LoginList](c.ctx, c.api, apiclient.Request{Method: http.MethodGet, Path: []string{"logins"}, Anonymous: true})
	if err == nil && list.Data == nil {
		err = errors.New("the answer is no list of logins")
	}
	if err != nil {
		return LoginList{}, fmt.Errorf("list logins: %w", err)
	}
	return list, nil
}
