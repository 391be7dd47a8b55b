package console

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Guard lets nothing that is written to Out or Err from now on steer a terminal, wherever the text comes from. What the program itself steers one with is
// written to the Canvas.
func (c *Console) Guard() {
	if c.canvas == nil {
		c.canvas = c.Out
		c.Out, c.Err = &guard{out: c.Out}, &guard{out: c.Err}
	}
}

// Canvas is the output for text that may hold control sequences. Whoever writes to it cleans what is not its own.
func (c *Console) Canvas() io.Writer {
	if c.canvas == nil {
		return c.Out
	}
	return c.canvas
}

// guard passes text on without what could steer a terminal. Ends of lines and tabs stay.
type guard struct {
	mu  sync.Mutex
	out io.Writer
	// rest is the begin of a character whose end has not come yet.
	rest []byte
}

// Write implements io.Writer.
func (g *guard) Write(text []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	whole := text
	if len(g.rest) > 0 {
		whole = slices.Concat(g.rest, text)
	}
	end := len(whole) - begun(whole)
	clean := whole[:end]
	if !utf8.Valid(clean) || bytes.IndexFunc(clean, unwanted) >= 0 {
		clean = []byte(strings.Map(func(r rune) rune {
			if unwanted(r) {
				return utf8.RuneError
			}
			return r
		}, strings.ToValidUTF8(string(clean), string(utf8.RuneError))))
	}
	g.rest = bytes.Clone(whole[end:])
	if _, err := g.out.Write(clean); err != nil {
		return 0, err //nolint:wrapcheck // it is that of the output itself
	}
	return len(text), nil
}

// unwanted reports whether a character must not reach a terminal.
func unwanted(r rune) bool { return r != '\n' && r != '\t' && harmful(r) }

// begun returns how many bytes at the end of a text are the begin of a character that is not whole yet.
func begun(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		tail := text[len(text)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}
