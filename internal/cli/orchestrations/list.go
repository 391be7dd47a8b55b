package orchestrations

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/progress"
	"github.com/swell-fleet/swell/internal/cli/selector"
	"github.com/swell-fleet/swell/orchestration"
)

// checkPage settles which page is meant.
func (c *call) checkPage() error { return console.CheckPage(&c.page, &c.pageSize) }

// parameters are the filters and the paging of a list.
func (c *call) parameters() orchestration.ListParameters {
	return orchestration.ListParameters{Page: c.page, PageSize: c.pageSize, States: c.states}
}

// clock formats times for the one who reads them.
func (c *call) clock() display.Clock {
	return display.Clock{Now: c.console.Clock(), Machine: !c.console.IsTerminal()}
}

// table returns an empty table in the form that is asked for.
func (c *call) table(columns ...display.Column) *display.Table {
	table := display.NewTable(c.console, columns...)
	if c.output == console.Wide {
		table.Wide()
	}
	return table
}

// counted tells a person how many rows there are.
func (c *call) counted(shown, total int, noun string) {
	if c.console.IsTerminal() {
		c.console.Printf("%s\n", console.Shown(shown, total, noun))
	}
}

// list shows all orchestrations.
func (c *call) list() error {
	list, err := console.Call(c.console, func() (orchestration.StatusResponseList, error) {
		return c.console.Orchestrations(c.ctx).ListOrchestrations(c.parameters())
	})
	if err != nil {
		return err
	}
	if c.output == console.JSON {
		return c.console.PrintJSON(list)
	}
	table := c.table(
		display.Column{Title: "ID", Brief: briefID}, display.Column{Title: "TYPE", Drop: 2}, display.Column{Title: "CREATED", Drop: 1}, display.Column{Title: "STATE"},
		display.Column{Title: "VERSION", Shrink: 7}, display.Column{Title: "DONE", Right: true}, display.Column{Title: "DESCRIPTION", Drop: 3, Last: true},
		display.Column{Title: "FAILED", Right: true})
	clock := c.clock()
	for _, o := range list.Data {
		table.Row(o.OrchestrationID, string(o.Type), clock.Relative(o.CreatedAt), o.State, version(o), done(o.OperationStats), o.Description, failed(o.OperationStats))
	}
	if err := table.Print(); err != nil {
		return err
	}
	c.counted(len(list.Data), list.TotalCount, "orchestration")
	return nil
}

// version says what is upgraded to; a dry run is marked.
func version(o orchestration.StatusResponse) string {
	text := progress.Version(o)
	if o.Parameters.DryRun {
		text = strings.TrimSpace(text + " (dry run)")
	}
	return text
}

// done says how many operations have succeeded, empty when nothing is known.
func done(stats map[string]int) string {
	total := 0
	for _, n := range stats {
		total += n
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", stats[orchestration.Succeeded], total)
}

// failed says how many operations have failed, empty when none has.
func failed(stats map[string]int) string {
	if stats[orchestration.Failed] == 0 {
		return ""
	}
	return strconv.Itoa(stats[orchestration.Failed])
}

// show shows one orchestration.
func (c *call) show() error {
	o, err := console.Call(c.console, func() (orchestration.StatusResponse, error) {
		return c.console.Orchestrations(c.ctx).GetOrchestration(c.id)
	})
	if err != nil {
		return err
	}
	if c.output == console.JSON {
		return c.console.PrintJSON(o)
	}
	clock := c.clock()
	var d display.Details
	d.Add("ID", o.OrchestrationID)
	d.Add("Type", string(o.Type))
	d.Add("State", o.State)
	d.Add("Description", o.Description)
	d.Add("Created", clock.Both(o.CreatedAt))
	d.Add("Created by", o.CreatedBy)
	if o.CanceledBy != "" {
		d.Add("Canceled by", o.CanceledBy)
	}
	d.Add("Updated", clock.Both(o.UpdatedAt))
	if o.StartsAt != nil {
		d.Add("Not before", clock.Both(*o.StartsAt))
	}
	p := o.Parameters
	d.Add("Version", progress.Version(o))
	if k := p.Kubernetes; k != nil && (k.MachineImage != "" || k.MachineImageVersion != "") {
		d.Add("Machine image", strings.TrimSpace(k.MachineImage+" "+k.MachineImageVersion))
	}
	d.Add("Dry run", yesNo(p.DryRun))
	d.Add("Targets", selector.FormatList(p.Targets.Include))
	d.Add("Excluded", selector.FormatList(p.Targets.Exclude))
	d.Add("Schedule", string(p.Strategy.Schedule))
	d.Add("Workers", fmt.Sprint(p.Strategy.Parallel.Workers))
	d.Add("Operations", counts(o.OperationStats))
	d.Print(c.console)
	return nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// counts writes the number of operations in each state; states that this program does not know come last.
func counts(stats map[string]int) string {
	var parts []string
	for _, state := range progress.States(stats) {
		if stats[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", stats[state], state))
		}
	}
	return strings.Join(parts, ", ")
}
