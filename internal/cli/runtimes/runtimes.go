// Package runtimes lists the runtimes that the server knows, gives it more of them, and lets it forget some.
package runtimes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/history"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// options are the flags of the list.
type options struct {
	params     runtime.ListParameters
	states     []string
	operations string
	events     history.Level
	output     console.Format
}

// NewCommand returns "swell runtimes".
func NewCommand(c *console.Console) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "runtimes",
		Aliases: []string{"runtime", "rt"},
		Short:   "List runtimes",
		Long: `List the runtimes that the server knows.

Values of different flags have to match together, values of one flag in the alternative; all are exact.
Suspended and deprovisioned runtimes are listed only when --state asks for them.

With --events, each runtime is followed by what happened to it, newest first: on a terminal by the ten newest
events, in a pipe and with -o json by all.`,
		Example: `  swell runtimes --plan aws --region eu-central-1
  swell runtimes --state failed,error --ops all
  swell runtimes --shoot c-123 --events=error
  swell runtimes --without-shoot
  swell runtimes -o json | jq -r '.data[].shootName'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.events != "" && len(args) > 0 && slices.Contains(history.Levels, args[0]) {
				return console.Usagef("write --%s=%s: the value of this flag follows an equals sign", eventsFlag, args[0])
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), c) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	p := &o.params
	console.ListFlag(flags, &p.GlobalAccountIDs, "account", "g", "`ID` of the global account")
	console.ListFlag(flags, &p.SubAccountIDs, "subaccount", "s", "`ID` of the sub-account")
	console.ListFlag(flags, &p.InstanceIDs, "instance-id", "", "`ID` of the service instance")
	console.ListFlag(flags, &p.RuntimeIDs, "runtime-id", "r", "`ID` of the runtime")
	console.ListFlag(flags, &p.Regions, "region", "", "`REGION` of the provider")
	console.ListFlag(flags, &p.Shoots, "shoot", "c", "`NAME` of the Shoot")
	console.ListFlag(flags, &p.Plans, "plan", "p", "`NAME` of the service plan")
	console.ListFlag(flags, &o.states, "state", "", "`STATE` of the runtime, or all: "+strings.Join(stateWords, ", "))
	flags.BoolVar(&p.Expired, "expired", false, "expired runtimes only")
	flags.BoolVar(&p.WithoutShoot, withoutShootFlag, false, "runtimes only whose Shoot is not there")
	flags.StringVar(&o.operations, "ops", "last", "`WHICH` operations are shown of each runtime: last or all")
	flags.Var(&o.events, eventsFlag, "add its events to each runtime: all of them, or with --events=`LEVEL` those of a level, info or error")
	flags.Lookup(eventsFlag).NoOptDefVal = orchestration.EventLevelAll
	// The completion of a flag that was just added cannot fail.
	_ = cmd.RegisterFlagCompletionFunc(eventsFlag, cobra.FixedCompletions(history.Levels, cobra.ShellCompDirectiveNoFileComp))
	flags.BoolVar(&p.KymaConfig, "kyma-config", false, "add the Kyma configuration (with -o json)")
	flags.BoolVar(&p.ClusterConfig, "cluster-config", false, "add the cluster configuration (with -o json)")
	flags.IntVar(&p.Page, "page", 0, "only the page with this `NUMBER`, from 1 on")
	flags.IntVar(&p.PageSize, "page-size", 0, "how many `RUNTIMES` a page has; alone, of the first page")
	console.ListOutputFlag(cmd, &o.output)
	cmd.AddCommand(newImport(c), newForget(c))
	return cmd
}

const (
	eventsFlag       = "events"
	withoutShootFlag = "without-shoot"
)

// stateWords are the states as the help tells them.
var stateWords = []string{
	string(runtime.StateSucceeded), string(runtime.StateFailed), string(runtime.StateError), string(runtime.StateProvisioning),
	string(runtime.StateDeprovisioning), string(runtime.StateDeprovisioned), string(runtime.StateDeprovisionIncomplete),
	string(runtime.StateUpgrading), string(runtime.StateUpdating), string(runtime.StateSuspended),
}

func (o *options) run(ctx context.Context, c *console.Console) error {
	switch detail := runtime.OperationDetail(o.operations); detail {
	case runtime.LastOperation, runtime.AllOperation:
		o.params.OperationDetail = detail
	default:
		return console.Usagef("--ops %q: is neither last nor all", o.operations)
	}
	if err := console.CheckPage(&o.params.Page, &o.params.PageSize); err != nil {
		return err
	}
	if o.events != "" && o.params.OperationDetail == runtime.AllOperation && o.output != console.JSON {
		return console.Usagef("--ops all and --%s together need -o json", eventsFlag)
	}
	if o.params.WithoutShoot && o.params.OperationDetail == runtime.AllOperation && o.output != console.JSON {
		return console.Usagef("--ops all and --%s together need -o json", withoutShootFlag)
	}
	o.params.Events = o.events.String()
	for _, word := range o.states {
		// The server knows the words, and says which when one is wrong.
		o.params.States = append(o.params.States, runtime.State(word))
	}
	page, err := console.Call(c, func() (runtime.RuntimesPage, error) { return c.Runtimes(ctx).ListRuntimes(o.params) })
	if err != nil {
		return err
	}
	switch {
	case o.events != "":
		return (&events{console: c, list: c.Orchestrations(ctx).ListEvents, level: o.events.String(), page: page}).print(o.output)
	case o.output == console.JSON:
		return c.PrintJSON(page)
	case o.params.WithoutShoot:
		return o.printWithoutShoot(c, page)
	default:
		return o.print(c, page)
	}
}

// columns are those of the list.
func columns() []display.Column {
	return []display.Column{
		{Title: "SHOOT"}, {Title: "STATE"}, {Title: "PLAN"}, {Title: "REGION", Drop: 1},
		{Title: "ACCOUNT", Drop: 3}, {Title: "SUB-ACCOUNT", Drop: 4}, {Title: "RUNTIME ID", Drop: 5},
		{Title: "CREATED", Drop: 2}, {Title: "OPERATION", Shrink: 9}, {Title: "RESULT"}, {Title: "WHEN"},
	}
}

// ownCells is how many cells of a row are about the runtime itself.
const ownCells = 8

// cells returns the cells of a runtime and one of its operations.
func cells(rt *runtime.RuntimeDTO, op runtime.Operation, clock display.Clock) []string {
	return []string{
		rt.ShootName, string(rt.Status.State), rt.ServicePlanName, rt.ProviderRegion, rt.GlobalAccountID, rt.SubAccountID, rt.RuntimeID,
		clock.Relative(rt.Status.CreatedAt), string(op.Type), op.State, clock.Relative(op.CreatedAt),
	}
}

func (o *options) print(c *console.Console, page runtime.RuntimesPage) error {
	clock := display.Clock{Now: c.Clock(), Machine: !c.IsTerminal()}
	table := o.table(c, columns()...)
	for i := range page.Data {
		rt := &page.Data[i]
		for n, op := range operationsOf(*rt, o.params.OperationDetail) {
			if n == 0 {
				table.Row(cells(rt, op, clock)...)
			} else {
				table.Continue(ownCells, cells(rt, op, clock)...)
			}
		}
	}
	return finish(c, table, page)
}

// printWithoutShoot shows runtimes by the IDs that they are forgotten by.
func (o *options) printWithoutShoot(c *console.Console, page runtime.RuntimesPage) error {
	clock := display.Clock{Now: c.Clock(), Machine: !c.IsTerminal()}
	table := o.table(c, display.Column{Title: "INSTANCE ID"}, display.Column{Title: "SHOOT"}, display.Column{Title: "STATE"},
		display.Column{Title: "PLAN", Drop: 1}, display.Column{Title: "REGION", Drop: 2}, display.Column{Title: "ACCOUNT", Drop: 4},
		display.Column{Title: "SUB-ACCOUNT", Drop: 5}, display.Column{Title: "RUNTIME ID", Drop: 6}, display.Column{Title: "CREATED", Drop: 3})
	for i := range page.Data {
		rt := &page.Data[i]
		table.Row(append([]string{rt.InstanceID}, cells(rt, runtime.Operation{}, clock)[:ownCells]...)...)
	}
	return finish(c, table, page)
}

// table returns an empty table in the form that is asked for.
func (o *options) table(c *console.Console, columns ...display.Column) *display.Table {
	table := display.NewTable(c, columns...)
	if o.output == console.Wide {
		table.Wide()
	}
	return table
}

// finish shows the table, and how many runtimes it has.
func finish(c *console.Console, table *display.Table, page runtime.RuntimesPage) error {
	if err := table.Print(); err != nil {
		return err
	}
	if c.IsTerminal() {
		c.Printf("%s\n", console.Shown(len(page.Data), page.TotalCount, "runtime"))
	}
	return nil
}

// operationsOf returns the operations of a runtime that are shown, at least an empty one.
func operationsOf(rt runtime.RuntimeDTO, detail runtime.OperationDetail) []runtime.Operation {
	if detail == runtime.LastOperation {
		return []runtime.Operation{rt.LastOperation()}
	}
	return allOperations(rt)
}

// source is a file or the standard input, as an error calls it.
func source(file string) string {
	if file == "-" {
		return "standard input"
	}
	return fmt.Sprintf("%q", file)
}
