package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/oauth2"
)

// transportError means that no answer, or only a part of it, arrived.
type transportError struct{ err error }

// Error returns the text of what happened, on one line: it may quote the other side, as an error about a certificate does with its names. Why a token cannot be
// had is told by the caller's own HTTP client, in its own words.
func (e *transportError) Error() string {
	if _, own := errors.AsType[*TokenError](e.err); own {
		return e.err.Error()
	}
	return clean(e.err.Error())
}

func (e *transportError) Unwrap() error { return e.err }

// statusError is an answer with an unexpected status on its way to the caller, who gets err only.
type statusError struct {
	status     int
	retryAfter time.Duration
	err        error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// retry sends a call until it is answered for good.
func (c *Client) retry(ctx context.Context, call *call) (reply, error) {
	pauses := &pauses{
		BackOff: &backoff.ExponentialBackOff{
			InitialInterval:     c.opts.FirstPause,
			RandomizationFactor: backoff.DefaultRandomizationFactor,
			Multiplier:          2,
			MaxInterval:         c.opts.LongestPause,
		},
	}
	var tries int
	var last error
	got, err := backoff.Retry(ctx, func() (reply, error) {
		tries++
		got, err := c.attempt(ctx, call)
		if err == nil {
			return got, nil
		}
		last = err
		var status *statusError
		if errors.As(err, &status) {
			pauses.atLeast = min(status.retryAfter, c.opts.RetryAfterCap)
		}
		if !call.mayRepeat(err) {
			return reply{}, backoff.Permanent(err)
		}
		return reply{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(c.opts.Tries), backoff.WithMaxElapsedTime(0))
	if err == nil {
		return got, nil
	}
	var status *statusError
	if errors.As(err, &status) {
		// It says method and address by itself.
		return reply{}, status.err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = interrupted(cause, last)
	}
	if tries > 1 {
		err = fmt.Errorf("after %d tries: %w", tries, err)
	}
	return reply{}, call.describe(err)
}

// interrupted is the error of a call whose context ended. What went wrong before is told too.
func interrupted(cause, last error) error {
	if last == nil || errors.Is(last, cause) || errors.Is(last, context.Canceled) || errors.Is(last, context.DeadlineExceeded) {
		return cause
	}
	return fmt.Errorf("%w; before that: %w", cause, last)
}

// pauses are the pauses between the tries: growing ones of our own, or what the server asked for when that is longer.
type pauses struct {
	backoff.BackOff

	atLeast time.Duration
}

// NextBackOff returns the next pause.
func (p *pauses) NextBackOff() time.Duration {
	next := max(p.BackOff.NextBackOff(), p.atLeast)
	p.atLeast = 0
	return next
}

// mayRepeat says whether sending the request again can help and cannot harm.
func (c *call) mayRepeat(err error) bool {
	// A write that reached the server may have changed something, whatever the answer is or was going to be.
	safe := c.Safe || c.Method == http.MethodGet || c.IdempotencyKey != ""
	var status *statusError
	if errors.As(err, &status) {
		switch status.status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return safe
		}
		return false
	}
	var transport *transportError
	if !errors.As(err, &transport) || hopeless(err) {
		return false
	}
	return safe || neverConnected(err)
}

// neverConnected says whether the request cannot have reached the server.
func neverConnected(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// hopeless says whether the next try would fail for the same reason: trust is missing on one of the two sides, the server does not speak TLS, there is no
// server of that name, or the token of the HTTP client could not be had.
func hopeless(err error) bool {
	var verification *tls.CertificateVerificationError
	var retrieval *oauth2.RetrieveError
	var token *TokenError
	var name *net.DNSError
	return Distrusted(err) || errors.As(err, &name) && name.IsNotFound || errors.As(err, &verification) || errors.As(err, &retrieval) || errors.As(err, &token) || errors.Is(err, http.ErrSchemeMismatch)
}

// Distrusted reports whether the server broke the TLS handshake off, as when it asks for a certificate that the client does not have.
func Distrusted(err error) bool {
	var op *net.OpError
	// crypto/tls has no type for alerts of the other side.
	return errors.As(err, &op) && op.Op == "remote error"
}

// TokenError is what the transport of an HTTP client returns when the token that a request needs cannot be had. Such a request is not repeated.
type TokenError struct{ Err error }

// Error returns the cause.
func (e *TokenError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *TokenError) Unwrap() error { return e.Err }

// parseRetryAfter reads the Retry-After header: seconds, or a point in time, which is compared with the server's own clock. 0 means
// that there is none that can be read.
func parseRetryAfter(header http.Header) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, until.Sub(now))
}
