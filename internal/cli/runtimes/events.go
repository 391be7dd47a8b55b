package runtimes

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/history"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

const (
	// eventChunk is of how many runtimes the events are held at once.
	eventChunk = 50
	// eventsShown is how many events of a runtime a terminal shows.
	eventsShown = 10
	// eventIndent is how far the events of a runtime are set in below it.
	eventIndent = 2
)

// events shows runtimes, each followed by its events. Whatever their number, it holds the events of a few runtimes at once.
type events struct {
	console *console.Console
	list    func(orchestration.EventParameters) (orchestration.EventList, error)
	level   string
	page    runtime.RuntimesPage
}

// runtimeWithEvents is a runtime as -o json shows it.
type runtimeWithEvents struct {
	runtime.RuntimeDTO

	// Events are newest first; null when they cannot be asked for.
	Events []orchestration.Event `json:"events"`
}

func (e *events) print(output console.Format) error {
	w := bufio.NewWriter(e.console.Out)
	var err error
	switch {
	case output == console.JSON:
		err = e.printJSON(w)
	case e.console.IsTerminal():
		err = e.printBlocks(w, output == console.Wide)
	default:
		err = e.printLines(w)
	}
	if flushErr := w.Flush(); err == nil && flushErr != nil {
		err = fmt.Errorf("write runtimes: %w", flushErr)
	}
	if err != nil {
		return err
	}
	unknown := 0
	for i := range e.page.Data {
		if !hasHistory(e.page.Data[i].InstanceID) {
			unknown++
		}
	}
	if unknown > 0 {
		e.console.Notef("the events of %s cannot be asked for: the instance ID is empty, or has a comma or blanks around it", display.Count(unknown, "runtime"))
	}
	return nil
}

// each calls show for every runtime in turn, with its place in the page and its events, newest first.
func (e *events) each(w *bufio.Writer, show func(i int, events []orchestration.Event) error) error {
	place := 0
	for chunk := range slices.Chunk(e.page.Data, eventChunk) {
		found, err := console.Call(e.console, func() (map[string][]orchestration.Event, error) { return e.read(chunk) })
		if err != nil {
			return err
		}
		for i := range chunk {
			if err := show(place, found[chunk[i].InstanceID]); err != nil {
				return err
			}
			place++
		}
		// What is known is shown while the next is asked for.
		if err := w.Flush(); err != nil {
			return fmt.Errorf("write runtimes: %w", err)
		}
	}
	return nil
}

// read returns the events of some runtimes by instance ID.
func (e *events) read(chunk []runtime.RuntimeDTO) (map[string][]orchestration.Event, error) {
	found := make(map[string][]orchestration.Event, len(chunk))
	var ids []string
	for i := range chunk {
		if id := chunk[i].InstanceID; hasHistory(id) && found[id] == nil {
			found[id] = []orchestration.Event{}
			ids = append(ids, id)
		}
	}
	// Without any ID the events of all runtimes would come.
	if len(ids) == 0 {
		return found, nil
	}
	list, err := e.list(orchestration.EventParameters{Level: e.level, InstanceIDs: ids})
	if err != nil {
		return nil, err
	}
	for _, event := range list.Data {
		found[event.InstanceID] = append(found[event.InstanceID], event)
	}
	return found, nil
}

// hasHistory reports whether the events of an instance can be asked for.
func hasHistory(instanceID string) bool {
	return instanceID != "" && strings.TrimSpace(instanceID) == instanceID && !strings.Contains(instanceID, ",")
}

// printBlocks is for a person: the list, and below each runtime its newest events.
func (e *events) printBlocks(w *bufio.Writer, wide bool) error {
	clock := display.Clock{Now: e.console.Clock()}
	newTable := func(columns ...display.Column) *display.Table {
		table := display.NewTable(e.console, columns...)
		if wide {
			table.Wide()
		}
		return table
	}
	table := newTable(columns()...)
	for i := range e.page.Data {
		rt := &e.page.Data[i]
		table.Row(cells(rt, rt.LastOperation(), clock)...)
	}
	heading, rows := table.Layout(0)
	_, _ = fmt.Fprintln(w, heading)
	err := e.each(w, func(i int, events []orchestration.Event) error {
		_, _ = fmt.Fprintln(w, strings.Join(rows[i], "\n"))
		shown := events[:min(len(events), eventsShown)]
		below := newTable(history.RuntimeColumns()...)
		for n := range shown {
			below.Row(history.RuntimeCells(&shown[n], clock)...)
		}
		_, lines := below.Layout(eventIndent)
		for _, line := range slices.Concat(lines...) {
			_, _ = fmt.Fprintln(w, line)
		}
		if more := len(events) - len(shown); more > 0 {
			command := e.console.Command("runtimes", "--instance-id", e.page.Data[i].InstanceID, "--state", "all", "--"+eventsFlag+"="+e.level, "-o", "json")
			_, _ = fmt.Fprintf(w, "%sand %s more: %s\n", strings.Repeat(" ", eventIndent), display.Number(more), command)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(w, console.Shown(len(e.page.Data), e.page.TotalCount, "runtime"))
	return nil
}

// printLines is for a program that reads lines: one for each event, which begins with the fields of its runtime; one with dashes for a runtime
// without events.
func (e *events) printLines(w *bufio.Writer) error {
	clock := display.Clock{Now: e.console.Clock(), Machine: true}
	none := make([]string, len(history.RuntimeColumns()))
	return e.each(w, func(i int, events []orchestration.Event) error {
		rt := &e.page.Data[i]
		own := cells(rt, rt.LastOperation(), clock)
		write := func(more []string) {
			fields := slices.Concat(own, more)
			for n := range fields {
				fields[n] = display.Text(fields[n])
			}
			_, _ = fmt.Fprintln(w, strings.Join(fields, "\t"))
		}
		for n := range events {
			write(history.RuntimeCells(&events[n], clock))
		}
		if len(events) == 0 {
			write(none)
		}
		return nil
	})
}

// printJSON writes the page with the events of each runtime, one runtime after the other.
func (e *events) printJSON(w *bufio.Writer) error {
	_, _ = fmt.Fprint(w, "{\n  \"data\": [")
	err := e.each(w, func(i int, events []orchestration.Event) error {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("    ", "  ")
		if err := encoder.Encode(runtimeWithEvents{RuntimeDTO: e.page.Data[i], Events: events}); err != nil {
			return fmt.Errorf("write runtime: %w", err)
		}
		separator := ","
		if i == 0 {
			separator = ""
		}
		_, _ = fmt.Fprintf(w, "%s\n    %s", separator, bytes.TrimRight(console.EscapeJSON(text.Bytes()), "\n"))
		return nil
	})
	if err != nil {
		return err
	}
	end := "\n  ]"
	if len(e.page.Data) == 0 {
		end = "]"
	}
	_, _ = fmt.Fprintf(w, "%s,\n  \"count\": %d,\n  \"totalCount\": %d\n}\n", end, e.page.Count, e.page.TotalCount)
	return nil
}
