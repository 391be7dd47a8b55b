package progress

import (
	"io"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/display"
)

// The control sequences that a redraw needs.
const (
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	beginUpdate = "\x1b[?2026h" // the terminal shows all up to the end at once; those that do not know it pass over it
	endUpdate   = "\x1b[?2026l"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// screen redraws lines in place.
type screen struct {
	out io.Writer
	// drawn are the widths of the lines that stand on the terminal, the cursor being on the line below them.
	drawn  []int
	hidden bool
}

// draw replaces what was drawn before by these lines. A terminal that became narrower meanwhile has broken the old lines into several.
func (s *screen) draw(lines []string, columns int) {
	var b strings.Builder
	b.WriteString(beginUpdate)
	if !s.hidden {
		b.WriteString(hideCursor)
		s.hidden = true
	}
	b.WriteString(s.up(columns))
	s.drawn = s.drawn[:0]
	for _, l := range lines {
		b.WriteString(l + clearLine + "\r\n")
		s.drawn = append(s.drawn, visible(l))
	}
	b.WriteString(clearBelow + endUpdate)
	_, _ = io.WriteString(s.out, b.String())
}

// up moves the cursor to the first of the lines that were drawn.
func (s *screen) up(columns int) string {
	rows := 0
	for _, width := range s.drawn {
		rows += max(1, (width+columns-1)/max(1, columns))
	}
	if rows == 0 {
		return "\r"
	}
	return "\r" + strings.Repeat("\x1b[A", rows)
}

// close gives the cursor back; what was drawn stays.
func (s *screen) close() {
	if s.hidden {
		_, _ = io.WriteString(s.out, showCursor)
		s.hidden = false
	}
	s.drawn = nil
}

// visible is the width of a line without its control sequences.
func visible(text string) int {
	var b strings.Builder
	for text != "" {
		before, after, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			break
		}
		_, text, _ = strings.Cut(after, "m")
	}
	return display.Width(b.String())
}
