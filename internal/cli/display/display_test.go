package display

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/cli/console"
)

// screen is a terminal of a fixed width.
type screen int

func (s screen) Size() (columns, rows int, ok bool) { return int(s), 24, true }

func printed(t *testing.T, columns int, fill func(*Table), cs ...Column) string {
	t.Helper()
	var out bytes.Buffer
	c := &console.Console{Out: &out}
	if columns > 0 {
		c.Screen = screen(columns)
	}
	table := NewTable(c, cs...)
	fill(table)
	require.NoError(t, table.Print())
	return out.String()
}

var shootColumns = []Column{
	{Title: "SHOOT"}, {Title: "REGION", Drop: 1}, {Title: "PLAN", Drop: 2}, {Title: "DESCRIPTION", Shrink: 14}, {Title: "N", Right: true},
}

func twoShoots(t *Table) {
	t.Row("c-1", "eu-central-1", "aws", "control plane goes to 1.34.7", "7")
	t.Row("c-22", "", "azure", "\x1b[31mred\nline", "12")
}

func TestATableIsFittedToTheTerminal(t *testing.T) {
	t.Parallel()
	require.Equal(t, ""+
		"SHOOT  REGION        PLAN   DESCRIPTION                    N\n"+
		"c-1    eu-central-1  aws    control plane goes to 1.34.7   7\n"+
		"c-22   -             azure  \uFFFD[31mred line                 12\n", printed(t, 60, twoShoots, shootColumns...))
	require.Equal(t, ""+
		"SHOOT  REGION        DESCRIPTION                    N\n"+
		"c-1    eu-central-1  control plane goes to 1.34.7   7\n"+
		"c-22   -             \uFFFD[31mred line                 12\n", printed(t, 59, twoShoots, shootColumns...))
	require.Equal(t, ""+
		"SHOOT  DESCRIPTION        N\n"+
		"c-1    control plane g…   7\n"+
		"c-22   \uFFFD[31mred line     12\n", printed(t, 27, twoShoots, shootColumns...))
	require.Equal(t, ""+
		"SHOOT  DES…\n"+
		"c-1    con…\n"+
		"c-22   \uFFFD[3…\n", printed(t, 11, twoShoots, shootColumns...))
}

func TestATableInAPipeIsWhole(t *testing.T) {
	t.Parallel()
	require.Equal(t, ""+
		"c-1\teu-central-1\taws\tcontrol plane goes to 1.34.7\t7\n"+
		"c-22\t-\tazure\t\uFFFD[31mred line\t12\n", printed(t, 0, twoShoots, shootColumns...))
}

func TestRowsThatContinueDoNotRepeatCells(t *testing.T) {
	t.Parallel()
	fill := func(t *Table) {
		t.Row("c-1", "provision")
		t.Continue(1, "c-1", "")
	}
	columns := []Column{{Title: "SHOOT"}, {Title: "OPERATION"}}
	require.Equal(t, "SHOOT  OPERATION\nc-1    provision\n       -\n", printed(t, 80, fill, columns...))
	require.Equal(t, "c-1\tprovision\nc-1\t-\n", printed(t, 0, fill, columns...))
}

func history(t *Table) {
	t.Row("02:11", "error", "quota exceeded in the region eu-central-1 of the account")
	t.Row("02:10", "", "")
}

// A cell that is worth reading to its end is not cut: it is wrapped, and stands below its row where it would be too narrow.
func TestACellThatIsWrapped(t *testing.T) {
	t.Parallel()
	columns := []Column{{Title: "TIME"}, {Title: "LEVEL", Drop: 1}, {Title: "MESSAGE", Wrap: 16}}
	require.Equal(t, ""+
		"TIME   LEVEL  MESSAGE\n"+
		"02:11  error  quota exceeded in the region eu-central-1 of the account\n"+
		"02:10  -      -\n", printed(t, 100, history, columns...))
	require.Equal(t, ""+
		"TIME   LEVEL  MESSAGE\n"+
		"02:11  error  quota exceeded in the\n"+
		"              region eu-central-1 of\n"+
		"              the account\n"+
		"02:10  -      -\n", printed(t, 36, history, columns...))
	require.Equal(t, ""+
		"TIME   MESSAGE\n"+
		"02:11  quota exceeded in\n"+
		"       the region\n"+
		"       eu-central-1 of\n"+
		"       the account\n"+
		"02:10  -\n", printed(t, 24, history, columns...))
	require.Equal(t, ""+
		"TIME   LEVEL\n"+
		"02:11  error\n"+
		"    quota exceeded\n"+
		"    in the region\n"+
		"    eu-central-1 of\n"+
		"    the account\n"+
		"02:10  -\n", printed(t, 20, history, columns...))
	require.Equal(t, "02:11\terror\tquota exceeded in the region eu-central-1 of the account\n02:10\t-\t-\n", printed(t, 0, history, columns...))
	require.Equal(t, []string{"日", "本語", "ab"}, broken("日 本語 ab", 4))
	require.Equal(t, []string{"日本", "語"}, broken("日本語", 4))
}

// Rows of which the rest is not worth a line are cut, and a wide table needs no fitting.
func TestRowsOfOneLine(t *testing.T) {
	t.Parallel()
	columns := []Column{{Title: "ID", Brief: 4}, {Title: "LEVEL", Drop: 1}, {Title: "MESSAGE", Wrap: 16}}
	fill := func(t *Table) {
		t.Brief("aaaabbbb", "error", "quota exceeded in the region")
		t.Row("bbbbcccc", "error", "quota exceeded in the region")
	}
	require.Equal(t, ""+
		"ID    LEVEL  MESSAGE\n"+
		"aaaa  error  quota exceeded …\n"+
		"bbbb  error  quota exceeded\n"+
		"             in the region\n", printed(t, 29, fill, columns...))
	require.Equal(t, ""+
		"ID    LEVEL\n"+
		"aaaa  error\n"+
		"    quota exce…\n"+
		"bbbb  error\n"+
		"    quota\n"+
		"    exceeded in\n"+
		"    the region\n", printed(t, 15, fill, columns...))
	require.Equal(t, ""+
		"ID        LEVEL  MESSAGE\n"+
		"aaaabbbb  error  quota exceeded in the region\n"+
		"bbbbcccc  error  quota exceeded in the region\n", printed(t, 15, func(t *Table) {
		t.Wide()
		fill(t)
	}, columns...))
}

// A column that a pipe has in the middle can stand last on a terminal.
func TestAColumnThatStandsLast(t *testing.T) {
	t.Parallel()
	columns := []Column{{Title: "SHOOT"}, {Title: "DESCRIPTION", Last: true, Wrap: 10}, {Title: "N", Right: true}}
	fill := func(t *Table) {
		t.Row("c-1", "quota exceeded in eu-1", "7")
		t.Continue(2, "c-1", "quota exceeded in eu-1", "12")
	}
	require.Equal(t, ""+
		"SHOOT   N  DESCRIPTION\n"+
		"c-1     7  quota exceeded in eu-1\n"+
		"       12\n", printed(t, 80, fill, columns...))
	require.Equal(t, ""+
		"SHOOT   N\n"+
		"c-1     7\n"+
		"    quota exceeded\n"+
		"    in eu-1\n"+
		"       12\n", printed(t, 20, fill, columns...))
	require.Equal(t, "c-1\tquota exceeded in eu-1\t7\nc-1\tquota exceeded in eu-1\t12\n", printed(t, 0, fill, columns...))
}

// A narrow terminal shows as much of an ID as tells it apart.
func TestIDsAreShortenedAsFarAsTheyDiffer(t *testing.T) {
	t.Parallel()
	columns := []Column{{Title: "ID", Brief: 4}, {Title: "STATE"}, {Title: "NOTE", Drop: 1}}
	fill := func(ids ...string) func(t *Table) {
		return func(t *Table) {
			for _, id := range ids {
				t.Row(id, "failed", "note")
			}
		}
	}
	require.Equal(t, "ID         STATE   NOTE\naaaabbbb1  failed  note\n", printed(t, 24, fill("aaaabbbb1"), columns...), "there is room")
	require.Equal(t, "ID    STATE   NOTE\naaaa  failed  note\nbbbb  failed  note\naaaa  failed  note\n",
		printed(t, 20, fill("aaaabbbb1", "bbbbbbbb1", "aaaabbbb1"), columns...))
	require.Equal(t, "ID      STATE\naaaabb  failed\naaaabc  failed\na       failed\n", printed(t, 17, fill("aaaabbbb1", "aaaabcbb1", "a"), columns...))
	require.Equal(t, "aaaabbbb1\tfailed\tnote\n", printed(t, 0, fill("aaaabbbb1"), columns...))
}

func TestALayoutIsSetIn(t *testing.T) {
	t.Parallel()
	table := NewTable(&console.Console{Screen: screen(26)}, Column{Title: "TIME"}, Column{Title: "LEVEL", Drop: 1}, Column{Title: "MESSAGE", Wrap: 16})
	history(table)
	heading, rows := table.Layout(2)
	require.Equal(t, "  TIME   MESSAGE", heading)
	require.Len(t, rows, 2)
	require.Equal(t, []string{"  02:11  quota exceeded in", "         the region", "         eu-central-1 of", "         the account"}, rows[0])
	require.Equal(t, []string{"  02:10  -"}, rows[1])
}

// No line is wider than the terminal, whatever the cells hold, and nothing can steer the terminal.
func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		width := rapid.IntRange(1, 100).Draw(rt, "width")
		cells := rapid.SliceOfN(rapid.String(), 5, 5).Draw(rt, "cells")
		table := NewTable(&console.Console{}, Column{Title: "A"}, Column{Title: "B", Drop: 1}, Column{Title: "C", Shrink: 5}, Column{Title: "D", Right: true, Shrink: 3}, Column{Title: "E", Wrap: rapid.IntRange(0, 9).Draw(rt, "wrap")})
		table.Row(cells...)
		for _, l := range table.lines(width) {
			if Width(l) > width || strings.ContainsAny(l, "\x1b\r\n\t\x00") {
				rt.Fatalf("%d columns of %d: %q", Width(l), width, l)
			}
		}
	})
}

func TestWidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "…": 1, "█▒": 2, "🚀": 2} {
		require.Equal(t, want, Width(text), text)
	}
	require.Equal(t, "日…", Cut("日本語", 4))
	require.Equal(t, "日本", Cut("日本", 4))
	require.Empty(t, Cut("abc", 0))
	require.Equal(t, "  日", Pad("日", 4, true))
}

func TestTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	people, programs := Clock{Now: now}, Clock{Now: now, Machine: true}
	for _, unset := range []time.Time{{}, time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", -3600)), time.Date(0, 1, 1, 22, 0, 0, 0, time.UTC)} {
		for _, c := range []Clock{people, programs} {
			require.Equal(t, Dash, c.Time(unset))
			require.Equal(t, Dash, c.Relative(unset))
			require.Equal(t, Dash, c.Both(unset))
			require.Equal(t, Dash, c.Window(unset, unset))
			require.Equal(t, Dash, c.Pointer(&unset))
		}
	}
	require.Equal(t, Dash, people.Pointer(nil))
	at := now.Add(-90 * time.Minute)
	require.Equal(t, "1h30m ago", people.Relative(at))
	require.Equal(t, "in 2d", people.Relative(now.Add(48*time.Hour)))
	require.Equal(t, at.Local().Format("2006-01-02 15:04 MST")+" (1h30m ago)", people.Both(at))
	require.Equal(t, "2030-01-02T10:30:00Z", programs.Both(at.In(time.FixedZone("", 3600))))
	require.Equal(t, "2030-01-02T10:30:00Z/2030-01-02T12:00:00Z", programs.Window(at, now))
	require.Equal(t, "from 2030-01-02T10:30:00Z", programs.Window(at, time.Time{}))
	require.Equal(t, at.Local().Format("2006-01-02 15:04")+" - "+now.Local().Format("15:04 MST"), people.Window(at, now))
}

func TestDurationsAndNumbers(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 45 * time.Second: "45s", 60 * time.Second: "1m", 200 * time.Second: "3m20s", 125 * time.Minute: "2h5m",
		76 * time.Hour: "3d4h", 48 * time.Hour: "2d", 240 * time.Hour: "10d", 24 * 900 * time.Hour: "900d",
	} {
		require.Equal(t, want, Duration(d))
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		require.Equal(t, want, Number(n))
	}
	require.Equal(t, "1 runtime", Count(1, "runtime"))
	require.Equal(t, "0 runtimes", Count(0, "runtime"))
}

func TestWrap(t *testing.T) {
	t.Parallel()
	require.Equal(t, "one two\nthree four\n\n  kept as it is\nfive six", Wrap("one two\nthree\nfour\n\n  kept as it is\nfive six", 10))
	require.Equal(t, "unbreakable\nword", Wrap("unbreakable word", 5))
	require.Empty(t, Wrap("", 10))
}

func TestATextHangsOnItsHead(t *testing.T) {
	t.Parallel()
	require.Equal(t, "head  one two", Hang("head", "one two", 13, 2))
	require.Equal(t, "head  one\n  two", Hang("head", "one two", 12, 2))
	require.Equal(t, "head\n  an-unbre\n  akable\n  word", Hang("head", "an-unbreakable word", 10, 2))
	require.Equal(t, "a head that is too long\n  one", Hang("a head that is too long", "one", 10, 2))
	require.Equal(t, "head  ", Hang("head", "", 80, 2))
}

func TestDetailsAreAligned(t *testing.T) {
	t.Parallel()
	var d Details
	d.Add("ID", "o-1")
	d.Add("Description", "some words that do not fit into one line")
	d.Add("Version", "")
	var out bytes.Buffer
	d.Print(&console.Console{Out: &out, Screen: screen(40)})
	require.Equal(t, ""+
		"ID:           o-1\n"+
		"Description:  some words that do not fit\n"+
		"              into one line\n"+
		"Version:      -\n", out.String())
	out.Reset()
	d.Print(&console.Console{Out: &out})
	require.Equal(t, "ID\to-1\nDescription\tsome words that do not fit into one line\nVersion\t-\n", out.String())
}
