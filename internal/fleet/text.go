package fleet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine is how many bytes of a text from outside are kept.
const maxLine = 600

// Line makes one line of a text from outside: valid UTF-8 without control characters, spaces in a row made one, cut to 600 bytes.
func Line(text string) string {
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = b.Len() > 0
			continue
		}
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r)+1 > maxLine {
			return strings.TrimRight(b.String(), " ") + "…"
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
