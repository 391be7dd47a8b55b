package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"path"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// What Options take for fields that are not set.
const (
	// DefaultPageSize is the number of rows of a page when the request does not say.
	DefaultPageSize = 100
	// DefaultMaxPageSize is the largest page that may be asked for.
	DefaultMaxPageSize = 1000
	// DefaultMaxBody is the size of the largest body that is read, in bytes.
	DefaultMaxBody = 1 << 20
	// DefaultMaxImport is the size of the largest document that may be imported in one request, in bytes: some 5,000 runtimes.
	DefaultMaxImport = 8 << 20
	// DefaultTimeout is how long a request may take before it is answered with 503.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxInFlight is how many requests are served at the same time; others wait for a place.
	DefaultMaxInFlight = 256
	// DefaultMaxWait is how long a request waits for a place before it is answered with 429.
	DefaultMaxWait = 5 * time.Second
)

// Options configure the API.
type Options struct {
	// Reader answers questions. Required.
	Reader fleet.Reader
	// Commands carries changes out. Required.
	Commands fleet.Commands
	// Shoots tell which runtimes have a Shoot; nil where the server sees none.
	Shoots fleet.Shoots
	// Previewer says what requests to upgrade would do. Required.
	Previewer fleet.Previewer
	// Authenticator tells who calls. Required; Loopback{} serves a machine of its own.
	Authenticator Authenticator
	// Loopback refuses requests whose Host header names another machine, so that no web page can reach a server without a login through a name
	// that it controls.
	Loopback bool
	// CheckConnection looks at the connection of each request, also of probes, and says why what held at its beginning holds no more, such as that the
	// certificate of the client has expired. The request is then answered 401 and the connection closed. nil means that nothing is looked at.
	CheckConnection func(*tls.ConnectionState) error
	// Logins are where people get tokens that Authenticator takes. GET /logins shows them to everybody. Empty on a server without logins.
	Logins []orchestration.Login
	// BasePath is put before every route, such as "/api"; empty means none. It begins with a slash and does not end with one.
	BasePath string

	// Parameters are the limits and defaults for requests to upgrade.
	Parameters fleet.ParameterOptions
	// PageSize is the number of rows of a page when the request does not say; 0 means DefaultPageSize.
	PageSize int
	// MaxPageSize is the largest page that may be asked for; 0 means DefaultMaxPageSize.
	MaxPageSize int
	// MaxBody is the size of the largest body that is read, in bytes; 0 means DefaultMaxBody.
	MaxBody int64
	// MaxImport is the size of the largest import, in bytes; 0 means DefaultMaxImport.
	MaxImport int64
	// Timeout is how long a request may take; 0 means DefaultTimeout.
	Timeout time.Duration
	// MaxInFlight is how many requests are served at the same time; 0 means DefaultMaxInFlight. Health and metrics are not counted.
	MaxInFlight int
	// MaxWait is how long a request waits for a place; 0 means DefaultMaxWait.
	MaxWait time.Duration

	// RateLimit is how many requests per second each client may make on average: each user, and each address that names no user. 0 means no limit.
	RateLimit float64
	// RateBurst is how many requests a client may make at once above the average; 0 means those of 5 s.
	RateBurst int
	// TrustedProxies are the networks of the proxies in front of the server, whose header X-Forwarded-For is believed. Without any the address
	// of a caller is that of the connection.
	TrustedProxies []netip.Prefix

	// BackendDown tells that no operation of a type is admitted because its backend does not answer, so that waiting operations can say so.
	// nil means that it is never known.
	BackendDown func(orchestration.Type) bool
	// Checks are what GET /readyz asks, in this order.
	Checks []Check
	// Metrics serves GET /metrics; without it the route answers 404.
	Metrics http.Handler
	// Registerer takes the metrics of the API itself; nil leaves them out.
	Registerer prometheus.Registerer
	// Version is the version of the program, for the OpenAPI document; empty means "dev".
	Version string
	// Logger takes one line for each request. Required.
	Logger *slog.Logger
	// Clock measures how long requests take, and tells what a pending operation waits for. Required.
	Clock func() time.Time
}

// Check is one condition of readiness.
type Check struct {
	// Name says what is checked, such as "store".
	Name string
	// Optional marks what the server can serve without, such as a source of runtimes: its failure is reported, but the server stays ready.
	Optional bool
	// Run returns nil when all is well. Of its error only the message of a *fleet.Error is shown to callers.
	Run func(ctx context.Context) error
}

// basePath is what Options.BasePath may be.
var basePath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)

// complete checks the options, all problems together, and sets what was left open.
func (o *Options) complete() error {
	var problems []error
	required := func(name string, missing bool) {
		if missing {
			problems = append(problems, fmt.Errorf("%s is not set", name))
		}
	}
	required("Reader", o.Reader == nil)
	required("Commands", o.Commands == nil)
	required("Previewer", o.Previewer == nil)
	required("Authenticator", o.Authenticator == nil)
	required("Logger", o.Logger == nil)
	required("Clock", o.Clock == nil)
	if !basePath.MatchString(o.BasePath) || o.BasePath != "" && path.Clean(o.BasePath) != o.BasePath {
		problems = append(problems, fmt.Errorf("BasePath %q is not empty and not of the form /name", o.BasePath))
	}
	setDefault(&o.PageSize, DefaultPageSize)
	setDefault(&o.MaxPageSize, DefaultMaxPageSize)
	setDefault(&o.MaxBody, DefaultMaxBody)
	setDefault(&o.MaxImport, DefaultMaxImport)
	setDefault(&o.Timeout, DefaultTimeout)
	setDefault(&o.MaxInFlight, DefaultMaxInFlight)
	setDefault(&o.MaxWait, DefaultMaxWait)
	setDefault(&o.Version, "dev")
	if !(o.RateLimit >= 0) || math.IsInf(o.RateLimit, 0) {
		problems = append(problems, fmt.Errorf("RateLimit %v is no rate", o.RateLimit))
	} else {
		setDefault(&o.RateBurst, int(math.Ceil(5*min(o.RateLimit, 1e6))))
	}
	for _, number := range []struct {
		name  string
		value int64
	}{
		{"PageSize", int64(o.PageSize)}, {"MaxPageSize", int64(o.MaxPageSize)},
		{"MaxBody", o.MaxBody}, {"MaxImport", o.MaxImport},
		{"Timeout", int64(o.Timeout)}, {"MaxInFlight", int64(o.MaxInFlight)}, {"MaxWait", int64(o.MaxWait)},
		{"RateBurst", int64(o.RateBurst)},
	} {
		if number.value < 0 {
			problems = append(problems, fmt.Errorf("%s is below 0", number.name))
		}
	}
	if o.PageSize > o.MaxPageSize {
		problems = append(problems, fmt.Errorf("PageSize %d is more than MaxPageSize %d", o.PageSize, o.MaxPageSize))
	}
	for i, check := range o.Checks {
		if check.Name == "" || check.Run == nil {
			problems = append(problems, fmt.Errorf("a check has no name or no function: Checks[%d]", i))
		}
	}
	return errors.Join(problems...)
}

// setDefault sets a field that has its zero value.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
