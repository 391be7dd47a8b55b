package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/swell-fleet/swell/orchestration"
)

// StoredParameters are the parameters of a stored orchestration, whichever version of whichever server wrote them.
type StoredParameters struct {
	// Parameters are in the normal form.
	Parameters orchestration.Parameters
	// RetryImmediate is true when an older server had noted that its retries start without waiting for a window. It is told and not acted
	// upon: operations that wait go on waiting for their windows.
	RetryImmediate bool
}

// DecodeStoredParameters reads the parameters of a stored orchestration; see ReadStoredParameters.
func DecodeStoredParameters(raw []byte) (orchestration.Parameters, error) {
	stored, err := ReadStoredParameters(raw)
	return stored.Parameters, err
}

// ReadStoredParameters reads parameters as this and older servers wrote them. Orchestrations outlast releases, so it takes what a request may not
// hold: keys that are not known are skipped, letter case does not matter, words for true and false may be text, and the schedule may be one of
// the older words or a point in time.
//
// What decides when and on what an orchestration runs is never guessed: when it cannot be understood the answer is an error, and the
// orchestration must not run.
func ReadStoredParameters(raw []byte) (StoredParameters, error) {
	var in struct {
		Version  *string                   `json:"version"`
		Targets  *orchestration.TargetSpec `json:"targets"`
		Strategy *storedStrategy           `json:"strategy"`
		DryRun   *looseBool                `json:"dryRun"`
		Kyma     *struct {
			Version string `json:"version"`
		} `json:"kyma"`
		Kubernetes     *orchestration.KubernetesParameters `json:"kubernetes"`
		RetryOperation *struct {
			Immediate *looseBool `json:"immediate"`
		} `json:"retryoperation"`
	}
	if len(raw) == 0 || strings.TrimSpace(string(raw)) == "null" {
		return StoredParameters{}, errors.New("there are no parameters")
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return StoredParameters{}, fmt.Errorf("decode parameters: %w", err)
	}
	var out StoredParameters
	p := &out.Parameters
	if in.Targets != nil {
		p.Targets = *in.Targets
	}
	p.DryRun = in.DryRun != nil && bool(*in.DryRun)
	out.RetryImmediate = in.RetryOperation != nil && in.RetryOperation.Immediate != nil && bool(*in.RetryOperation.Immediate)

	var versions []string
	if in.Version != nil {
		versions = append(versions, *in.Version)
	}
	if in.Kyma != nil {
		versions = append(versions, in.Kyma.Version)
	}
	if k := in.Kubernetes; k != nil {
		versions = append(versions, k.KubernetesVersion)
		if k.MachineImage != "" || k.MachineImageVersion != "" {
			p.Kubernetes = &orchestration.KubernetesParameters{MachineImage: k.MachineImage, MachineImageVersion: k.MachineImageVersion}
		}
	}
	for _, v := range versions {
		if v != "" && p.Version != "" && v != p.Version {
			return StoredParameters{}, fmt.Errorf("the versions %.100q and %.100q contradict each other", p.Version, v)
		}
		if v != "" {
			p.Version = v
		}
	}

	var strategy storedStrategy
	if in.Strategy != nil {
		strategy = *in.Strategy
	}
	var err error
	if p.Strategy, err = strategy.normal(); err != nil {
		return StoredParameters{}, err
	}
	return out, nil
}

// storedStrategy is the strategy in any of the stored dialects.
type storedStrategy struct {
	Type     string `json:"type"`
	Schedule string `json:"schedule"`
	Parallel *struct {
		Workers int `json:"workers"`
	} `json:"parallel"`
	MaintenanceWindow *looseBool `json:"maintenanceWindow"`
	// Older servers wrote the key as ScheduleTime; the decoder ignores letter case.
	ScheduleTime *time.Time `json:"scheduleTime"`
}

func (s *storedStrategy) normal() (orchestration.StrategySpec, error) {
	out := orchestration.StrategySpec{Type: orchestration.ParallelStrategy, Schedule: orchestration.Immediate}
	if s.Type != "" && !strings.EqualFold(s.Type, string(orchestration.ParallelStrategy)) {
		return out, fmt.Errorf("the strategy %.100q is not known", s.Type)
	}
	out.Parallel.Workers = 1
	if s.Parallel != nil {
		out.Parallel.Workers = max(1, s.Parallel.Workers)
	}
	at := time.Time{}
	switch word := strings.ToLower(s.Schedule); word {
	case "", "now", strings.ToLower(string(orchestration.Immediate)):
	case strings.ToLower(string(orchestration.MaintenanceWindow)):
		out.Schedule = orchestration.MaintenanceWindow
	default:
		var err error
		if at, err = time.Parse(time.RFC3339Nano, s.Schedule); err != nil {
			return out, fmt.Errorf("the schedule %.100q is not understood", s.Schedule)
		}
	}
	if s.MaintenanceWindow != nil && bool(*s.MaintenanceWindow) {
		out.Schedule = orchestration.MaintenanceWindow
	}
	// Of two points in time the later one is kept: it starts nothing that the other would not have started.
	if s.ScheduleTime != nil && s.ScheduleTime.After(at) {
		at = *s.ScheduleTime
	}
	if isSet(at) {
		at = at.UTC()
		out.ScheduleTime = &at
	}
	out.MaintenanceWindow = out.Schedule == orchestration.MaintenanceWindow
	return out, nil
}

// looseBool is a truth value that older servers wrote as text too; empty text is false.
type looseBool bool

// UnmarshalJSON reads true, false, null, and the same as text.
func (b *looseBool) UnmarshalJSON(raw []byte) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	switch v := value.(type) {
	case nil:
		*b = false
	case bool:
		*b = looseBool(v)
	case string:
		switch strings.ToLower(v) {
		case "true":
			*b = true
		case "false", "":
			*b = false
		default:
			return fmt.Errorf("%.100q is neither true nor false", v)
		}
	default:
		return errors.New("a truth value is of another type")
	}
	return nil
}
