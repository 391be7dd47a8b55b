package httpapi

import (
	"errors"
	"net/http"

	"github.com/swell-fleet/swell/internal/auth"
	"github.com/swell-fleet/swell/internal/fleet"
)

// The codes of RFC 6750 that say why a request with a token is refused.
const (
	codeInvalidToken = "invalid_token"
	codeScope        = "insufficient_scope"
)

// Tokens is the Authenticator of a server whose callers send ID tokens as "Authorization: Bearer".
type Tokens struct {
	// Verifier judges the tokens. Required.
	Verifier *auth.Verifier
}

// Authenticate implements Authenticator.
func (t Tokens) Authenticate(r *http.Request) (Identity, error) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		return Identity{}, &AuthError{Message: "this server asks for a login: send an ID token as Authorization: Bearer"}
	}
	token, ok := auth.Bearer(headers[0])
	if !ok || len(headers) > 1 {
		return Identity{}, &AuthError{Message: "the Authorization header is not one bearer token"}
	}
	who, err := t.Verifier.Verify(r.Context(), token)
	if invalid, ok := errors.AsType[*auth.InvalidTokenError](err); ok {
		return Identity{}, &AuthError{Message: invalid.Reason, Code: codeInvalidToken, Err: invalid.Err}
	}
	if err != nil {
		return Identity{}, fleet.Unavailable("the identity provider that could verify the token does not answer", err)
	}
	identity := Identity{User: who.User, Issuer: who.Issuer, Groups: who.Groups}
	for _, role := range who.Roles {
		switch role {
		case auth.Admin:
			identity.Roles = append(identity.Roles, RoleAdmin)
		case auth.Operator:
			identity.Roles = append(identity.Roles, RoleOperator)
		}
	}
	return identity, nil
}

// challenge is the value of WWW-Authenticate. The description is an error's message, which is plain ASCII without quotes where a code is set.
func challenge(code, description string) string {
	header := `Bearer realm="swell"`
	if code != "" {
		header += `, error="` + code + `", error_description="` + description + `"`
	}
	return header
}
