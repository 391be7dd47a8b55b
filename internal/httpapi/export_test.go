package httpapi

import "time"

// RouteInfo is a row of the table of routes, for tests.
type RouteInfo struct {
	ID, Method, Pattern string
	Role                Role
	Media               []string
	Unlimited           bool
	Parameters          []string
}

// Routes returns the table of routes.
func Routes() []RouteInfo {
	var list []RouteInfo
	for _, r := range routes {
		info := RouteInfo{ID: r.id, Method: r.method, Pattern: r.pattern, Role: r.role, Unlimited: r.unlimited}
		if r.body != nil {
			info.Media = r.body.media
		}
		for _, p := range r.query {
			info.Parameters = append(info.Parameters, p.name)
		}
		list = append(list, info)
	}
	return list
}

// MaxClients is how many clients the limiter remembers.
const MaxClients = maxClients

// Limiter is the limiter of clients, for tests.
type Limiter struct{ *clients }

// NewLimiter makes a limiter.
func NewLimiter(perSecond float64, burst int, clock func() time.Time) Limiter {
	return Limiter{newClients(perSecond, burst, clock)}
}

// Take reports whether a client may make a request.
func (l Limiter) Take(name string) bool { return l.take(name) == nil }

// Len is how many clients are remembered.
func (l Limiter) Len() int { return l.recent.Len() }
