package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi/strictjson"
)

// Problem is the body of every answer that is an error: a problem document (RFC 9457) with two fields more.
type Problem struct {
	// Type is "about:blank": the status says what kind of problem it is.
	Type string `json:"type"`
	// Title is the status in words.
	Title string `json:"title"`
	// Status repeats the status of the answer.
	Status int `json:"status"`
	// Detail says what is wrong.
	Detail string `json:"detail"`
	// Message is the same as Detail, for clients that look for it under this name.
	Message string `json:"message"`
	// Field is the path of the field or the name of the parameter that is wrong, where it is one.
	Field string `json:"field,omitempty"`
	// RequestID is the ID under which the server's log has the request.
	RequestID string `json:"requestID,omitempty"`
}

const problemType = "application/problem+json"

// soon is what a refused caller is told to wait when nothing better is known.
const soon = 2 * time.Second

// statusError is an error that knows its status.
type statusError struct {
	status  int
	field   string
	message string
	cause   error
	// allow lists the methods that the path has, for 405.
	allow string
	// code is why a token is not enough, in the words of RFC 6750, for 401 and 403.
	code string
	// retryAfter is when to try again, for 429 and 503; 0 means soon.
	retryAfter time.Duration
}

func (e *statusError) Error() string {
	if e.cause == nil {
		return e.message
	}
	return e.message + ": " + e.cause.Error()
}

func (e *statusError) Unwrap() error { return e.cause }

// badRequest is an error about one parameter or field.
func badRequest(field, message string) error {
	return &statusError{status: http.StatusBadRequest, field: field, message: message}
}

// problemOf turns an error into the problem that the caller is told, and nothing more than that.
func problemOf(err error) *statusError {
	if known, ok := errors.AsType[*statusError](err); ok {
		return known
	}
	if strict, ok := errors.AsType[*strictjson.Error](err); ok {
		return &statusError{status: http.StatusBadRequest, field: strict.Path, message: strict.Message, cause: err}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &statusError{status: http.StatusServiceUnavailable, message: "the request took longer than it may; nothing is known about its outcome", cause: err}
	}
	domain, ok := errors.AsType[*fleet.Error](err)
	if !ok {
		return &statusError{status: http.StatusInternalServerError, message: "internal error; the server's log has it under the request ID", cause: err}
	}
	status := map[fleet.Kind]int{
		fleet.KindInvalid:     http.StatusBadRequest,
		fleet.KindNotFound:    http.StatusNotFound,
		fleet.KindConflict:    http.StatusConflict,
		fleet.KindForbidden:   http.StatusForbidden,
		fleet.KindUnavailable: http.StatusServiceUnavailable,
	}[domain.Kind]
	if status == 0 {
		return &statusError{status: http.StatusInternalServerError, message: "internal error; the server's log has it under the request ID", cause: err}
	}
	return &statusError{status: status, field: domain.Field, message: domain.Message, cause: err}
}

// writeProblem answers a request with an error.
func writeProblem(w http.ResponseWriter, r *http.Request, p *statusError) {
	header := w.Header()
	switch p.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		wait := p.retryAfter
		setDefault(&wait, soon)
		header.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", challenge(p.code, p.message))
	case http.StatusForbidden:
		if p.code != "" {
			header.Set("WWW-Authenticate", challenge(p.code, p.message))
		}
	case http.StatusMethodNotAllowed:
		header.Set("Allow", p.allow)
	case http.StatusRequestEntityTooLarge:
		// What is left of the body is not worth reading.
		header.Set("Connection", "close")
	}
	message := p.message
	if p.field != "" {
		message = p.field + ": " + p.message
	}
	writeJSON(w, p.status, problemType, Problem{
		Type:      "about:blank",
		Title:     http.StatusText(p.status),
		Status:    p.status,
		Detail:    message,
		Message:   message,
		Field:     p.field,
		RequestID: requestID(r.Context()),
	})
}
