package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/httpapi/strictjson"
	"github.com/swell-fleet/swell/orchestration"
)

// UpgradeBody is the body of a request to upgrade, with the keys of every dialect.
type UpgradeBody struct {
	Version    string                              `json:"version,omitempty" doc:"What to upgrade to. The older place for kyma.version and kubernetes.kubernetesVersion."`
	Targets    orchestration.TargetSpec            `json:"targets" doc:"Which runtimes to upgrade. Only {\"target\":\"all\"} means all."`
	Strategy   StrategyBody                        `json:"strategy,omitempty" doc:"When, and how many at once."`
	DryRun     bool                                `json:"dryRun,omitempty" doc:"Go through all steps without changing a runtime."`
	Kyma       *orchestration.KymaParameters       `json:"kyma,omitempty" doc:"For upgrades of Kyma."`
	Kubernetes *orchestration.KubernetesParameters `json:"kubernetes,omitempty" doc:"For upgrades of clusters."`
	Retry      RetryParameters                     `json:"retryoperation,omitempty" doc:"Known so that clients may send it empty; retry with POST /orchestrations/{id}/retry."`
	Notify     bool                                `json:"notification,omitempty" doc:"Not supported: true is refused."`
}

// StrategyBody is the strategy of a request.
type StrategyBody struct {
	Type     orchestration.StrategyType         `json:"type,omitempty" doc:"parallel, which is also the default."`
	Schedule string                             `json:"schedule,omitempty" doc:"immediate (also spelled now, the default), maintenanceWindow, or the time before which nothing starts."`
	Parallel orchestration.ParallelStrategySpec `json:"parallel,omitempty" doc:"How many runtimes are changed at the same time; 0 means 1."`
	Window   bool                               `json:"maintenanceWindow,omitempty" doc:"Start each operation inside the maintenance window of its runtime only."`
	Time     *time.Time                         `json:"scheduleTime,omitempty" doc:"The time before which nothing starts."`
	// OldTime is the same key as clients in Go write it that gave it no name.
	OldTime *time.Time `json:"ScheduleTime,omitempty" doc:"The same as scheduleTime."`
}

// RetryParameters are what later clients always send along.
type RetryParameters struct {
	Operations []string    `json:"retryoperations,omitempty"`
	Immediate  LenientBool `json:"immediate,omitempty"`
}

// LenientBool is true or false, or the same as text; empty text means not set.
type LenientBool bool

// UnmarshalStrict implements strictjson.Unmarshaler.
func (b *LenientBool) UnmarshalStrict(v strictjson.Value) error {
	if v.Kind == strictjson.Bool || v.Kind == strictjson.String {
		set, err := parseFlag(v.Text)
		if err == nil {
			*b = LenientBool(set)
			return nil
		}
	}
	return v.Errorf("is neither true nor false")
}

// parseFlag reads a flag as text; empty text is false.
func parseFlag(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	default:
		return false, fmt.Errorf("%s is neither true nor false", quote(text))
	}
}

// parameters returns the body in the words of the domain. What has no place there is refused when it is set.
func (b *UpgradeBody) parameters() (orchestration.Parameters, error) {
	switch {
	case b.Notify:
		return orchestration.Parameters{}, badRequest("notification", "is not supported")
	case len(b.Retry.Operations) > 0 || bool(b.Retry.Immediate):
		return orchestration.Parameters{}, badRequest("retryoperation", "does not belong to a new orchestration; use POST /orchestrations/{id}/retry")
	}
	at, old := given(b.Strategy.Time), given(b.Strategy.OldTime)
	if at != nil && old != nil && !at.Equal(*old) {
		return orchestration.Parameters{}, badRequest("strategy.ScheduleTime", "contradicts strategy.scheduleTime")
	}
	if at == nil {
		at = old
	}
	return orchestration.Parameters{
		Version: b.Version,
		Targets: b.Targets,
		Strategy: orchestration.StrategySpec{
			Type:              b.Strategy.Type,
			Schedule:          orchestration.ScheduleType(b.Strategy.Schedule),
			Parallel:          b.Strategy.Parallel,
			MaintenanceWindow: b.Strategy.Window,
			ScheduleTime:      at,
		},
		DryRun:     b.DryRun,
		Kyma:       b.Kyma,
		Kubernetes: b.Kubernetes,
	}, nil
}

// given returns nil for a time in the year 1, which means that none was given.
func given(t *time.Time) *time.Time {
	if t == nil || t.UTC().Year() <= 1 {
		return nil
	}
	return t
}

// hashRequest tells two requests apart by what they ask for, whatever the order of their keys. It does not depend on the configuration.
func hashRequest(t orchestration.Type, p orchestration.Parameters) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("hash request: %w", err)
	}
	sum := sha256.Sum256(append([]byte(string(t)+"\n"), text...))
	return hex.EncodeToString(sum[:]), nil
}
