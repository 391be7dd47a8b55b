package httpapi

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
