package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/swell-fleet/swell/landscape/internal/control"
	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/gardenlet"
)

// errHelp says that the usage was asked for and printed.
var errHelp = errors.New("help")

// options are what the command line says.
type options struct {
	dir            string
	listen         string
	control        string
	provisioner    string
	issuer         string
	kymas          bool
	fleet          fleetgen.Options
	settings       gardenlet.Settings
	maxLifetime    time.Duration
	exitWithStdin  bool
	exitWithParent bool
	removeDir      bool
}

const usage = `swell-landscape is a simulator: a local fleet of Gardener Shoots behind
Gardener's own API server. Nothing behind it is a cluster.

It prints one line of JSON to standard output when it is ready, and runs until it
gets SIGINT or SIGTERM.

Flags:
`

func parse(args []string, output io.Writer) (options, error) {
	var (
		o     options
		plan  string
		fails struct {
			fail, stuck, err, conflict float64
			latency                    time.Duration
		}
		mix string
	)
	flags := flag.NewFlagSet("swell-landscape", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.Usage = func() {
		fmt.Fprint(output, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.dir, "dir", "", "folder for kubeconfig, runtimes.json and audit.jsonl (default: a new temporary folder)")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "loopback address of the API server's door for the main fleet")
	flags.StringVar(&o.control, "control", "127.0.0.1:0", "loopback address of the simulator's control interface")
	flags.StringVar(&o.provisioner, "provisioner", "127.0.0.1:0", "loopback address of the main fleet's Provisioner")
	flags.StringVar(&o.issuer, "issuer", "127.0.0.1:0", "loopback address of the main OpenID Connect provider")
	flags.BoolVar(&o.kymas, "kymas", false, "give every runtime of the main fleet a Kyma, behind an API server of their own")
	flags.StringVar(&o.fleet.Namespace, "namespace", "garden-swell", "namespace of the main fleet: garden- and up to 10 characters")
	flags.IntVar(&o.fleet.Shoots, "shoots", 200, "how many Shoots the main fleet has")
	flags.Uint64Var(&o.fleet.Seed, "seed", 1, "seed of the main fleet; the same seed gives the same fleet")
	flags.StringVar(&mix, "mix", string(fleetgen.Plain), "plain: every Shoot can be upgraded to "+fleetgen.UpgradeTarget+" at once; varied: also Shoots that cannot")
	flags.DurationVar(&o.settings.ReconcileTime, "reconcile-time", control.DefaultReconcileTime, "how long the reconciliation of a Shoot takes, on average")
	flags.IntVar(&o.settings.Steps, "steps", control.DefaultSteps, "how often progress is reported while a Shoot is reconciled")
	flags.DurationVar(&o.settings.Offset, "clock-offset", 0, "how far the simulated clock is ahead of the real one")
	flags.Float64Var(&o.settings.Speed, "clock-speed", 1, "how many simulated seconds pass in a real one")
	flags.StringVar(&plan, "faults", "", "file with a fault plan for the main fleet, YAML or JSON")
	flags.Float64Var(&fails.fail, "fail-share", 0, "share of Shoots whose reconciliation fails, from 0 to 1")
	flags.Float64Var(&fails.stuck, "stuck-share", 0, "share of Shoots whose reconciliation gets stuck, from 0 to 1")
	flags.Float64Var(&fails.err, "error-share", 0, "share of Shoots that meet an error and recover, from 0 to 1")
	flags.Float64Var(&fails.conflict, "conflict-share", 0, "share of writes to Shoots that are answered with 409, from 0 to 1")
	flags.DurationVar(&fails.latency, "latency", 0, "how long every request is held back")
	flags.DurationVar(&o.maxLifetime, "max-lifetime", 0, "stop by itself after this time (default: never)")
	flags.BoolVar(&o.exitWithStdin, "exit-with-stdin", false, "stop when standard input is closed")
	flags.BoolVar(&o.exitWithParent, "exit-with-parent", false, "stop when the process that started it has ended")
	flags.BoolVar(&o.removeDir, "remove-dir", false, "remove the folder after a stop without an error")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return options{}, errHelp
		}
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.fleet.Mix = fleetgen.Mix(mix)
	if plan != "" {
		data, err := os.ReadFile(plan)
		if err != nil {
			return options{}, fmt.Errorf("read fault plan: %w", err)
		}
		if o.settings.Plan, err = faults.Parse(data); err != nil {
			return options{}, fmt.Errorf("%s: %w", plan, err)
		}
	}
	p := &o.settings.Plan
	if p.Seed == 0 {
		p.Seed = o.fleet.Seed
	}
	override(&p.Gardenlet.Fail, fails.fail)
	override(&p.Gardenlet.Stuck, fails.stuck)
	override(&p.Gardenlet.Error, fails.err)
	if fails.conflict > 0 {
		p.API = append(p.API, faults.Rule{
			Action: faults.Status, Code: 409, Verbs: []string{"update", "patch"}, Resources: []string{"shoots"}, Share: fails.conflict,
		})
	}
	if fails.latency > 0 {
		p.API = append(p.API, faults.Rule{Action: faults.Delay, Delay: faults.Duration(fails.latency)})
	}
	// Nothing is made for options that are refused.
	if err := errors.Join(o.fleet.Validate(), o.settings.Validate()); err != nil {
		return options{}, err
	}
	return o, o.makeDir()
}

func override(value *float64, with float64) {
	if with != 0 {
		*value = with
	}
}

// makeDir settles the folder as an absolute path.
func (o *options) makeDir() (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "swell-landscape-"); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		return nil
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return fmt.Errorf("find folder: %w", err)
	}
	return nil
}
