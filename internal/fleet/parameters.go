package fleet

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/swell-fleet/swell/orchestration"
)

// scheduleNow is an older word for orchestration.Immediate.
const scheduleNow orchestration.ScheduleType = "now"

// maxVersionLength is how many bytes a version, a channel or the name of a machine image may have.
const maxVersionLength = 128

// ParameterOptions are what the configuration says about the parameters of requests.
type ParameterOptions struct {
	// MaxWorkers is the largest number of workers that a request may ask for; 0 means no limit.
	MaxWorkers int
	// DefaultKymaVersion is what an upgrade of Kyma without a version upgrades to; empty makes the version mandatory.
	DefaultKymaVersion string
}

// NormalizeParameters turns the parameters of a request, in whichever dialect it speaks, into the one form that is stored:
//
//   - Version holds the version, whether the request had it there, in Kyma or in Kubernetes; Kyma is nil;
//   - Kubernetes holds the machine image only, and is nil when there is none;
//   - Strategy.Type is parallel, Strategy.Schedule is immediate or maintenanceWindow, at least one worker;
//   - Strategy.MaintenanceWindow repeats the schedule; Strategy.ScheduleTime is in UTC, or nil.
//
// Normal parameters stay as they are when they are normalized again. notBefore is the schedule time, zero when there is none.
//
// Zero values, a time in the year 1 among them, mean that nothing was set and never contradict. What is set is kept or refused: the error is
// of KindInvalid and names the field that contradicts another, is not understood, or does not belong to the type of the orchestration.
func NormalizeParameters(t orchestration.Type, p orchestration.Parameters, opts ParameterOptions) (normal orchestration.Parameters, notBefore time.Time, err error) {
	fail := func(err error) (orchestration.Parameters, time.Time, error) {
		return orchestration.Parameters{}, time.Time{}, err
	}
	version, image, err := normalizeVersion(t, p)
	if err != nil {
		return fail(err)
	}
	if version == "" && t == orchestration.UpgradeKymaOrchestration {
		if opts.DefaultKymaVersion == "" {
			return fail(Invalidf("version", "is missing, and no default version of Kyma is configured"))
		}
		version = opts.DefaultKymaVersion
	}
	strategy, err := normalizeStrategy(p.Strategy, opts)
	if err != nil {
		return fail(err)
	}
	if err := validateTargets(p.Targets); err != nil {
		return fail(err)
	}
	if strategy.ScheduleTime != nil {
		notBefore = *strategy.ScheduleTime
	}
	return orchestration.Parameters{
		Version:    version,
		Targets:    p.Targets,
		Strategy:   strategy,
		DryRun:     p.DryRun,
		Kubernetes: image,
	}, notBefore, nil
}

// AnswerParameters returns stored parameters in the form in which clients read them: the version stands where the older and where the newer
// ones look for it, and the include list is never nil.
func AnswerParameters(t orchestration.Type, p orchestration.Parameters) orchestration.Parameters {
	if p.Targets.Include == nil {
		p.Targets.Include = []orchestration.RuntimeTarget{}
	}
	p.Strategy.MaintenanceWindow = p.Strategy.Schedule == orchestration.MaintenanceWindow
	switch t {
	case orchestration.UpgradeKymaOrchestration:
		if p.Version != "" {
			p.Kyma = &orchestration.KymaParameters{Version: p.Version}
		}
	case orchestration.UpgradeClusterOrchestration:
		var kubernetes orchestration.KubernetesParameters
		if p.Kubernetes != nil {
			kubernetes = *p.Kubernetes
		}
		kubernetes.KubernetesVersion = p.Version
		p.Kubernetes = nil
		if kubernetes != (orchestration.KubernetesParameters{}) {
			p.Kubernetes = &kubernetes
		}
	}
	return p
}

// normalizeVersion finds the one version among the places where it may stand, and the machine image.
func normalizeVersion(t orchestration.Type, p orchestration.Parameters) (string, *orchestration.KubernetesParameters, error) {
	var kyma orchestration.KymaParameters
	if p.Kyma != nil {
		kyma = *p.Kyma
	}
	var kubernetes orchestration.KubernetesParameters
	if p.Kubernetes != nil {
		kubernetes = *p.Kubernetes
	}
	for _, name := range []struct{ field, value string }{
		{"version", p.Version},
		{"kyma.version", kyma.Version},
		{"kubernetes.kubernetesVersion", kubernetes.KubernetesVersion},
		{"kubernetes.machineImage", kubernetes.MachineImage},
		{"kubernetes.machineImageVersion", kubernetes.MachineImageVersion},
	} {
		if err := validateName(name.field, name.value); err != nil {
			return "", nil, err
		}
	}
	switch t {
	case orchestration.UpgradeKymaOrchestration:
		if kubernetes != (orchestration.KubernetesParameters{}) {
			return "", nil, Invalidf("kubernetes", "does not apply to an upgrade of Kyma")
		}
		version, err := oneVersion(p.Version, "kyma.version", kyma.Version)
		return version, nil, err
	case orchestration.UpgradeClusterOrchestration:
		if kyma.Version != "" {
			return "", nil, Invalidf("kyma.version", "does not apply to an upgrade of clusters")
		}
		version, err := oneVersion(p.Version, "kubernetes.kubernetesVersion", kubernetes.KubernetesVersion)
		if err != nil || kubernetes.MachineImage == "" && kubernetes.MachineImageVersion == "" {
			return version, nil, err
		}
		kubernetes.KubernetesVersion = ""
		return version, &kubernetes, nil
	default:
		return "", nil, Invalidf("type", "%q is not a type of orchestration", string(t))
	}
}

// oneVersion joins the version of the older dialect with that of the newer one.
func oneVersion(version, field, other string) (string, error) {
	if version != "" && other != "" && version != other {
		return "", Invalidf(field, "%q contradicts version %q", other, version)
	}
	if version != "" {
		return version, nil
	}
	return other, nil
}

// validateName refuses what cannot be a version or the name of an image, so that it does not travel as far as a backend.
func validateName(field, value string) error {
	if len(value) > maxVersionLength {
		return Invalidf(field, "is longer than %d bytes", maxVersionLength)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return Invalidf(field, "%q holds white space or control characters", value)
	}
	return nil
}

// normalizeStrategy merges the ways in which a request may say when and how many at once.
func normalizeStrategy(s orchestration.StrategySpec, opts ParameterOptions) (orchestration.StrategySpec, error) {
	if s.Type != "" && s.Type != orchestration.ParallelStrategy {
		return s, Invalidf("strategy.type", "%q is not known; the only strategy is %q", cut(string(s.Type)), string(orchestration.ParallelStrategy))
	}
	if s.Parallel.Workers < 0 {
		return s, Invalidf("strategy.parallel.workers", "%d is below 0", s.Parallel.Workers)
	}
	if opts.MaxWorkers > 0 && s.Parallel.Workers > opts.MaxWorkers {
		return s, Invalidf("strategy.parallel.workers", "%d is more than the maximum of %d", s.Parallel.Workers, opts.MaxWorkers)
	}
	schedule, at, err := readSchedule(s.Schedule)
	if err != nil {
		return s, err
	}
	if s.ScheduleTime != nil && isSet(*s.ScheduleTime) {
		switch {
		case s.Schedule == scheduleNow:
			return s, Invalidf("strategy.scheduleTime", "contradicts strategy.schedule %q", string(scheduleNow))
		case !at.IsZero() && !at.Equal(*s.ScheduleTime):
			return s, Invalidf("strategy.schedule", "%q contradicts strategy.scheduleTime", cut(string(s.Schedule)))
		}
		at = *s.ScheduleTime
	}
	if s.MaintenanceWindow {
		// Newer clients send "immediate" or "now" together with the flag: these say when the orchestration starts, the flag says that
		// each of its operations waits for a window.
		schedule = orchestration.MaintenanceWindow
	}
	normal := orchestration.StrategySpec{
		Type:              orchestration.ParallelStrategy,
		Schedule:          schedule,
		Parallel:          orchestration.ParallelStrategySpec{Workers: max(1, s.Parallel.Workers)},
		MaintenanceWindow: schedule == orchestration.MaintenanceWindow,
	}
	if !at.IsZero() {
		at = at.UTC()
		if at.Year() > maxYear {
			return s, Invalidf("strategy.scheduleTime", "is after the year %d", maxYear)
		}
		normal.ScheduleTime = &at
	}
	return normal, nil
}

// maxYear is the last year that JSON can hold.
const maxYear = 9999

// readSchedule reads the schedule of either dialect: a word, or a point in time.
func readSchedule(s orchestration.ScheduleType) (orchestration.ScheduleType, time.Time, error) {
	switch s {
	case "", orchestration.Immediate, scheduleNow:
		return orchestration.Immediate, time.Time{}, nil
	case orchestration.MaintenanceWindow:
		return orchestration.MaintenanceWindow, time.Time{}, nil
	}
	at, ok := ParseTime(string(s))
	if !ok {
		return "", time.Time{}, Invalidf("strategy.schedule", `%q is neither "immediate", "now", "maintenanceWindow" nor a time as 2030-01-02T22:00:00Z`, cut(string(s)))
	}
	if !isSet(at) {
		at = time.Time{}
	}
	return orchestration.Immediate, at, nil
}

// isSet reports whether a time was given: clients of other systems send a time in the year 1 for "none".
func isSet(t time.Time) bool { return t.UTC().Year() > 1 }

// maxTargets is how long the targets of an orchestration may be as JSON, in bytes. Every list of orchestrations repeats them, so that a page of 100 stays
// below the 64 MiB that clients read; 5,000 runtimes that are named one by one take 400 kB.
const maxTargets = 512 << 10

// checkSize refuses targets that would make lists too long to be read.
func checkSize(targets orchestration.TargetSpec) error {
	text, err := json.Marshal(targets)
	if err != nil {
		return Invalidf("targets", "cannot be written as JSON")
	}
	if len(text) > maxTargets {
		return Invalidf("targets", "are %d bytes long, more than %d; select by patterns, or divide the request", len(text), maxTargets)
	}
	return nil
}

// validateTargets turns the fault of targets into an error that names the entry.
func validateTargets(targets orchestration.TargetSpec) error {
	err := targets.Validate()
	if err == nil {
		return checkSize(targets)
	}
	field := "targets"
	if faults, ok := errors.AsType[*orchestration.TargetsError](err); ok && len(faults.Problems) > 0 {
		field = faults.Problems[0].Field
	}
	return &Error{Kind: KindInvalid, Field: field, Message: strings.TrimPrefix(err.Error(), field+": ")}
}

// cut shortens a refused value before it is repeated.
func cut(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
