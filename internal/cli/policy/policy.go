// Package policy checks maintenance policies and explains which window they give to each runtime: "swell policy".
package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/app"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/config"
	"github.com/swell-fleet/swell/internal/policy"
	"github.com/swell-fleet/swell/internal/window"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// NewCommand returns "swell policy".
func NewCommand(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check a maintenance policy, and explain the windows that it gives",
		Args:  cobra.NoArgs,
		// Only what holds a policy against the fleet needs the server.
		Annotations: map[string]string{console.Local: ""},
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLint(c), newExplain(c))
	return cmd
}

// fleet is where the runtimes are read from.
type fleet struct{ kubeconfig, namespace string }

func (f *fleet) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kubeconfig, "gardener-kubeconfig", "", "kubeconfig `FILE` of the Gardener project [$SWELL_GARDENER_KUBECONFIG]")
	cmd.Flags().StringVar(&f.namespace, "gardener-namespace", "", "`NAMESPACE` of the Gardener project [$SWELL_GARDENER_NAMESPACE]")
}

// settle takes what no flag says from the environment.
func (f *fleet) settle(c *console.Console) {
	if f.kubeconfig == "" {
		f.kubeconfig = c.Getenv("SWELL_GARDENER_KUBECONFIG")
	}
	if f.namespace == "" {
		f.namespace = c.Getenv("SWELL_GARDENER_NAMESPACE")
	}
}

// read returns what rules look at for every runtime that can be upgraded: plan and regions from the server, the window from the Shoot.
func (f *fleet) read(ctx context.Context, c *console.Console) ([]policy.Runtime, error) {
	if f.kubeconfig == "" || f.namespace == "" {
		return nil, console.Usagef("the windows of Shoots are read from Gardener: give --gardener-kubeconfig and --gardener-namespace")
	}
	if err := c.Connect(ctx); err != nil {
		return nil, err
	}
	logger := logrus.New()
	logger.SetOutput(c.Err)
	logger.SetLevel(logrus.WarnLevel)
	page, err := console.Call(c, func() (runtime.RuntimesPage, error) {
		return c.Runtimes(ctx).ListRuntimes(runtime.ListParameters{States: []runtime.State{runtime.AllState}, PageSize: 500})
	})
	if err != nil {
		return nil, fmt.Errorf("list runtimes: %w", err)
	}
	resolver, err := app.NewResolver(config.Gardener{Kubeconfig: f.kubeconfig, Namespace: f.namespace, QPS: 20, Burst: 40}, known(page.Data), logger)
	if err != nil {
		return nil, err
	}
	targets, err := resolver.Resolve(orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{{Target: orchestration.TargetAll}}})
	if err != nil {
		return nil, fmt.Errorf("resolve targets: %w", console.Foreign(err))
	}
	byInstance := make(map[string]*runtime.RuntimeDTO, len(page.Data))
	for i := range page.Data {
		byInstance[page.Data[i].InstanceID] = &page.Data[i]
	}
	facts := make([]policy.Runtime, 0, len(targets))
	for i := range targets {
		facts = append(facts, factsOf(&targets[i], byInstance[targets[i].InstanceID]))
	}
	return facts, nil
}

func factsOf(target *orchestration.Runtime, doc *runtime.RuntimeDTO) policy.Runtime {
	r := policy.Runtime{ShootName: target.ShootName, GlobalAccountID: target.GlobalAccountID}
	if doc != nil {
		r.Plan, r.Region, r.PlatformRegion = doc.ServicePlanName, doc.ProviderRegion, doc.SubAccountRegion
	}
	if !target.MaintenanceWindowBegin.IsZero() && !target.MaintenanceWindowEnd.IsZero() {
		r.Begin, r.End = target.MaintenanceWindowBegin.Format(window.Layout), target.MaintenanceWindowEnd.Format(window.Layout)
	}
	return r
}

// known is a list of runtimes that was read already.
type known []runtime.RuntimeDTO

// ListAllRuntimes implements orchestration.RuntimeLister.
func (k known) ListAllRuntimes() ([]runtime.RuntimeDTO, error) { return k, nil }

func readPolicy(c *console.Console, path string) (*policy.Policy, error) {
	var raw []byte
	var err error
	if path == "-" {
		raw, err = io.ReadAll(c.In)
	} else {
		raw, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, console.Usagef("read the policy: %w", err)
	}
	return policy.Parse(raw)
}

// warning is a warning or an error in JSON.
type warning struct {
	Where   string `json:"where"`
	Message string `json:"message"`
}

func newLint(c *console.Console) *cobra.Command {
	var f fleet
	var whole bool
	var output console.Format
	cmd := &cobra.Command{
		Use:   "lint FILE",
		Short: "Check a maintenance policy",
		Long: `Check a maintenance policy. A value that is not understood is an error, as it is for the server; what is allowed and
hardly meant is a warning. With --fleet the policy is held against the runtimes of the server and the Shoots of a
Gardener project too: this finds rules that match nothing or are never reached.

The exit code is 1 when there is an error or a warning.`,
		Example: `  swell policy lint policy.yaml
  swell policy lint policy.yaml --fleet \
    --gardener-kubeconfig garden.yaml --gardener-namespace garden-kyma`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.settle(c)
			p, err := readPolicy(c, args[0])
			if err != nil && output == console.JSON && console.ExitCode(err) != console.ExitUsage {
				return printWarnings(c, output, []policy.Warning{{Where: args[0], Message: err.Error()}})
			}
			if err != nil {
				return err
			}
			var runtimes []policy.Runtime
			if whole {
				if runtimes, err = f.read(cmd.Context(), c); err != nil {
					return err
				}
			}
			return printWarnings(c, output, p.Lint(runtimes, c.Clock()))
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&whole, "fleet", false, "hold the policy against all runtimes too")
	f.flags(cmd)
	console.OutputFlag(cmd, &output)
	return cmd
}

func printWarnings(c *console.Console, output console.Format, found []policy.Warning) error {
	if output == console.JSON {
		list := make([]warning, 0, len(found))
		for _, w := range found {
			list = append(list, warning(w))
		}
		if err := c.PrintJSON(list); err != nil {
			return err
		}
	} else {
		for _, w := range found {
			c.Printf("%s\n", console.Clean(w.String()))
		}
		if len(found) == 0 {
			c.Printf("nothing to complain about\n")
		}
	}
	if len(found) > 0 {
		return &console.ExitError{Code: console.ExitFailed}
	}
	return nil
}

// explanation is the window of a runtime in JSON.
type explanation struct {
	ShootName string   `json:"shootName"`
	Rule      string   `json:"rule"`
	Begin     string   `json:"timeBegin,omitempty"`
	End       string   `json:"timeEnd,omitempty"`
	Days      []string `json:"days,omitempty"`
	NotOn     []string `json:"notOn,omitempty"`
	NextBegin string   `json:"nextBegin,omitempty"`
	NextEnd   string   `json:"nextEnd,omitempty"`
	Problem   string   `json:"problem,omitempty"`
}

func newExplain(c *console.Console) *cobra.Command {
	var f fleet
	var file string
	var shoots []string
	var output console.Format
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Say when the next window of each runtime is, and which rule gave it",
		Long: `Say when the next maintenance window of each runtime is, and which rule of the policy gave it. Without a policy the
Shoots' own windows are shown.`,
		Example: `  swell policy explain --policy policy.yaml --shoot c-1a2b3c4 \
    --gardener-kubeconfig garden.yaml --gardener-namespace garden-kyma`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.settle(c)
			var p *policy.Policy
			if file != "" {
				var err error
				if p, err = readPolicy(c, file); err != nil {
					return err
				}
			}
			runtimes, err := f.read(cmd.Context(), c)
			if err != nil {
				return err
			}
			return explain(c, output, p, runtimes, shoots)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&file, "policy", "", "`FILE` with the maintenance policy")
	console.ListFlag(cmd.Flags(), &shoots, "shoot", "c", "`NAME` of the Shoot; all when none is given")
	f.flags(cmd)
	console.OutputFlag(cmd, &output)
	return cmd
}

func explain(c *console.Console, output console.Format, p *policy.Policy, runtimes []policy.Runtime, shoots []string) error {
	var missing []error
	for _, name := range shoots {
		if !slices.ContainsFunc(runtimes, func(r policy.Runtime) bool { return r.ShootName == name }) {
			missing = append(missing, fmt.Errorf("no runtime that can be upgraded has the Shoot %q", name))
		}
	}
	if len(missing) > 0 {
		return &console.ExitError{Code: console.ExitFailed, Err: errors.Join(missing...)}
	}
	clock := display.Clock{Now: c.Clock(), Machine: !c.IsTerminal()}
	table := display.NewTable(c, display.Column{Title: "SHOOT"}, display.Column{Title: "NEXT WINDOW"}, display.Column{Title: "RULE", Shrink: 12},
		display.Column{Title: "WINDOW", Shrink: 20, Drop: 1})
	list := []explanation{}
	for _, r := range runtimes {
		if len(shoots) > 0 && !slices.Contains(shoots, r.ShootName) {
			continue
		}
		x := p.Explain(r, clock.Now)
		rule := x.Decision.Rule
		if rule == "" {
			rule = "the Shoot's own"
		}
		e := explanation{
			ShootName: r.ShootName, Rule: rule, Begin: x.Decision.Begin, End: x.Decision.End, Days: x.Decision.Days, NotOn: x.Decision.NotOn, Problem: x.Problem,
		}
		next := x.Problem
		if x.Problem == "" {
			next = clock.Window(x.Next.Begin, x.Next.End)
			e.NextBegin, e.NextEnd = x.Next.Begin.Format(timeFormat), x.Next.End.Format(timeFormat)
		}
		list = append(list, e)
		table.Row(r.ShootName, next, rule, strings.TrimSpace(x.Decision.String()))
	}
	if output == console.JSON {
		return c.PrintJSON(list)
	}
	return table.Print()
}

const timeFormat = "2006-01-02T15:04:05Z07:00"
