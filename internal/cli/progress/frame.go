package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/orchestration"
)

// style colors text; its zero value does not.
type style struct{ on bool }

func (s style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string   { return s.paint("1", text) }
func (s style) faint(text string) string  { return s.paint("2", text) }
func (s style) red(text string) string    { return s.paint("31", text) }
func (s style) green(text string) string  { return s.paint("32", text) }
func (s style) yellow(text string) string { return s.paint("33", text) }
func (s style) blue(text string) string   { return s.paint("36", text) }

// state paints a text in the color of a state.
func (s style) state(state, text string) string {
	switch state {
	case orchestration.Succeeded:
		return s.green(text)
	case orchestration.Failed:
		return s.red(text)
	case orchestration.InProgress:
		return s.blue(text)
	case orchestration.Canceling, orchestration.Canceled:
		return s.yellow(text)
	default:
		return text
	}
}

// picture is all that a frame shows.
type picture struct {
	snapshot

	now time.Time
	// rest is the estimated rest, when known.
	rest      time.Duration
	restKnown bool
	// trouble says why the numbers are old; empty when they are not.
	trouble string
	style   style
}

// line is a line of a frame: pieces of text with the paint that is put on after cutting.
type line struct{ pieces []piece }

type piece struct {
	text  string
	paint func(string) string
}

func plain(text string) line { return line{[]piece{{text: text}}} }

func (l *line) add(text string, paint func(string) string) {
	l.pieces = append(l.pieces, piece{text, paint})
}

// render cleans a line and cuts it to a number of columns. What paints it is all that steers the terminal.
func (l line) render(columns int) string {
	var b strings.Builder
	for _, p := range l.pieces {
		whole := console.Clean(p.text)
		text := display.Cut(whole, columns)
		columns -= display.Width(text)
		if p.paint != nil {
			b.WriteString(p.paint(text))
		} else {
			b.WriteString(text)
		}
		if text != whole {
			break
		}
	}
	return b.String()
}

// The least rows that a frame has: title, bar, counts and a notice.
const leastRows = 4

// frame lays the picture out. No line is wider than columns, and there are no more lines than rows, down to the least of them.
func (p *picture) frame(columns, rows int) []string {
	lines := p.head(columns)
	if p.trouble != "" {
		var l line
		l.add("! "+p.trouble, p.style.yellow)
		lines = append(lines, l)
	}
	waiting := p.waitingLines()
	if free := max(rows, leastRows) - len(lines) - len(waiting); !p.ended() && len(p.running) > 0 && free >= 3 {
		lines = append(lines, p.runningLines(columns, free)...)
	}
	if len(lines)+len(waiting) <= max(rows, leastRows) {
		lines = append(lines, waiting...)
	}
	rendered := make([]string, len(lines))
	for i, l := range lines {
		rendered[i] = l.render(columns)
	}
	return rendered
}

// head is what is always shown.
func (p *picture) head(columns int) []line {
	var title line
	title.add(Title(p.status), p.style.bold)
	title.add("  "+p.status.OrchestrationID, p.style.faint)
	lines := []line{title, p.bar(columns)}
	if p.total() > 0 {
		lines = append(lines, p.counts())
	}
	return lines
}

// Title says what an orchestration does.
func Title(o orchestration.StatusResponse) string {
	what := "Upgrade"
	switch o.Type {
	case orchestration.UpgradeClusterOrchestration:
		what = "Upgrade of clusters"
	case orchestration.UpgradeKymaOrchestration:
		what = "Upgrade of Kyma"
	}
	if version := Version(o); version != "" {
		what += " to " + display.Text(version)
	}
	if o.Parameters.DryRun {
		what = "Dry run: " + strings.ToLower(what[:1]) + what[1:]
	}
	return what
}

// Version is the version that an orchestration upgrades to, empty when it leaves the choice to the server.
func Version(o orchestration.StatusResponse) string {
	switch p := o.Parameters; {
	case p.Version != "":
		return p.Version
	case p.Kubernetes != nil && p.Kubernetes.KubernetesVersion != "":
		return p.Kubernetes.KubernetesVersion
	case p.Kyma != nil:
		return p.Kyma.Version
	default:
		return ""
	}
}

// The width of the bar.
const (
	narrowestBar = 10
	widestBar    = 50
)

func (p *picture) bar(columns int) line {
	var l line
	total := p.total()
	text := p.progressText()
	width := min(widestBar, columns-display.Width(text)-2)
	if width >= narrowestBar && total > 0 {
		drawn, counted := 0, 0
		draw := func(state, cell string, paint func(string) string) {
			counted += p.count(state)
			cells := counted*width/total - drawn
			if state == orchestration.Failed && p.count(state) > 0 {
				cells = max(cells, 1)
			}
			cells = max(0, min(cells, width-drawn))
			l.add(strings.Repeat(cell, cells), paint)
			drawn += cells
		}
		draw(orchestration.Succeeded, "█", p.style.green)
		draw(orchestration.Failed, "█", p.style.red)
		draw(orchestration.InProgress, "▒", p.style.blue)
		// What was canceled is as empty as what is still to come.
		draw(orchestration.Canceled, "░", p.style.yellow)
		l.add(strings.Repeat("░", width-drawn), p.style.faint)
		l.add("  ", nil)
	}
	l.add(text, nil)
	return l
}

// progressText says how much has succeeded and how long that took.
func (p *picture) progressText() string {
	total, done := p.total(), p.count(orchestration.Succeeded)
	var parts []string
	if total > 0 {
		parts = append(parts, fmt.Sprintf("%s/%s  %d%%", display.Number(done), display.Number(total), done*100/total))
	}
	switch {
	case p.ended():
		parts = append(parts, p.status.State)
		if display.IsSet(p.status.CreatedAt) && display.IsSet(p.status.UpdatedAt) {
			parts = append(parts, "after "+display.Duration(p.status.UpdatedAt.Sub(p.began())))
		}
	case p.status.StartsAt != nil && p.status.StartsAt.After(p.now):
		parts = append(parts, "starts "+display.Clock{Now: p.now}.Both(*p.status.StartsAt))
	default:
		if total == 0 {
			parts = append(parts, p.status.State)
		}
		if p.status.State == orchestration.Canceling {
			parts = append(parts, "canceling")
		}
		parts = append(parts, display.Duration(p.now.Sub(p.began())))
		if p.restKnown {
			parts = append(parts, "about "+display.Duration(p.rest.Round(restStep(p.rest)))+" left")
		}
	}
	return strings.Join(parts, "  ")
}

// restStep is what an estimate is rounded to, so that it does not pretend to be exact.
func restStep(rest time.Duration) time.Duration {
	switch {
	case rest < time.Minute:
		return 5 * time.Second
	case rest < time.Hour:
		return time.Minute
	default:
		return 10 * time.Minute
	}
}

// began is when the orchestration could begin.
func (p *picture) began() time.Time {
	if p.status.StartsAt != nil {
		return *p.status.StartsAt
	}
	return p.status.CreatedAt
}

func (p *picture) counts() line {
	var l line
	for _, state := range states {
		n := p.count(state)
		if n == 0 && (p.ended() || state == orchestration.Canceled || state == orchestration.Failed) {
			continue
		}
		if len(l.pieces) > 0 {
			l.add(", ", nil)
		}
		word := display.Number(n) + " " + state
		if n == 0 {
			l.add(word, p.style.faint)
		} else {
			l.add(word, func(text string) string { return p.style.state(state, text) })
		}
	}
	return l
}

// runningLines show the operations in progress in at most this number of lines, an empty one and a heading among them.
func (p *picture) runningLines(columns, rows int) []line {
	all := p.count(orchestration.InProgress)
	var heading line
	heading.add("running", p.style.bold)
	lines := []line{plain(""), heading}
	room := rows - len(lines)
	shown := p.running
	if len(shown) > room || all > len(shown) {
		shown = shown[:min(len(shown), room-1)]
	}
	name := 0
	for _, op := range shown {
		name = max(name, display.Width(display.Text(op.ShootName)))
	}
	name = min(name, max(12, columns/3))
	for _, op := range shown {
		since := ""
		if op.StartedAt != nil {
			since = display.Duration(p.now.Sub(*op.StartedAt))
		}
		var l line
		l.add("  "+display.Pad(display.Cut(display.Text(op.ShootName), name), name, false), nil)
		l.add("  "+display.Pad(since, 6, true)+"  ", p.style.faint)
		if op.Description != "" {
			l.add(display.Text(op.Description), nil)
		}
		lines = append(lines, l)
	}
	if more := all - len(shown); more > 0 {
		var l line
		l.add(fmt.Sprintf("  and %s more", display.Number(more)), p.style.faint)
		lines = append(lines, l)
	}
	return lines
}

// maxWaits is how many reasons to wait are shown.
const maxWaits = 4

func (p *picture) waitingLines() []line {
	if p.ended() || len(p.waiting) == 0 {
		return nil
	}
	var heading line
	heading.add("waiting", p.style.bold)
	if pending := p.count(orchestration.Pending); p.judged < pending {
		heading.add(fmt.Sprintf("  (%s of %s looked at)", display.Number(p.judged), display.Number(pending)), p.style.faint)
	}
	lines := []line{plain(""), heading}
	for i, w := range p.waiting {
		if i == maxWaits {
			break
		}
		lines = append(lines, plain("  "+waitText(w, p.now)))
	}
	return lines
}

// waitText says why operations wait, and until when.
func waitText(w wait, now time.Time) string {
	text := display.Number(w.count) + " " + Reason(w.reason)
	if w.next.IsZero() {
		return text
	}
	return text + ", next " + display.Text(w.shoot) + " " + display.Clock{Now: now}.Both(w.next)
}
