package httpapi

import (
	"net/http"
	"strings"

	"github.com/swell-fleet/swell/orchestration"
)

// whoAmI tells callers who they are taken for.
func (*api) whoAmI(c *call) (answer, error) {
	return answer{body: orchestration.Identity{User: c.who.User, Issuer: c.who.Issuer, Groups: c.who.Groups, Roles: words(c.who.Roles)}}, nil
}

// listLogins tells everybody where to log in.
func (a *api) listLogins(*call) (answer, error) {
	return answer{body: orchestration.LoginList{Data: notNil(a.Logins)}}, nil
}

// missing refuses a caller who lacks a role. It does not say which groups have the role: where people may make groups of their own, a name is all
// that somebody would need.
func missing(role Role, who Identity) error {
	message := "this needs the role " + string(role) + ", and your groups give you none"
	if len(who.Roles) > 0 {
		message = "this needs the role " + string(role) + ", and you have " + strings.Join(words(who.Roles), " and ")
	}
	return &statusError{status: http.StatusForbidden, message: message, code: codeScope}
}
