package httpapi

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Role says what a user may do.
type Role string

const (
	// RoleNone marks routes that everyone may call, without a login.
	RoleNone Role = "none"
	// RoleAny marks routes that everyone may call who is logged in, with any role or with none.
	RoleAny Role = "any"
	// RoleOperator may read.
	RoleOperator Role = "operator"
	// RoleAdmin may read and write.
	RoleAdmin Role = "admin"
)

// Identity is who makes a request.
type Identity struct {
	// User is the name under which changes are recorded.
	User string
	// Issuer is the address of the provider that vouches for the user; empty without a login.
	Issuer string
	// Groups are those that the provider says the caller is in.
	Groups []string
	// Roles are what the user may do; empty means nothing.
	Roles []Role
}

// May reports whether somebody who is logged in has the role that a route needs. An admin may do what an operator may.
func (i Identity) May(role Role) bool {
	switch role {
	case RoleNone, RoleAny:
		return true
	case RoleOperator:
		return slices.Contains(i.Roles, RoleOperator) || slices.Contains(i.Roles, RoleAdmin)
	case RoleAdmin:
		return slices.Contains(i.Roles, RoleAdmin)
	default:
		return false
	}
}

// Authenticator tells who makes a request.
type Authenticator interface {
	// Authenticate returns the identity of the caller. An error of fleet.KindForbidden becomes 403, one of fleet.KindUnavailable becomes 503,
	// and every other error 401. The text of an error is not shown to the caller, except that of an *AuthError and of a *fleet.Error.
	Authenticate(r *http.Request) (Identity, error)
}

// AuthError refuses a request because it does not say who makes it, or says it wrongly.
type AuthError struct {
	// Message is shown to the caller; it must hold nothing secret.
	Message string
	// Code is the error code of RFC 6750 for the header WWW-Authenticate, such as "invalid_token"; empty for a request without a token. With a
	// code the message is plain ASCII without quotes.
	Code string
	// Err is the cause, for the log.
	Err error
}

// Error returns the message and the cause.
func (e *AuthError) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *AuthError) Unwrap() error { return e.Err }

// LocalUser is the name under which the changes of loopback callers are recorded.
const LocalUser = "local"

// Loopback is the Authenticator of a server without logins: everyone who connects over the loopback interface is an admin, everyone else
// is refused. Use it together with Options.Loopback.
type Loopback struct{}

// Authenticate implements Authenticator.
func (Loopback) Authenticate(r *http.Request) (Identity, error) {
	if !isLoopback(r.RemoteAddr) {
		return Identity{}, &fleet.Error{
			Kind:    fleet.KindForbidden,
			Message: "this server has no login configured and answers callers on its own machine only",
		}
	}
	return Identity{User: LocalUser, Roles: []Role{RoleAdmin}}, nil
}

// isLoopback reports whether an address with or without a port is an IP address of the loopback interface.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// authProblem turns the error of an Authenticator into that of the request.
func authProblem(err error) error {
	if errors.Is(err, fleet.ErrForbidden) || errors.Is(err, fleet.ErrUnavailable) {
		return err
	}
	problem := &statusError{status: http.StatusUnauthorized, message: "the request has no valid credentials", cause: err}
	if refused, ok := errors.AsType[*AuthError](err); ok {
		problem.message, problem.code, problem.cause = refused.Message, refused.Code, refused.Err
	}
	return problem
}
