// Package display writes values and tables for people: fitted to the terminal, cleaned of what could steer it, with a dash where nothing is set.
package display

import (
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
)

// Dash stands where no value is set.
const Dash = "-"

// Text cleans a text of a server; a blank one is a dash.
func Text(s string) string {
	if s = strings.TrimSpace(console.Clean(s)); s == "" {
		return Dash
	}
	return s
}

// Width returns the number of columns that a text takes on a terminal.
func Width(s string) int { return console.Width(s) }

// Cut shortens a text to a number of columns; an ellipsis shows that something is missing.
func Cut(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	if columns <= 0 {
		return ""
	}
	width := 0
	for i, r := range s {
		if width += console.RuneWidth(r); width > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// Pad fills a text with spaces up to a number of columns, on its left side when right is true.
func Pad(s string, columns int, right bool) string {
	fill := strings.Repeat(" ", max(0, columns-Width(s)))
	if right {
		return fill + s
	}
	return s + fill
}

// Hang writes a text after a head. Where one line is too narrow for both it goes on below, set in by some columns. It is broken at blanks, and words
// only where they are wider than a line.
func Hang(head, text string, columns, indent int) string {
	if line := head + gap + text; Width(line) <= columns {
		return line
	}
	return strings.Join(console.Hang(head, gap, strings.Fields(text), columns, indent), "\n")
}

// Wrap breaks the paragraphs of a text to a number of columns. Lines that begin with a space are kept as they are.
func Wrap(text string, columns int) string {
	var lines []string
	open := false
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			lines, open = append(lines, line), false
			continue
		}
		for _, word := range strings.Fields(line) {
			if last := len(lines) - 1; open && Width(lines[last])+1+Width(word) <= columns {
				lines[last] += " " + word
			} else {
				lines, open = append(lines, word), true
			}
		}
	}
	return strings.Join(lines, "\n")
}
