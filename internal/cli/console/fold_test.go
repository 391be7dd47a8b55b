package console_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/cli/console"
)

// columns is a terminal of a width.
type columns int

// Size implements console.Screen.
func (c columns) Size() (columns, rows int, ok bool) { return int(c), 24, c > 0 }

func TestMessagesAreBrokenAtBlanks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ line, want string }{
		"one that fits":             {"swell: a  short one", "swell: a  short one"},
		"one that does not":         {"swell: the quota of the account is used up", "swell: the quota of the\n  account is used up"},
		"one that is set in":        {"  line 3: the quota of the account is used up", "  line 3: the quota of\n    the account is used\n    up"},
		"a long word":               {"swell: 0123456789012345678901234567890123456789", "swell:\n  0123456789012345678901\n  234567890123456789"},
		"a command":                 {"log in again with 'swell login -p 1', or ask", "log in again with\n  'swell login -p 1', or\n  ask"},
		"a command in brackets":     {"then log in again ('swell login') or ask", "then log in again\n  ('swell login') or ask"},
		"a command that is wider":   {"see 'swell orchestrations 1 operations'", "see 'swell\n  orchestrations 1\n  operations'"},
		"an apostrophe":             {"'tis the Shoot's own window that counts", "'tis the Shoot's own\n  window that counts"},
		"characters of two columns": {"日本 日本語日本語日本語 日本語日本語日本語", "日本 日本語日本語日本語\n  日本語日本語日本語"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, console.Fold(test.line, 24))
		})
	}
}

// No line is wider than the terminal, and nothing but blanks is lost.
func TestNoLineOfAMessageIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	word := rapid.StringOf(rapid.RuneFrom([]rune("ab'(日,.e\u0301")))
	rapid.Check(t, func(rt *rapid.T) {
		width := rapid.IntRange(8, 60).Draw(rt, "width")
		text := strings.Repeat(" ", rapid.IntRange(0, 90).Draw(rt, "blanks")) + strings.Join(rapid.SliceOfN(word, 0, 12).Draw(rt, "words"), " ")
		folded := console.Fold(text, width)
		for line := range strings.SplitSeq(folded, "\n") {
			if console.Width(line) > width {
				rt.Fatalf("%d columns of %d: %q", console.Width(line), width, line)
			}
		}
		bare := strings.NewReplacer(" ", "", "\n", "")
		require.Equal(rt, bare.Replace(text), bare.Replace(folded))
	})
}

func TestMessagesAreFittedToTheTerminal(t *testing.T) {
	t.Parallel()
	note := "to watch it again, on whatever machine:\n  swell orchestrations 0123456789 watch"
	refused := errors.New("the quota is used up: nobody\x1b raised it\n  rules[0]: the window is open for 15m0s only")
	for name, test := range map[string]struct {
		screen     console.Screen
		note, fail string
	}{
		"a pipe": {
			nil, note + "\n",
			"swell: the quota is used up: nobody\uFFFD raised it\n  rules[0]: the window is open for 15m0s only\n",
		},
		"a terminal that does not tell its width": {
			columns(0), note + "\n",
			"swell: the quota is used up: nobody\uFFFD raised it\n  rules[0]: the window is open for 15m0s only\n",
		},
		"a terminal": {
			columns(24), "to watch it again, on\n  whatever machine:\n  swell orchestrations 0123456789 watch\n",
			"swell: the quota is used\n  up: nobody\uFFFD raised it\n  rules[0]: the window\n    is open for 15m0s\n    only\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			c := &console.Console{Err: &out, ErrScreen: test.screen}
			c.Notef("%s", note)
			require.Equal(t, test.note, out.String())
			out.Reset()
			c.Complain(refused)
			require.Equal(t, test.fail, out.String())
		})
	}
}
