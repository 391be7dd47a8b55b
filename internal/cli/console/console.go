// Package console is what every command shares: where it reads from and writes to, how it reaches the server, and how it ends.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-isatty"
	"golang.org/x/oauth2"
	"golang.org/x/term"
)

// Console is the surroundings of a command.
type Console struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Environ holds variables as os.Environ returns them.
	Environ []string
	// Clock tells the time.
	Clock func() time.Time
	// URL and Token are the global flags --url and --token-file, already read.
	URL   string
	Token string
}

// DefaultURL is the address of the server when neither --url nor SWELL_URL says one.
const DefaultURL = "http://127.0.0.1:8080"

// New returns the surroundings of the real process.
func New() *Console {
	return &Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Clock: time.Now}
}

// Getenv returns the value of a variable.
func (c *Console) Getenv(name string) string {
	for i := len(c.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(c.Environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// IsTerminal reports whether the output is a terminal that shows colors and moves its cursor.
func (c *Console) IsTerminal() bool {
	f, ok := c.Out.(*os.File)
	return ok && isatty.IsTerminal(f.Fd()) && c.Getenv("TERM") != "dumb"
}

// CanAsk reports whether there is a person who can answer a question.
func (c *Console) CanAsk() bool {
	f, ok := c.In.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Width returns the number of columns of the terminal, and 100 where there is none.
func (c *Console) Width() int {
	if f, ok := c.Out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 100
}

// TokenSource returns the source of the bearer token, nil when there is no token.
func (c *Console) TokenSource() oauth2.TokenSource {
	if c.Token == "" {
		return nil
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: c.Token})
}

// Printf writes to the output.
func (c *Console) Printf(format string, args ...any) { _, _ = fmt.Fprintf(c.Out, format, args...) }

// Clean makes text of a server, a Shoot or a token fit for a terminal: what could move the cursor, change colors or the direction of writing is replaced,
// and it stays on one line.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029', r == unicode.ReplacementChar:
			return '\uFFFD'
		default:
			return r
		}
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

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
	// ExitRefused means that the server did not accept who asks or what was asked.
	ExitRefused = 5
	// ExitInterrupted means that the command was ended by a signal.
	ExitInterrupted = 130
)

// Exit is an error that ends the program with a certain code. A nil Err prints nothing more.
type Exit struct {
	Code int
	Err  error
}

// Error returns the cause.
func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Exit) Unwrap() error { return e.Err }

// Usagef returns an error about the command line.
func Usagef(format string, args ...any) error {
	return &Exit{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Interrupted reports whether an error came from a signal that ended the command.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }
