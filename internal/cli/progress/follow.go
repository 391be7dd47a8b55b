// Package progress shows how an orchestration goes on until it has ended: redrawn in place on a terminal, as plain lines elsewhere.
package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/orchestration"
)

// Options say what is followed and where it is shown.
type Options struct {
	// ID is the orchestration.
	ID string
	// Out is where lines go when they are not redrawn: the output, or the error stream when the output belongs to a program.
	Out io.Writer
	// Redraw is true when the console's screen may be redrawn.
	Redraw bool
}

// The times of the view.
const (
	// redrawEvery is how often a frame is drawn when nothing new is known, so that its clocks go on.
	redrawEvery = 500 * time.Millisecond
	// askLimit is how long the server may take to answer all the questions of one snapshot.
	askLimit = 20 * time.Second
	// late is the age from which on an answer that is still to come is told to the user.
	late = 3 * time.Second
)

// askEvery is the pause between two questions: short in the beginning, so that a short upgrade is seen well; longer for one that takes hours.
func askEvery(watched time.Duration) time.Duration {
	switch {
	case watched < 5*time.Minute:
		return time.Second
	case watched < time.Hour:
		return 3 * time.Second
	default:
		return 10 * time.Second
	}
}

// Follow shows the orchestration until it has ended, and returns its last status. A server that does not answer is waited for. When ctx ends the
// view ends and the orchestration goes on; the error is then one with ExitInterrupted.
func Follow(ctx context.Context, c *console.Console, o Options) (orchestration.StatusResponse, error) {
	f := &follower{
		console: c,
		options: o,
		source: source{id: o.ID, connect: func(ctx context.Context) client {
			return c.Orchestrations(ctx)
		}},
	}
	return f.run(ctx)
}

// follower is one view at work.
type follower struct {
	console *console.Console
	options Options
	source  source
	screen  screen
	lines   lines
	rate    rate

	known bool
	snap  snapshot
	// asked is when the question was put that is not answered yet; zero when there is none.
	asked time.Time
	// failure is what the last question ended with, since is when the trouble began.
	failure error
	since   time.Time
}

type answer struct {
	snap snapshot
	err  error
}

func (f *follower) run(ctx context.Context) (orchestration.StatusResponse, error) {
	f.screen.out, f.lines.out = f.console.Canvas(), f.options.Out
	defer f.screen.close()
	asking, stop := context.WithCancel(ctx)
	answers := make(chan answer, 1)
	running := false
	defer func() {
		stop()
		if running {
			<-answers
		}
	}()
	ask := func() {
		running, f.asked = true, f.console.Clock()
		go func() {
			limited, cancel := context.WithTimeout(asking, askLimit)
			defer cancel()
			snap, err := f.source.read(limited)
			answers <- answer{snap, err}
		}()
	}
	begun := f.console.Clock()
	ask()
	next := time.NewTimer(askEvery(0))
	defer next.Stop()
	redraw := time.NewTicker(redrawEvery)
	defer redraw.Stop()
	for {
		select {
		case <-ctx.Done():
			return f.snap.status, f.interrupted()
		case got := <-answers:
			running, f.asked = false, time.Time{}
			if ctx.Err() != nil {
				return f.snap.status, f.interrupted()
			}
			if err := f.take(got); err != nil {
				f.screen.close()
				if f.known {
					f.goesOn()
				}
				return f.snap.status, err
			}
			f.show()
			if f.known && f.snap.ended() && got.err == nil {
				return f.snap.status, nil
			}
			next.Reset(askEvery(f.console.Clock().Sub(begun)))
		case <-next.C:
			if !running {
				ask()
			}
		case <-redraw.C:
			f.show()
		}
	}
}

// take notes an answer. It returns an error when asking again is of no use.
func (f *follower) take(got answer) error {
	now := f.console.Clock()
	if got.err == nil {
		f.known, f.snap, f.failure, f.since = true, got.snap, nil, time.Time{}
		f.rate.add(now, f.snap.done())
		return nil
	}
	switch console.ExitCode(got.err) {
	case console.ExitRefused, console.ExitUsage:
		// The same question will get the same answer.
		return got.err
	}
	if f.since.IsZero() {
		f.since = now
	}
	f.failure = got.err
	return nil
}

func (f *follower) show() {
	now := f.console.Clock()
	p := &picture{snapshot: f.snap, now: now, trouble: f.trouble(now), style: style{f.console.Color()}}
	if p.trouble == "" {
		p.rest, p.restKnown = f.rate.rest(&f.snap, now)
	}
	if !f.options.Redraw {
		f.lines.show(p)
		return
	}
	columns, rows := f.console.Size()
	if f.known {
		f.screen.draw(p.frame(columns-1, rows-1), columns)
	} else if p.trouble != "" {
		f.screen.draw([]string{display.Cut(console.Clean("! "+p.trouble), columns-1)}, columns)
	}
}

// trouble says that the server does not answer, and since when.
func (f *follower) trouble(now time.Time) string {
	since := f.since
	if since.IsZero() && !f.asked.IsZero() && now.Sub(f.asked) > late {
		since = f.asked
	}
	if since.IsZero() {
		return ""
	}
	whom := f.console.URL
	session, login := f.console.Source.(*tokens.Session)
	if _, provider := errors.AsType[*tokens.ProviderError](f.failure); login && provider {
		whom = "the provider " + session.Login.Issuer
	}
	text := fmt.Sprintf("no answer from %s since %s, trying again", console.Clean(whom), since.Local().Format(time.TimeOnly))
	if refused, ok := errors.AsType[*orchestration.Error](f.failure); ok {
		text += fmt.Sprintf(" (status %d)", refused.Status)
	}
	return text
}

// goesOn says that the end of the watching is not that of the orchestration.
func (f *follower) goesOn() {
	f.console.Notef("\nStopped watching; the orchestration goes on. To watch it again:\n  %s", f.console.Command("orchestrations", f.options.ID, "watch"))
}

// interrupted tells how to go on watching.
func (f *follower) interrupted() error {
	f.show()
	f.screen.close()
	f.goesOn()
	return &console.ExitError{Code: console.ExitInterrupted}
}
