package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// requestIDHeader carries the ID of a request, in both directions.
const requestIDHeader = "X-Request-Id"

// wellFormedID is what the ID of a request may look like when the caller chooses it.
var wellFormedID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// trace is what is learned about a request on its way, for the log.
type trace struct {
	id    string
	route string
	// quiet routes are called by machines every few seconds.
	quiet bool
	// limited is true when the caller made more requests than they may.
	limited bool
	user    string
	roles   []Role
	// remote is the address of the caller.
	remote string
	err    error
}

type traceKey struct{}

// traceOf returns the trace of a request; requests that did not come through observe get one that nobody reads.
func traceOf(ctx context.Context) *trace {
	if t, ok := ctx.Value(traceKey{}).(*trace); ok {
		return t
	}
	return &trace{}
}

func requestID(ctx context.Context) string { return traceOf(ctx).id }

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(text []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(text)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// observe gives every request an ID and its answer the headers that all have, turns a panic into 500, and writes one line to the log.
func (a *api) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := a.Clock()
		t := &trace{id: r.Header.Get(requestIDHeader), remote: a.clientAddr(r)}
		if !wellFormedID.MatchString(t.id) {
			t.id = uuid.NewString()
		}
		r = r.WithContext(context.WithValue(r.Context(), traceKey{}, t))
		header := w.Header()
		header.Set(requestIDHeader, t.id)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		rec := &recorder{ResponseWriter: w}
		a.metrics.begin()
		defer func() {
			a.recovered(rec, r, recover())
			duration := a.Clock().Sub(begin)
			a.metrics.end(r.Method, t.route, rec.status, duration)
			a.log(r, t, rec, duration)
		}()
		next.ServeHTTP(rec, r)
	})
}

// recovered answers a request whose handler panicked. When the answer has begun already, only closing the connection tells the caller.
func (a *api) recovered(w *recorder, r *http.Request, fault any) {
	if fault == nil {
		return
	}
	if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(fault)
	}
	err := fmt.Errorf("panic: %v", fault)
	a.Logger.LogAttrs(r.Context(), slog.LevelError, "request handler panicked",
		slog.String("request_id", requestID(r.Context())), slog.String("panic", err.Error()), slog.String("stack", string(debug.Stack())))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	a.fail(w, r, err)
}

// maxLogged is how many bytes of a path the log has.
const maxLogged = 256

func (a *api) log(r *http.Request, t *trace, w *recorder, duration time.Duration) {
	path := r.URL.Path
	if len(path) > maxLogged {
		path = path[:maxLogged] + "…"
	}
	attrs := []slog.Attr{
		slog.String("request_id", t.id), slog.String("method", r.Method), slog.String("path", path), slog.String("route", t.route),
		slog.Int("status", w.status), slog.Int64("bytes", w.bytes), slog.Float64("duration_ms", float64(duration.Microseconds())/1000),
		slog.String("user", t.user), slog.Any("roles", words(t.roles)), slog.String("remote_addr", t.remote),
	}
	if t.err != nil {
		attrs = append(attrs, slog.String("error", t.err.Error()))
	}
	a.Logger.LogAttrs(r.Context(), t.level(w.status), "request", attrs...)
}

// level is how severe an answer is. Whoever was refused is told even where little is logged; how many such lines there can be is for the limit of
// requests to say, so its own refusals are worth less.
func (t *trace) level(status int) slog.Level {
	unavailable := status == http.StatusServiceUnavailable
	switch {
	case status >= http.StatusInternalServerError && !unavailable:
		return slog.LevelError
	case t.quiet:
		// Checks of readiness that fail have lines of their own.
		return slog.LevelDebug
	case t.limited:
		return slog.LevelInfo
	case unavailable, status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusTooManyRequests:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// guard refuses what comes over a connection that holds no more, and what a web page in somebody's browser may send.
func (a *api) guard(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.CheckConnection != nil {
			if err := a.CheckConnection(r.TLS); err != nil {
				// A client that connects anew is told by the handshake.
				w.Header().Set("Connection", "close")
				a.fail(w, r, a.refuse(r, &statusError{status: http.StatusUnauthorized, message: "the certificate of the client is not valid any more", cause: err}))
				return
			}
		}
		if a.Loopback && !isLocalHost(r.Host) {
			a.fail(w, r, a.refuse(r, &statusError{
				status:  http.StatusForbidden,
				message: "the Host header names " + quote(r.Host) + "; without a login this server answers under a loopback address only",
			}))
			return
		}
		if err := a.checkOrigin(crossOrigin, r); err != nil {
			a.fail(w, r, a.refuse(r, &statusError{status: http.StatusForbidden, message: "the request comes from a page of another origin", cause: err}))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkOrigin refuses what a browser says to come from a page of another origin. Reading counts as well: the page could not read the answer, but it would
// make the server work, and could time it. Where callers log in, links from elsewhere may lead here: a browser that follows one sends no token.
func (a *api) checkOrigin(crossOrigin *http.CrossOriginProtection, r *http.Request) error {
	if !a.Loopback && r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return nil
	}
	// By itself it lets every request pass that changes nothing.
	return crossOrigin.Check(&http.Request{Method: http.MethodPost, Host: r.Host, URL: r.URL, Header: r.Header})
}

// isLocalHost reports whether a Host header names this machine: localhost or an IP address of the loopback interface.
func isLocalHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "0"
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback() && ip.Zone() == ""
}

// enter waits for one of the places for requests that are served at the same time.
func (a *api) enter(ctx context.Context, places chan struct{}) (release func(), err error) {
	release = func() { <-places }
	select {
	case places <- struct{}{}:
		return release, nil
	default:
	}
	timer := time.NewTimer(a.MaxWait)
	defer timer.Stop()
	select {
	case places <- struct{}{}:
		return release, nil
	case <-timer.C:
		return nil, &statusError{status: http.StatusTooManyRequests, message: "the server has more requests than it can serve; try again"}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// limit bounds the time of a request.
func (a *api) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.Timeout)
}
