package console_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/cli/console"
)

func TestNothingThatIsWrittenSteersTheTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\n":                           "plain\ttext\n",
		"\x1b[2J\x1b]0;title\x07":                 "\uFFFD[2J\uFFFD]0;title\uFFFD",
		"\u009b31m \x9b31m":                       "\uFFFD31m \uFFFD31m",
		"over\rwritten":                           "over\uFFFDwritten",
		"\u202eabc\u2066":                         "\uFFFDabc\uFFFD",
		"a\u200bb\u200dc\u2060d\ufeffe\u00adf":    "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFDf",
		"a\u034fb\u115fc\u3164d\ufe0fe\U000E0041": "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFD",
		"é 日本 e\u0301":                            "é 日本 e\u0301",
	} {
		var out, errs bytes.Buffer
		c := &console.Console{Out: &out, Err: &errs}
		c.Guard()
		c.Guard()
		c.Printf("%s", text)
		_, err := c.Err.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, out.String(), "%q", text)
		require.Equal(t, want, errs.String(), "%q", text)
	}
}

func TestTheProgramSteersTheTerminalOnItsCanvas(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &console.Console{Out: &out, Err: &out}
	require.Equal(t, &out, c.Canvas())
	c.Guard()
	_, err := c.Canvas().Write([]byte("\x1b[31mred\x1b[0m"))
	require.NoError(t, err)
	require.Equal(t, "\x1b[31mred\x1b[0m", out.String())
}

// full is an output that takes nothing.
type full struct{}

var errFull = errors.New("it is full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAGuardedOutputTellsItsErrors(t *testing.T) {
	t.Parallel()
	c := &console.Console{Out: full{}, Err: full{}}
	c.Guard()
	c.Printf("text")
	require.ErrorIs(t, c.OutputError(), errFull)
}

// However a text is cut into writes, what comes out is the text as Clean has it, line by line.
func TestGuardedTextIsClean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.Just("\x1b[2J"), rapid.Just("日本\n"), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4),
			func(b []byte) string { return string(b) })), 0, 8).Draw(rt, "pieces")
		// With its end every character is whole.
		text := strings.NewReplacer("\r", "", "\t", "").Replace(strings.Join(pieces, "")) + "\n"
		var out bytes.Buffer
		c := &console.Console{Out: &out, Err: &out}
		c.Guard()
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "bytes")
			_, err := c.Out.Write(rest[:n])
			require.NoError(rt, err)
			rest = rest[n:]
		}
		require.True(rt, utf8.Valid(out.Bytes()))
		collapse := func(s string) string {
			for strings.Contains(s, "\uFFFD\uFFFD") {
				s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
			}
			return s
		}
		var want []string
		for line := range strings.SplitSeq(text, "\n") {
			want = append(want, console.Clean(line))
		}
		// How many marks stand for bytes that are no text depends on the writes.
		require.Equal(rt, collapse(strings.Join(want, "\n")), collapse(out.String()))
	})
}
