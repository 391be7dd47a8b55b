package orchestrations

import (
	"errors"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/history"
	"github.com/swell-fleet/swell/orchestration"
)

// checkEvents settles which events are meant.
func (c *call) checkEvents() error {
	if c.follow && (c.page != 0 || c.pageSize != 0) {
		return console.Usagef("--%s shows what comes; it does not go together with --%s and --%s", followFlag, pageFlag, pageSizeFlag)
	}
	return errors.Join(c.oneOperation(), c.checkPage())
}

// listEvents shows the history of an orchestration, or that of one of its operations.
func (c *call) listEvents() error {
	if c.follow {
		return c.followEvents()
	}
	list, err := console.Call(c.console, func() (orchestration.EventList, error) { return c.events(c.page, c.pageSize) })
	if err != nil {
		return err
	}
	if c.output == console.JSON {
		return c.console.PrintJSON(list)
	}
	if err := c.printEvents(list.Data); err != nil {
		return err
	}
	c.counted(len(list.Data), list.TotalCount, "event")
	return nil
}

// events asks for events.
func (c *call) events(page, size int) (orchestration.EventList, error) {
	return c.console.Orchestrations(c.ctx).ListOrchestrationEvents(c.id, orchestration.EventParameters{
		Page: page, PageSize: size, Level: c.level.String(), OperationID: c.operation,
	})
}

func (c *call) printEvents(events []orchestration.Event) error {
	table := c.table(history.OrchestrationColumns()...)
	clock := c.clock()
	for i := range events {
		table.Row(history.OrchestrationCells(&events[i], clock)...)
	}
	return table.Print()
}
