// Package console is what every command shares: where it reads from and writes to, how it reaches the server, and how it ends.
package console

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// Console is the surroundings of a command.
type Console struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Screen is the terminal that Out writes to; nil when Out is no terminal that can move its cursor.
	Screen Screen
	// ErrScreen is the terminal that Err writes to; nil when Err is no terminal.
	ErrScreen Screen
	// Person is true when somebody sits at In and can answer a question.
	Person bool
	// Environ holds variables as os.Environ returns them.
	Environ []string
	// Clock tells the time.
	Clock func() time.Time
	// URL is the address of the server.
	URL string
	// Home is where contexts and tokens are kept.
	Home home.Folder
	// Context is how the server is reached beyond its address; without a name when the user has no context for it.
	Context home.Context
	// Source brings the bearer token; nil when there is none.
	Source tokens.Source
	// Connect finds the server and what is sent along with requests to it. It has been called before a command runs that is not Local.
	Connect func(ctx context.Context) error
	// Base carries the requests to the server; nil means http.DefaultTransport.
	Base http.RoundTripper
	// Globals are the flags of the command line that say which server is meant and who asks, for commands that a user is to copy.
	Globals []string

	// canvas is what Out was before it was guarded; nil when it is not.
	canvas    io.Writer
	outputErr error
}

// The variables that say which server is meant and who asks.
const (
	URLVariable     = "SWELL_URL"
	ContextVariable = "SWELL_CONTEXT"
	TokenVariable   = "SWELL_TOKEN"
)

// Local is the annotation of commands that work without a server, also where the contexts are broken. One that turns out to need the server
// calls Connect.
const Local = "local"

// DefaultURL is the address of the server when nothing says one.
const DefaultURL = "http://127.0.0.1:8080"

// New returns the surroundings of the real process, with the clock that it goes by.
func New(clock func() time.Time) *Console {
	c := &Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Clock: clock}
	c.Home = home.Of(c.Getenv)
	c.Person = isatty.IsTerminal(os.Stdin.Fd())
	if isatty.IsTerminal(os.Stdout.Fd()) && c.Getenv("TERM") != "dumb" {
		c.Screen = terminal{os.Stdout}
	}
	if isatty.IsTerminal(os.Stderr.Fd()) {
		c.ErrScreen = terminal{os.Stderr}
	}
	return c
}

// Screen is a terminal that text is shown on.
type Screen interface {
	// Size returns the number of columns and rows at this moment, and false when it cannot be told.
	Size() (columns, rows int, ok bool)
}

// terminal is the screen behind a file.
type terminal struct{ file *os.File }

// Size implements Screen.
func (t terminal) Size() (columns, rows int, ok bool) {
	columns, rows, err := term.GetSize(int(t.file.Fd()))
	return columns, rows, err == nil && columns > 0 && rows > 0
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

// IsTerminal reports whether the output is a terminal that moves its cursor.
func (c *Console) IsTerminal() bool { return c.Screen != nil }

// The size that is assumed where there is no terminal, or one that does not tell.
const (
	fallbackColumns = 100
	fallbackRows    = 30
)

// Size returns the columns and rows of the terminal.
func (c *Console) Size() (columns, rows int) {
	if c.Screen != nil {
		if columns, rows, ok := c.Screen.Size(); ok {
			return columns, rows
		}
	}
	return fallbackColumns, fallbackRows
}

// Color reports whether the output may be colored: a terminal, and nobody asked for none with NO_COLOR.
func (c *Console) Color() bool { return c.Screen != nil && c.Getenv("NO_COLOR") == "" }

// Printf writes to the output. What goes wrong is told by OutputError.
func (c *Console) Printf(format string, args ...any) {
	if _, err := fmt.Fprintf(c.Out, format, args...); err != nil && c.outputErr == nil {
		c.outputErr = err
	}
}

// OutputError returns the first error of writing to the output.
func (c *Console) OutputError() error { return c.outputErr }

// Notef writes lines for a person to the error stream, so that they never mix with what a program reads. On a terminal they are broken at blanks; lines
// that begin with one hold what is to be copied, and stay whole.
func (c *Console) Notef(format string, args ...any) {
	_, _ = fmt.Fprintln(c.Err, c.fit(fmt.Sprintf(format, args...), true))
}

// Complain writes an error to the error stream: its text cleaned, and on a terminal broken at blanks.
func (c *Console) Complain(err error) {
	lines := strings.Split("swell: "+err.Error(), "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	_, _ = fmt.Fprintln(c.Err, c.fit(strings.Join(lines, "\n"), false))
}

// Clean makes text of a server, a Shoot or a token fit for a terminal: what could move the cursor, change colors or the direction of writing is replaced,
// and it stays on one line.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case harmful(r):
			return '\uFFFD'
		default:
			return r
		}
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// harmful reports whether a character could steer a terminal, or is not seen on one at all.
func harmful(r rune) bool {
	return unicode.IsControl(r) || r == unicode.ReplacementChar || r > unicode.MaxASCII && unicode.In(r, steering...)
}

// steering are the characters beyond ASCII that do not show themselves: they format text, such as the direction of writing, join it, or end lines.
var steering = []*unicode.RangeTable{
	unicode.Bidi_Control, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
}

// Command returns a command line of this program that a user can copy. It reaches the same server.
func (c *Console) Command(args ...string) string {
	words := slices.Concat([]string{"swell"}, c.Globals, args)
	for i, word := range words {
		words[i] = quoteWord(Clean(word))
	}
	return strings.Join(words, " ")
}

// quoteWord puts a word into single quotes where a shell would not leave it as it is.
func quoteWord(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:=@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
