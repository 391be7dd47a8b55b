package gardener

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// requireClean asks for one line of valid text without anything that a terminal obeys.
func requireClean(t *testing.T, s string) {
	t.Helper()
	require.True(t, utf8.ValidString(s))
	for _, r := range s {
		require.True(t, unicode.IsPrint(r), "%U in %.200q", r, s)
	}
	require.NotContains(t, s, "  ")
	require.Equal(t, strings.TrimSpace(s), s)
}

func FuzzOneLine(f *testing.F) {
	for _, seed := range []string{
		"", " ", "plain", "two\nlines", "\x1b]0;title\x07text", "a\u202eb", "\xff\xfe", "ends \u2028", strings.Repeat("é", maxText), strings.Repeat(" ", 3*maxText) + "end",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := oneLine(s)
		requireClean(t, line)
		require.LessOrEqual(t, len(line), maxText+utf8.UTFMax+len(" …")+1)
		require.Equal(t, line, oneLine(line), "cleaning twice changes nothing")
	})
}
