package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"golang.org/x/time/rate"
)

// api serves the routes.
type api struct {
	Options
	openAPI []byte
	// places are taken by requests, and previews by those that are previews.
	places   chan struct{}
	previews chan struct{}
	clients  *clients
	metrics  *metrics
	// readiness is what the checks found.
	readiness readiness
}

// New returns the handler of the whole API. Its error names every option that is missing or wrong.
func New(options Options) (http.Handler, error) {
	if err := options.complete(); err != nil {
		return nil, fmt.Errorf("options of the API: %w", err)
	}
	a := &api{Options: options, places: make(chan struct{}, options.MaxInFlight), previews: make(chan struct{}, maxPreviews)}
	a.clients = newClients(options.RateLimit, options.RateBurst, options.Clock)
	a.readiness.limiter = rate.NewLimiter(checksPerSecond, checksBurst)
	var err error
	if a.openAPI, err = encodeIndented(openAPI(options)); err != nil {
		return nil, fmt.Errorf("make the OpenAPI document: %w", err)
	}
	if a.metrics, err = newMetrics(options.Registerer); err != nil {
		return nil, fmt.Errorf("register the metrics of the API: %w", err)
	}
	return a.observe(a.guard(a.router())), nil
}

// router is the table of routes as a handler, with problem documents for everything else.
func (a *api) router() http.Handler {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.Handle(route.method+" "+a.BasePath+route.pattern, a.serve(route))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would redirect to the clean path, and a redirect makes a GET of a POST.
		if !strings.HasPrefix(r.URL.Path, "/") || path.Clean(r.URL.Path) != r.URL.Path {
			a.fail(w, r, noRoute(r))
			return
		}
		if _, pattern := mux.Handler(r); pattern == "" {
			a.fail(w, r, unrouted(mux, r))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func noRoute(r *http.Request) error {
	return &statusError{status: http.StatusNotFound, message: "there is no route " + quote(r.URL.Path)}
}

// methods are those that some route has.
var methods = []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut}

// unrouted says why no route takes a request: its method, where the path has routes for others, else the path. Routes overlap, so one path may be served by
// several of them.
func unrouted(mux *http.ServeMux, r *http.Request) error {
	var allowed []string
	for _, method := range methods {
		if _, pattern := mux.Handler(&http.Request{Method: method, Host: r.Host, URL: r.URL}); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return noRoute(r)
	}
	allow := strings.Join(allowed, ", ")
	return &statusError{status: http.StatusMethodNotAllowed, allow: allow, message: "the method here is " + allow}
}

// serve carries out one route: a place, a time limit, who calls, whether they may, the parameters, the handler.
func (a *api) serve(route route) http.Handler {
	handle := func(w http.ResponseWriter, r *http.Request) error {
		trace := traceOf(r.Context())
		trace.route, trace.quiet = route.pattern, route.unlimited
		c := &call{w: w, r: r}
		var err error
		if c.who, err = a.admit(r, route); err != nil {
			return err
		}
		if route.raw != nil {
			return route.raw(a, c)
		}
		c.query = readQuery(r, route.query)
		if c.query.err != nil {
			return c.query.err
		}
		var answer answer
		if answer, err = route.handle(a, c); err != nil {
			return err
		}
		return writeAnswer(w, answer)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !route.unlimited {
			release, err := a.enter(r.Context(), a.places)
			if err != nil {
				a.fail(w, r, err)
				return
			}
			defer release()
		}
		ctx, cancel := a.limit(r.Context())
		defer cancel()
		r = r.WithContext(ctx)
		if err := handle(w, r); err != nil {
			a.fail(w, r, err)
		}
	})
}

// admit finds out who makes a request, and whether they may. Who is known is limited by name, so that people who share an address do not disturb
// each other. Everyone else is limited by address, for refusals and for each open route apart: bad tokens keep nobody behind the same address from
// learning where to log in. Probes are always answered.
func (a *api) admit(r *http.Request, route route) (Identity, error) {
	trace := traceOf(r.Context())
	switch {
	case route.probe:
		return Identity{}, nil
	case route.role == RoleNone:
		return Identity{}, a.take(r, byAddress(route.id, trace.remote))
	}
	who, err := a.Authenticator.Authenticate(r)
	if err != nil {
		return Identity{}, a.refuse(r, authProblem(err))
	}
	trace.user, trace.roles = who.User, who.Roles
	if err := a.take(r, byUser(who.User)); err != nil {
		return Identity{}, err
	}
	if !who.May(route.role) {
		return Identity{}, missing(route.role, who)
	}
	return who, nil
}

// take counts a request of a client, or says why it cannot be served now.
func (a *api) take(r *http.Request, client string) error {
	err := a.clients.take(client)
	traceOf(r.Context()).limited = err != nil
	return err
}

// refuse counts a request of somebody who is not known, and returns why it is refused: its own reason, or that there were too many of them.
func (a *api) refuse(r *http.Request, reason error) error {
	if limited := a.take(r, byAddress("refused", traceOf(r.Context()).remote)); limited != nil {
		return errors.Join(limited, reason)
	}
	return reason
}

// fail answers with an error. Only here is an error looked at twice: once for the answer and once for the log.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	traceOf(r.Context()).err = err
	writeProblem(w, r, p)
}
