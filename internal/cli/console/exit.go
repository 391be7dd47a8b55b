package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/orchestration"
)

// The exit codes of the program.
const (
	// ExitOK means that all went well.
	ExitOK = 0
	// ExitFailed means that the request went wrong, or that the orchestration that was waited for failed.
	ExitFailed = 1
	// ExitUsage means that the command line was not understood.
	ExitUsage = 2
	// ExitCanceled means that the orchestration that was waited for was canceled, or that the person said no.
	ExitCanceled = 3
	// ExitUnavailable means that the server did not answer.
	ExitUnavailable = 4
	// ExitRefused means that the server did not accept who asks or what was asked, or that the user has to log in.
	ExitRefused = 5
	// ExitInterrupted means that the command was ended by a signal.
	ExitInterrupted = 130
)

// ExitError is an error that ends the program with a certain code. A nil Err prints nothing more.
type ExitError struct {
	Code int
	Err  error
}

// Error returns the cause.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// Usagef returns an error about the command line.
func Usagef(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Interrupted reports whether an error came from a signal that ended the command.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// ExitCode returns the exit code that an error of a command asks for.
func ExitCode(err error) int {
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return exit.Code
	}
	if Interrupted(err) {
		return ExitInterrupted
	}
	if answer, ok := errors.AsType[*orchestration.Error](err); ok {
		return statusCode(answer.Status)
	}
	if errors.Is(err, home.ErrBroken) {
		return ExitUsage
	}
	if _, ok := errors.AsType[*tokens.AbsentError](err); ok {
		return ExitRefused
	}
	if provider, ok := errors.AsType[*tokens.ProviderError](err); ok {
		switch {
		case provider.Away:
			return ExitUnavailable
		case provider.Refused:
			return ExitRefused
		}
	}
	if unreachable(err) {
		return ExitUnavailable
	}
	return ExitFailed
}

// statusCode returns the exit code for an answer that is an error.
func statusCode(status int) int {
	switch {
	// An error without a status is that of a request that got no answer.
	case status == 0, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return ExitUnavailable
	// Where a redirect points is for the user to say.
	case Redirected(status), status >= 400 && status < 500:
		return ExitRefused
	default:
		return ExitFailed
	}
}

// unreachable reports whether a request got no answer.
func unreachable(err error) bool {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true
	}
	// The clients tell the cause alone, such as a dial that failed.
	_, ok := errors.AsType[*net.OpError](err)
	return ok || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// Redirected reports whether a status sends somewhere else.
func Redirected(status int) bool { return status >= 300 && status < 400 }
