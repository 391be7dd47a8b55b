package httpapi

import (
	"context"
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
	trace := traceOf(c.ctx())
	return fleet.Actor{User: c.who.User, Roles: words(c.who.Roles), RequestID: trace.id, RemoteAddr: trace.remote}
}
