package httpapi

import (
	"context"
	"net"
	"net/http"

	"github.com/swell-fleet/swell/internal/fleet"
)

// call is one request on its way through a handler.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	who   Identity
	query *query
}

func (c *call) ctx() context.Context { return c.r.Context() }

// maxID is how many bytes an ID in a path may have.
const maxID = 256

// id returns an ID from the path. What cannot be an ID names nothing.
func (c *call) id(name string) (string, error) {
	id := c.r.PathValue(name)
	if id == "" || len(id) > maxID || !isText(id) {
		return "", fleet.NotFoundf("there is no %s", quote(id))
	}
	return id, nil
}

// actor is who the change is recorded for.
func (c *call) actor() fleet.Actor {
	roles := make([]string, len(c.who.Roles))
	for i, role := range c.who.Roles {
		roles[i] = string(role)
	}
	return fleet.Actor{User: c.who.User, Roles: roles, RequestID: requestID(c.ctx()), RemoteAddr: remoteHost(c.r)}
}

// remoteHost is the address of the caller without the port.
func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
