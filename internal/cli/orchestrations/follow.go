package orchestrations

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/history"
	"github.com/swell-fleet/swell/orchestration"
)

const (
	// followEvery is the pause between two questions for new events.
	followEvery = 2 * time.Second
	// followPage is how many events are asked for at once.
	followPage = 100
	// followFirst is how many events are shown of what happened before.
	followFirst = 10
)

// followEvents shows the newest events and then those that come, the oldest first, until the orchestration has ended.
func (c *call) followEvents() error {
	f := follower{call: c, list: c.events}
	pause := time.NewTimer(0)
	defer pause.Stop()
	away := false
	for {
		select {
		case <-c.ctx.Done():
			return &console.ExitError{Code: console.ExitInterrupted}
		case <-pause.C:
		}
		ended, err := f.look()
		switch {
		case c.ctx.Err() != nil:
			return &console.ExitError{Code: console.ExitInterrupted}
		case err != nil && console.ExitCode(err) != console.ExitUnavailable:
			return err
		case err != nil && !away:
			c.console.Notef("the server does not answer, still trying: %s", console.Clean(err.Error()))
		case ended:
			return nil
		}
		away = err != nil
		pause.Reset(followEvery)
	}
}

// follower remembers what was shown.
type follower struct {
	*call

	// list reads a page of the events, newest first.
	list func(page, size int) (orchestration.EventList, error)

	begun bool
	// met holds the IDs of the events that were read the last time: all that can be on the pages that are read the next time and are not new.
	met map[string]bool
}

// look shows the events that are new, and reports whether more can come.
func (f *follower) look() (ended bool, err error) {
	// The end of an orchestration is committed together with its last event, so whoever asks in this order misses none.
	o, err := console.Call(f.console, func() (orchestration.StatusResponse, error) {
		return f.console.Orchestrations(f.ctx).GetOrchestration(f.id)
	})
	if err != nil {
		return false, err
	}
	events, err := console.Call(f.console, f.fresh)
	if err != nil {
		return false, err
	}
	if err := f.print(events); err != nil {
		return false, err
	}
	return slices.Contains([]string{orchestration.Succeeded, orchestration.Failed, orchestration.Canceled}, o.State), nil
}

// fresh returns the events that were not read before, the oldest first; in the beginning some of the newest.
func (f *follower) fresh() ([]orchestration.Event, error) {
	var fresh []orchestration.Event
	met := map[string]bool{}
	for number, more := 1, true; more; number++ {
		list, err := f.list(number, followPage)
		if err != nil {
			return nil, err
		}
		more = len(list.Data) > 0 && f.begun
		for _, e := range list.Data {
			if f.met[e.ID] {
				more = false
			} else if !met[e.ID] {
				fresh = append(fresh, e)
			}
			met[e.ID] = true
		}
	}
	if !f.begun && len(fresh) > followFirst {
		fresh = fresh[:followFirst]
	}
	f.begun, f.met = true, met
	// What came while the pages were read stands behind older events. Of numbers without leading zeros the shorter is the smaller.
	slices.SortFunc(fresh, func(a, b orchestration.Event) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return fresh, nil
}

func (f *follower) print(events []orchestration.Event) error {
	switch {
	case f.output == console.JSON:
		for i := range events {
			if err := console.WriteJSONLine(f.console.Out, &events[i]); err != nil {
				return fmt.Errorf("write event: %w", err)
			}
		}
		return nil
	case !f.console.IsTerminal():
		return f.printEvents(events)
	}
	clock := f.clock()
	columns, _ := f.console.Size()
	for i := range events {
		if _, err := fmt.Fprintln(f.console.Out, history.Line(&events[i], clock, columns)); err != nil {
			return fmt.Errorf("write event: %w", err)
		}
	}
	return nil
}
