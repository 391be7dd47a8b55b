package upgrade

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/selector"
	"github.com/swell-fleet/swell/orchestration"
)

// The names of the flags that errors speak about.
const (
	scheduleFlag = "schedule"
	windowFlag   = "maintenancewindow"
	workersFlag  = "parallel-workers"
	yesFlag      = "yes"
	dryRunFlag   = "dry-run"
	previewFlag  = "preview"
	waitFlag     = "wait"
	matchFlag    = "require-match"
)

// options are the flags of an upgrade.
type options struct {
	include, exclude    []string
	version             string
	machineImage        string
	machineImageVersion string
	workers             int
	schedule            string
	window              bool
	dryRun              bool
	yes                 bool
	wait                bool
	preview             bool
	requireMatch        bool
	output              console.Format
}

// addTo adds the flags that both kinds of upgrade have.
func (o *options) addTo(flags *pflag.FlagSet) {
	flags.SortFlags = false
	// StringArray leaves commas in values alone.
	flags.StringArrayVarP(&o.include, selector.IncludeFlag, "t", nil, "`TARGET` to upgrade; may be repeated (see above)")
	flags.StringArrayVarP(&o.exclude, selector.ExcludeFlag, "e", nil, "`TARGET` to leave out; may be repeated")
	flags.IntVar(&o.workers, workersFlag, 1, "how many runtimes are changed at the same time, a `NUMBER`")
	flags.StringVar(&o.schedule, scheduleFlag, string(orchestration.Immediate), "`WHEN` to start: immediate (or now), a time as 2030-01-02T22:00:00+01:00, or a date, which means midnight UTC")
	flags.BoolVar(&o.window, windowFlag, false, "start each runtime inside its own maintenance window only")
	flags.BoolVar(&o.dryRun, dryRunFlag, false, "go through all steps without changing a runtime")
	flags.BoolVarP(&o.yes, yesFlag, "y", false, "do not ask; needed where there is no terminal to ask at")
	flags.BoolVar(&o.preview, previewFlag, false, "show which runtimes would be upgraded, when and in which order, and start nothing")
	flags.BoolVar(&o.requireMatch, matchFlag, false, "start nothing, and end with exit code 1, when a --target matches no runtime or none is selected; also with --yes")
	flags.BoolVarP(&o.wait, waitFlag, "w", false, "show the progress until the upgrade has ended")
}

// parameters turns the flags into a request. All that is wrong with them is told together.
func (o *options) parameters(kind orchestration.Type, now time.Time) (orchestration.Parameters, error) {
	targets, targetsErr := selector.Spec(o.include, o.exclude)
	schedule, scheduleErr := parseSchedule(o.schedule, now)
	var workersErr error
	if o.workers < 1 {
		workersErr = fmt.Errorf("--%s %d: at least 1 is needed", workersFlag, o.workers)
	}
	var previewErr error
	if o.preview && (o.yes || o.wait) {
		previewErr = fmt.Errorf("--%s starts nothing: leave out --%s and --%s", previewFlag, yesFlag, waitFlag)
	}
	if err := errors.Join(targetsErr, scheduleErr, workersErr, previewErr); err != nil {
		return orchestration.Parameters{}, &console.ExitError{Code: console.ExitUsage, Err: err}
	}
	p := orchestration.Parameters{
		Version: o.version,
		Targets: targets,
		Strategy: orchestration.StrategySpec{
			Type:              orchestration.ParallelStrategy,
			Schedule:          schedule,
			Parallel:          orchestration.ParallelStrategySpec{Workers: o.workers},
			MaintenanceWindow: o.window,
		},
		DryRun: o.dryRun,
	}
	if kind == orchestration.UpgradeClusterOrchestration && (o.machineImage != "" || o.machineImageVersion != "") {
		p.Kubernetes = &orchestration.KubernetesParameters{MachineImage: o.machineImage, MachineImageVersion: o.machineImageVersion}
	}
	return p, nil
}

// parseSchedule returns the schedule of a request: a word, or a time exactly as it was written. A time that has passed is refused: the server would
// start at once, which is hardly what somebody means who names a time.
func parseSchedule(text string, now time.Time) (orchestration.ScheduleType, error) {
	switch strings.ToLower(text) {
	case "", "now", string(orchestration.Immediate):
		return orchestration.Immediate, nil
	case strings.ToLower(string(orchestration.MaintenanceWindow)):
		return "", fmt.Errorf("--%s %s: use the flag --%s to stay inside the maintenance windows; --%s says when the upgrade as a whole may start",
			scheduleFlag, text, windowFlag, scheduleFlag)
	}
	schedule := orchestration.ScheduleType(text)
	at, err := time.Parse(time.DateOnly, text)
	if err == nil {
		schedule = orchestration.ScheduleType(at.Format(time.RFC3339))
	} else if err := at.UnmarshalText([]byte(text)); err != nil {
		return "", fmt.Errorf("--%s %q: is neither immediate, now, a time as 2030-01-02T22:00:00+01:00 nor a date as 2030-01-02", scheduleFlag, text)
	}
	if at.Before(now) {
		return "", fmt.Errorf("--%s %q: this time has passed; leave the flag out to start at once", scheduleFlag, text)
	}
	return schedule, nil
}
