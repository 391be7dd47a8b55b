// Package upgrade starts upgrades: "swell upgrade cluster" and "swell upgrade kyma".
package upgrade

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/caller"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/progress"
	"github.com/swell-fleet/swell/internal/cli/selector"
	"github.com/swell-fleet/swell/orchestration"
)

// NewCommand returns "swell upgrade" with what can be upgraded below it.
func NewCommand(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Start an upgrade of many runtimes",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return console.Usagef("say what to upgrade: swell upgrade cluster, or swell upgrade kyma")
		},
	}
	cmd.AddCommand(newCluster(c), newKyma(c))
	return cmd
}

const rest = `

` + selector.Help + `

Without --yes a summary is shown, which says how many runtimes the targets select, and the upgrade begins after a yes; where there is no terminal,
--yes is needed. A dry run needs none. With --preview the whole list is shown and nothing begins. With --require-match nothing begins when a target
matches no runtime at all, which is often a typing mistake, or when none is selected: for scripts, where nobody reads a summary. With --wait the exit code tells the outcome: 0 succeeded, 1 failed, 3 canceled,
130 when the watching was interrupted (the upgrade goes on).`

func newCluster(c *console.Console) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "cluster",
		Aliases: []string{"clusters"},
		Short:   "Upgrade the Kubernetes version or the machine image of clusters",
		Long: `Upgrade the Kubernetes version or the machine image of clusters.

Without a version each cluster goes to the newest supported patch of the minor version that it has.` + rest,
		Example: `  swell upgrade cluster --target all --version 1.34.7 --wait
  swell upgrade cluster --target 'region=^eu-,plan=aws' \
    --target-exclude 'account=^ga-vip' --maintenancewindow
  swell upgrade cluster --target shoot=c-1a2b3c4 --yes --require-match
  swell upgrade cluster --target shoot=c-1a2b3c4 --dry-run --wait`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), c, orchestration.UpgradeClusterOrchestration)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.version, "version", "", "Kubernetes `VERSION` to upgrade to, such as 1.34.7")
	flags.StringVar(&o.machineImage, "machine-image", "", "`NAME` of the operating system image of every worker pool")
	flags.StringVar(&o.machineImageVersion, "machine-image-version", "", "`VERSION` of that image")
	o.addTo(flags)
	console.OutputFlag(cmd, &o.output)
	return cmd
}

func newKyma(c *console.Console) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "kyma",
		Short: "Upgrade Kyma in runtimes",
		Long: `Upgrade Kyma in runtimes.

Without a version the server chooses the one that it is configured with.` + rest,
		Example: `  swell upgrade kyma --target all --version fast --wait
  swell upgrade kyma --target plan=trial --schedule 2030-01-02T22:00:00+01:00`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), c, orchestration.UpgradeKymaOrchestration)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.version, "version", "", "Kyma `VERSION` or channel to upgrade to")
	o.addTo(flags)
	console.OutputFlag(cmd, &o.output)
	return cmd
}

// run starts the upgrade.
func (o *options) run(ctx context.Context, c *console.Console, kind orchestration.Type) error {
	parameters, err := o.parameters(kind, c.Clock())
	if err != nil {
		return err
	}
	if o.preview {
		return o.show(ctx, c, kind, parameters)
	}
	if err := o.consent(ctx, c, kind, parameters); err != nil {
		return err
	}
	api := c.Orchestrations(ctx)
	started, err := console.Call(c, func() (orchestration.UpgradeResponse, error) {
		if kind == orchestration.UpgradeKymaOrchestration {
			return api.UpgradeKyma(parameters)
		}
		return api.UpgradeCluster(parameters)
	})
	if console.Interrupted(err) {
		return &console.ExitError{Code: console.ExitInterrupted, Err: fmt.Errorf("interrupted before the server answered; the upgrade may have begun, see: %s", c.Command("orchestrations"))}
	}
	if err != nil {
		return err
	}
	switch {
	case o.wait:
		return progress.Wait(ctx, c, started.OrchestrationID, o.output)
	case o.output == console.JSON:
		return c.PrintJSON(started)
	case c.IsTerminal():
		c.Printf("Orchestration %s was accepted. To watch it:\n  %s\n", display.Text(started.OrchestrationID),
			c.Command("orchestrations", started.OrchestrationID, "watch"))
	default:
		c.Printf("%s\n", display.Text(started.OrchestrationID))
	}
	return nil
}

// consent shows what is about to be done and asks whether it should be. Nobody is asked about a dry run, or with --yes; a match may be required then, too.
func (o *options) consent(ctx context.Context, c *console.Console, kind orchestration.Type, p orchestration.Parameters) error {
	if o.yes || o.dryRun {
		if !o.requireMatch {
			return nil
		}
		known, err := foresee(ctx, c, kind, p)
		if err != nil {
			return err
		}
		return known.matched()
	}
	if !c.Person || !c.IsTerminal() || o.output == console.JSON {
		return console.Usagef("nobody can be asked here whether to go on: give --%s to upgrade without a question, or --%s to try it without a change", yesFlag, dryRunFlag)
	}
	server, err := caller.Admin(ctx, c)
	if err != nil {
		return err
	}
	known, err := foresee(ctx, c, kind, p)
	if err != nil {
		return err
	}
	summary(c, server, kind, p, &known)
	if o.requireMatch {
		if err := known.matched(); err != nil {
			return err
		}
	}
	if known.nothing() {
		return &console.ExitError{Code: console.ExitFailed, Err: errors.New("there is no runtime to upgrade; nothing was started")}
	}
	return c.Confirm(ctx, "Start this upgrade?")
}
