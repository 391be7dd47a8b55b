package taskrun

import (
	"bytes"
	"io"
	"sync"

	"github.com/swell-fleet/swell/internal/cli/console"
)

// longestLine is how many bytes of a line are held back until its end comes.
const longestLine = 64 << 10

// prefixer lets commands that run at the same time write to one output, each whole line with the name of its Shoot in front.
type prefixer struct {
	mu  sync.Mutex
	out io.Writer
}

func newPrefixer(out io.Writer) *prefixer { return &prefixer{out: out} }

func (p *prefixer) writer(name string) *lineWriter {
	return &lineWriter{to: p, prefix: console.Clean(name) + " | "}
}

// lineWriter is the output of one command. It is used by one goroutine at a time.
type lineWriter struct {
	to     *prefixer
	prefix string
	rest   []byte
}

// Write implements io.Writer.
func (w *lineWriter) Write(text []byte) (int, error) {
	w.rest = append(w.rest, text...)
	for {
		end := bytes.IndexByte(w.rest, '\n')
		if end < 0 && len(w.rest) < longestLine {
			return len(text), nil
		}
		if end < 0 {
			end = len(w.rest) - 1
		}
		if err := w.line(w.rest[:end+1]); err != nil {
			return 0, err
		}
		w.rest = w.rest[end+1:]
	}
}

func (w *lineWriter) line(text []byte) error {
	w.to.mu.Lock()
	defer w.to.mu.Unlock()
	_, err := io.WriteString(w.to.out, w.prefix+console.Clean(string(bytes.TrimRight(text, "\r\n")))+"\n")
	return err
}

// flush writes what has no end of line.
func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		_ = w.line(w.rest)
		w.rest = nil
	}
}
