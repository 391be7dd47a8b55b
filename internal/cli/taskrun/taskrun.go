// Package taskrun runs a command on this machine once for each of many runtimes: "swell taskrun".
package taskrun

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/app"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/selector"
	"github.com/swell-fleet/swell/internal/config"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/orchestration/strategies"
	"github.com/swell-fleet/swell/runtime"
)

// options are the flags.
type options struct {
	include, exclude []string
	workers          int
	window           bool
	dryRun           bool
	kubeconfig       string
	namespace        string
	output           console.Format
	command          []string
}

// NewCommand returns "swell taskrun".
func NewCommand(c *console.Console) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "taskrun --target TARGET [flags] -- COMMAND [ARGS...]",
		Short: "Run a command on this machine for each of many runtimes",
		Long: `Run a command on this machine for each of many runtimes.

The targets are resolved here, among the Shoots of a Gardener project and the runtimes of the server. The command
gets the runtime in variables: SWELL_RUNTIME_ID, SWELL_INSTANCE_ID, SWELL_ACCOUNT_ID, SWELL_SUBACCOUNT_ID and
SWELL_SHOOT_NAME. It needs no shell; to use the variables in its arguments call one, as in the example. Every line
that it writes has the name of the Shoot in front. Nothing is kept: when this program ends, so does the run.

` + selector.Help + `

The exit code is 1 when the command failed for a runtime, or was not run for one.`,
		Example: `  swell taskrun --target 'region=^eu-' --parallel-workers 4 \
    --gardener-kubeconfig garden.yaml --gardener-namespace garden-kyma \
    -- sh -c 'kubectl get shoot "$SWELL_SHOOT_NAME"'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.command = args
			return o.run(cmd.Context(), c)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	// What follows the command's name belongs to it, also without the two dashes.
	flags.SetInterspersed(false)
	flags.StringArrayVarP(&o.include, selector.IncludeFlag, "t", nil, "`TARGET` to run the command for; may be repeated (see above)")
	flags.StringArrayVarP(&o.exclude, selector.ExcludeFlag, "e", nil, "`TARGET` to leave out; may be repeated")
	flags.IntVar(&o.workers, "parallel-workers", 1, "for how many runtimes the command runs at the same time, a `NUMBER`")
	flags.BoolVar(&o.window, "maintenancewindow", false, "run the command for each runtime inside its own maintenance window only")
	flags.BoolVar(&o.dryRun, "dry-run", false, "list the runtimes instead of running the command")
	flags.StringVar(&o.kubeconfig, "gardener-kubeconfig", "", "kubeconfig `FILE` of the Gardener project [$SWELL_GARDENER_KUBECONFIG]")
	flags.StringVar(&o.namespace, "gardener-namespace", "", "`NAMESPACE` of the Gardener project [$SWELL_GARDENER_NAMESPACE]")
	console.OutputFlag(cmd, &o.output)
	return cmd
}

func (o *options) run(ctx context.Context, c *console.Console) error {
	targets, err := o.check(c)
	if err != nil {
		return err
	}
	logger := logrus.New()
	logger.SetOutput(c.Err)
	logger.SetLevel(logrus.WarnLevel)
	resolver, err := app.NewResolver(config.Gardener{Kubeconfig: o.kubeconfig, Namespace: o.namespace, QPS: 20, Burst: 40}, lister{c.Runtimes(ctx)}, logger)
	if err != nil {
		return err
	}
	runtimes, err := console.Call(c, func() ([]orchestration.Runtime, error) { return resolver.Resolve(targets) })
	if err != nil {
		return fmt.Errorf("resolve targets: %w", console.Foreign(err))
	}
	if o.dryRun {
		return o.list(c, runtimes)
	}
	return o.execute(ctx, c, logger, runtimes)
}

// check reads the flags. All that is wrong with them is told together.
func (o *options) check(c *console.Console) (orchestration.TargetSpec, error) {
	targets, err := selector.Spec(o.include, o.exclude)
	if len(o.command) == 0 && !o.dryRun {
		err = errors.Join(err, errors.New("the command is missing; it stands behind --"))
	}
	if o.workers < 1 {
		err = errors.Join(err, fmt.Errorf("--parallel-workers %d: at least 1 is needed", o.workers))
	}
	for _, setting := range []struct {
		value *string
		flag  string
		env   string
	}{
		{&o.kubeconfig, "gardener-kubeconfig", "SWELL_GARDENER_KUBECONFIG"},
		{&o.namespace, "gardener-namespace", "SWELL_GARDENER_NAMESPACE"},
	} {
		if *setting.value == "" {
			*setting.value = c.Getenv(setting.env)
		}
		if *setting.value == "" {
			err = errors.Join(err, fmt.Errorf("--%s is missing, and %s is not set", setting.flag, setting.env))
		}
	}
	if err != nil {
		return orchestration.TargetSpec{}, &console.ExitError{Code: console.ExitUsage, Err: err}
	}
	return targets, nil
}

// lister brings the runtimes of the server.
type lister struct{ client runtime.Client }

// ListAllRuntimes implements orchestration.RuntimeLister.
func (l lister) ListAllRuntimes() ([]runtime.RuntimeDTO, error) {
	page, err := l.client.ListRuntimes(runtime.ListParameters{States: []runtime.State{runtime.AllState}, PageSize: listSize})
	return page.Data, err
}

// listSize is how many runtimes are asked for at once; servers agree to so many unless they are configured otherwise.
const listSize = 500

// list tells for which runtimes the command would run.
func (o *options) list(c *console.Console, runtimes []orchestration.Runtime) error {
	if o.output == console.JSON {
		if runtimes == nil {
			runtimes = []orchestration.Runtime{}
		}
		return c.PrintJSON(runtimes)
	}
	clock := display.Clock{Now: c.Clock(), Machine: !c.IsTerminal()}
	table := display.NewTable(c, display.Column{Title: "SHOOT"}, display.Column{Title: "RUNTIME ID"}, display.Column{Title: "ACCOUNT", Drop: 2},
		display.Column{Title: "SUB-ACCOUNT", Drop: 3}, display.Column{Title: "NEXT WINDOW", Drop: 1})
	for _, rt := range runtimes {
		window := ""
		if begin, end, ok := rt.NextWindow(clock.Now); ok {
			window = clock.Window(begin, end)
		}
		table.Row(rt.ShootName, rt.RuntimeID, rt.GlobalAccountID, rt.SubAccountID, window)
	}
	return table.Print()
}

// execute runs the command for all runtimes and tells how it went.
func (o *options) execute(ctx context.Context, c *console.Console, logger logrus.FieldLogger, runtimes []orchestration.Runtime) error {
	out := c.Out
	if o.output == console.JSON {
		out = c.Err
	}
	r := newRunner(ctx, o.command, c.Environ, newPrefixer(out), c.Clock)
	operations := r.operations(runtimes)
	strategy := strategies.NewParallelOrchestrationStrategy(r, logger)
	spec := orchestration.StrategySpec{
		Type: orchestration.ParallelStrategy, Schedule: orchestration.Immediate, Parallel: orchestration.ParallelStrategySpec{Workers: o.workers},
	}
	if o.window {
		spec.Schedule = orchestration.MaintenanceWindow
	}
	id, err := strategy.Execute(operations, spec)
	if err != nil {
		return fmt.Errorf("run the command: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { strategy.Cancel(id) })
	strategy.Wait(id)
	stop()
	return o.report(ctx, c, r.results())
}
