package progress

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/orchestration"
)

// quiet is how long nothing is written while only numbers of succeeded operations go up.
const quiet = 10 * time.Second

// heartbeat is how often a line is written when nothing changes at all, so that nobody takes the program for dead.
const heartbeat = 10 * time.Minute

// lines writes a line when something changed, for outputs that cannot be redrawn.
type lines struct {
	out     io.Writer
	last    snapshot
	written time.Time
	started bool
	trouble string
}

// show writes what has changed: a new state or failure at once, mere progress from time to time.
func (l *lines) show(p *picture) {
	if p.trouble != l.trouble {
		l.trouble = p.trouble
		if p.trouble != "" {
			l.write(p.now, p.trouble)
		} else {
			l.write(p.now, "the server answers again")
		}
	}
	if !display.IsSet(p.status.CreatedAt) && p.status.State == "" {
		return
	}
	if !l.started {
		l.started = true
		l.write(p.now, Title(p.status)+", orchestration "+p.status.OrchestrationID)
		l.progress(p)
		return
	}
	urgent := p.status.State != l.last.status.State || p.count(orchestration.Failed) != l.last.count(orchestration.Failed) || p.ended()
	changed := !maps.Equal(p.status.OperationStats, l.last.status.OperationStats)
	if since := p.now.Sub(l.written); urgent || changed && since >= quiet || since >= heartbeat {
		l.progress(p)
	}
}

func (l *lines) progress(p *picture) {
	l.last, l.written = p.snapshot, p.now
	var parts []string
	for _, state := range states {
		if n := p.count(state); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", display.Number(n), state))
		}
	}
	text := p.status.State
	if total := p.total(); total > 0 {
		text = fmt.Sprintf("%s, %d%% of %s done: %s", p.status.State, p.count(orchestration.Succeeded)*100/total, display.Number(total), strings.Join(parts, ", "))
	} else if !p.ended() && p.status.StartsAt != nil && p.status.StartsAt.After(p.now) {
		text += ", starts " + display.Clock{Now: p.now}.Both(*p.status.StartsAt)
	}
	for _, w := range p.waiting {
		if w.reason != "" && w.reason != orchestration.WaitWorkerLimit {
			text += "; waiting " + waitText(w, p.now)
		}
	}
	l.write(p.now, text)
}

func (l *lines) write(now time.Time, text string) {
	_, _ = fmt.Fprintf(l.out, "%s  %s\n", now.UTC().Format(time.RFC3339), console.Clean(text))
}
