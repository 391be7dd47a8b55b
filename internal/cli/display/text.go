// Package display writes values and tables for people: fitted to the terminal, cleaned of what could steer it, with a dash where nothing is set.
package display

import (
	"strings"
	"unicode"

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
func Width(s string) int {
	width := 0
	for _, r := range s {
		width += runeWidth(r)
	}
	return width
}

// wide lists the ranges of characters that take two columns: East Asian scripts and pictures.
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xa000, 0xa4cf}, {0xac00, 0xd7a3},
	{0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
}

func runeWidth(r rune) int {
	switch {
	case r < 0x20, r == 0x7f:
		return 0
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	for _, span := range wide {
		if r >= span[0] && r <= span[1] {
			return 2
		}
	}
	return 1
}

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
		if width += runeWidth(r); width > columns-1 {
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
	var lines []string
	line, between := head, gap
	for _, word := range strings.Fields(text) {
		if Width(line)+Width(between)+Width(word) > columns {
			lines = append(lines, line)
			pieces := broken(word, max(1, columns-indent))
			for _, piece := range pieces[:len(pieces)-1] {
				lines = append(lines, strings.Repeat(" ", indent)+piece)
			}
			line, word, between = strings.Repeat(" ", indent), pieces[len(pieces)-1], ""
		}
		line, between = line+between+word, " "
	}
	return strings.Join(append(lines, line), "\n")
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
