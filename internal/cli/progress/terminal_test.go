package progress

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// emulator is a small terminal: it understands what the view writes, and notes as a fault anything else.
type emulator struct {
	mu            sync.Mutex
	columns, rows int
	lines         [][]rune
	row, column   int
	hidden        bool
	faults        []string
}

func newEmulator(columns, rows int) *emulator {
	return &emulator{columns: columns, rows: rows, lines: [][]rune{nil}}
}

// Size implements console.Screen.
func (e *emulator) Size() (columns, rows int, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.columns, e.rows, true
}

// height changes the number of rows.
func (e *emulator) height(rows int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rows = rows
}

func (e *emulator) fault(text string) { e.faults = append(e.faults, text) }

// resize changes the width, and breaks and joins lines as terminals do.
func (e *emulator) resize(columns int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.lines
	at := e.row
	e.columns = columns
	e.lines = nil
	for i, l := range before {
		if i == at {
			e.row = len(e.lines)
		}
		for len(l) > columns {
			e.lines = append(e.lines, l[:columns:columns])
			l = l[columns:]
		}
		e.lines = append(e.lines, l)
	}
}

// Write implements io.Writer.
func (e *emulator) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for text := []rune(string(p)); len(text) > 0; text = text[1:] {
		switch r := text[0]; {
		case r == '\r':
			e.column = 0
		case r == '\n':
			e.column = 0
			if e.row++; e.row == len(e.lines) {
				e.lines = append(e.lines, nil)
			}
		case r == '\x1b':
			end := 2
			for end < len(text) && (text[end] < '@' || text[end] > '~') {
				end++
			}
			if end >= len(text) || text[1] != '[' {
				e.fault("a sequence without an end")
				return len(p), nil
			}
			e.control(string(text[2:end]), text[end])
			text = text[end:]
		case r < ' ':
			e.fault("a control character")
		case e.column >= e.columns:
			e.fault("a line that is too wide")
		default:
			l := e.lines[e.row]
			for len(l) <= e.column {
				l = append(l, ' ')
			}
			l[e.column] = r
			e.lines[e.row] = l
			e.column++
		}
	}
	return len(p), nil
}

func (e *emulator) control(parameter string, command rune) {
	switch sequence := parameter + string(command); {
	case command == 'm', sequence == "?2026h", sequence == "?2026l":
	case sequence == "A":
		if e.row == 0 {
			e.fault("the cursor leaves the top")
			return
		}
		e.row--
	case sequence == "K":
		e.clearLine()
	case sequence == "J":
		e.clearLine()
		e.lines = e.lines[:e.row+1]
	case sequence == "?25l", sequence == "?25h":
		e.hidden = command == 'l'
	default:
		e.fault("sequence " + sequence)
	}
}

func (e *emulator) clearLine() {
	if len(e.lines[e.row]) > e.column {
		e.lines[e.row] = e.lines[e.row][:e.column]
	}
}

// cursorHidden reports whether the cursor cannot be seen.
func (e *emulator) cursorHidden() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hidden
}

// wrong returns the faults that were noted.
func (e *emulator) wrong() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.faults
}

// text returns what is on the screen.
func (e *emulator) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	lines := make([]string, len(e.lines))
	for i, l := range e.lines {
		lines[i] = strings.TrimRight(string(l), " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func TestAFrameReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	e := newEmulator(20, 10)
	_, err := e.Write([]byte("$ swell\r\n"))
	require.NoError(t, err)
	s := &screen{out: e}
	s.draw([]string{"one", "\x1b[31mtwo\x1b[0m", "three"}, 20)
	require.Equal(t, "$ swell\none\ntwo\nthree", e.text())
	require.True(t, e.cursorHidden())
	s.draw([]string{"1", "2"}, 20)
	require.Equal(t, "$ swell\n1\n2", e.text())
	s.draw([]string{"1", "2", "3", "4"}, 20)
	require.Equal(t, "$ swell\n1\n2\n3\n4", e.text())
	s.close()
	require.False(t, e.cursorHidden())
	require.Empty(t, e.wrong())
}

func TestATerminalThatBecomesNarrowerKeepsNothingOfTheOldFrame(t *testing.T) {
	t.Parallel()
	e := newEmulator(20, 30)
	_, err := e.Write([]byte("$ swell\r\n"))
	require.NoError(t, err)
	s := &screen{out: e}
	s.draw([]string{"\x1b[32m1234567890123456789\x1b[0m", "", "short", "12345678901"}, 20)
	e.resize(10)
	s.draw([]string{"123456789", "", "short"}, 10)
	require.Equal(t, "$ swell\n123456789\n\nshort", e.text())
	e.resize(30)
	s.draw([]string{"123456789", "longer than it was before"}, 30)
	require.Equal(t, "$ swell\n123456789\nlonger than it was before", e.text())
	require.Empty(t, e.wrong())
}
