package console

import (
	"strings"
	"unicode"
)

// foldIndent is how far the lines are set in on which a message goes on.
const foldIndent = 2

// Width returns the number of columns that a text takes on a terminal.
func Width(s string) int {
	width := 0
	for _, r := range s {
		width += RuneWidth(r)
	}
	return width
}

// wide lists the ranges of characters that take two columns: East Asian scripts and pictures.
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xa000, 0xa4cf}, {0xac00, 0xd7a3},
	{0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
}

// RuneWidth returns the number of columns that a character takes on a terminal.
func RuneWidth(r rune) int {
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

// Pieces breaks a line into pieces of a number of columns, wherever that is. One that fits is its only piece.
func Pieces(line string, columns int) []string {
	var pieces []string
	begin, width := 0, 0
	for i, r := range line {
		if w := RuneWidth(r); width+w > columns && i > begin {
			pieces = append(pieces, line[begin:i])
			begin, width = i, w
		} else {
			width += w
		}
	}
	return append(pieces, line[begin:])
}

// Hang puts words after the beginning of a line and returns the lines that they fill: after the first they are set in by some columns. A word is
// broken only where it is wider than a line. The beginning stays as it is, and is parted from the first word by between.
func Hang(line, between string, words []string, columns, indent int) []string {
	var lines []string
	for _, word := range words {
		if Width(line)+Width(between)+Width(word) > columns {
			if strings.TrimSpace(line) != "" {
				lines = append(lines, line)
				line = strings.Repeat(" ", indent)
			}
			pieces := Pieces(word, max(1, columns-max(indent, Width(line))))
			for _, piece := range pieces[:len(pieces)-1] {
				lines = append(lines, line+piece)
				line = strings.Repeat(" ", indent)
			}
			word, between = pieces[len(pieces)-1], ""
		}
		line, between = line+between+word, " "
	}
	return append(lines, line)
}

// Fold breaks a line of a message at blanks into lines of a number of columns; those after the first are set in further than it is. What stands in
// single quotes, such as a command that is to be copied, stays together where a line holds it.
func Fold(line string, columns int) string {
	if Width(line) <= columns {
		return line
	}
	text := strings.TrimLeft(line, " ")
	begin := strings.Repeat(" ", min(len(line)-len(text), columns/2))
	return strings.Join(Hang(begin, "", phrases(text, columns-len(begin)-foldIndent), columns, len(begin)+foldIndent), "\n")
}

// phrases splits a text at its blanks, but not at those inside single quotes as far as a phrase is not wider than some columns.
func phrases(text string, columns int) []string {
	var found []string
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		end := strings.IndexByte(text, ' ')
		if strings.HasPrefix(strings.TrimLeft(text, "("), "'") {
			if closed := closing(text); closed > 0 && Width(text[:closed]) <= columns {
				end = closed
			}
		}
		if end < 0 {
			end = len(text)
		}
		found = append(found, text[:end])
		text = text[end:]
	}
	return found
}

// closing returns where the phrase ends that a text begins with and that is in single quotes; 0 when the quote is not closed.
func closing(text string) int {
	open := strings.IndexByte(text, '\'')
	for i := open + 1; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		rest := text[i+1:]
		if blank := strings.IndexByte(rest, ' '); blank >= 0 {
			rest = rest[:blank]
		}
		// A quote inside a word, as of a possessive, closes nothing.
		if strings.Trim(rest, ".,;:)?!") == "" {
			return i + 1 + len(rest)
		}
	}
	return 0
}

// fit breaks the lines of a message for the terminal that it is shown on. Lines that begin with a blank hold what is to be copied, and stay whole
// when copied says so.
func (c *Console) fit(text string, copied bool) string {
	if c.ErrScreen == nil {
		return text
	}
	columns, _, ok := c.ErrScreen.Size()
	if !ok {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !copied || !strings.HasPrefix(line, " ") {
			lines[i] = Fold(line, columns)
		}
	}
	return strings.Join(lines, "\n")
}
