package fleet_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// normalStrategy is what a strategy without anything comes to.
func normalStrategy() orchestration.StrategySpec {
	return orchestration.StrategySpec{
		Type: orchestration.ParallelStrategy, Schedule: orchestration.Immediate, Parallel: orchestration.ParallelStrategySpec{Workers: 1},
	}
}

func TestReadStoredParameters(t *testing.T) {
	t.Parallel()
	all := orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{{Target: orchestration.TargetAll}}}
	at := time.Date(2030, 1, 2, 21, 0, 0, 0, time.UTC)
	strategy := func(f func(s *orchestration.StrategySpec)) orchestration.Parameters {
		s := normalStrategy()
		f(&s)
		return orchestration.Parameters{Targets: all, Strategy: s}
	}
	window := func(s *orchestration.StrategySpec) {
		s.Schedule, s.MaintenanceWindow = orchestration.MaintenanceWindow, true
	}
	later := func(s *orchestration.StrategySpec) { s.ScheduleTime = &at }
	const targets = `{"targets":{"include":[{"target":"all"}]}`
	for _, test := range []struct {
		name, raw string
		want      orchestration.Parameters
		immediate bool
	}{
		{"retry immediate as text", targets + `,"retryoperation":{"immediate":"true"}}`, strategy(func(*orchestration.StrategySpec) {}), true},
		{"retry immediate as empty text", targets + `,"retryoperation":{"immediate":""}}`, strategy(func(*orchestration.StrategySpec) {}), false},
		{"retry immediate as a truth value", targets + `,"retryoperation":{"retryoperations":["op-1"],"immediate":true}}`, strategy(func(*orchestration.StrategySpec) {}), true},
		{"retry null", targets + `,"retryoperation":null}`, strategy(func(*orchestration.StrategySpec) {}), false},
		{"old word for a window run", targets + `,"strategy":{"type":"parallel","schedule":"maintenanceWindow","parallel":{"workers":2}}}`,
			strategy(func(s *orchestration.StrategySpec) { window(s); s.Parallel.Workers = 2 }), false},
		{"the same in another letter case", targets + `,"strategy":{"schedule":"maintenancewindow"}}`, strategy(window), false},
		{"flag beside immediate", targets + `,"strategy":{"schedule":"immediate","maintenanceWindow":true}}`, strategy(window), false},
		{"flag beside now", targets + `,"strategy":{"schedule":"now","maintenanceWindow":"true"}}`, strategy(window), false},
		{"a flag that is off makes no window run wider", targets + `,"strategy":{"schedule":"maintenanceWindow","maintenanceWindow":false}}`, strategy(window), false},
		{"a time as schedule", targets + `,"strategy":{"schedule":"2030-01-02T22:00:00+01:00"}}`, strategy(later), false},
		{"a schedule time", targets + `,"strategy":{"schedule":"now","ScheduleTime":"2030-01-02T21:00:00Z"}}`, strategy(later), false},
		{"a schedule time of today", targets + `,"strategy":{"scheduleTime":"2030-01-02T21:00:00Z"}}`, strategy(later), false},
		{"two times: the later", targets + `,"strategy":{"schedule":"2030-01-02T21:00:00Z","scheduleTime":"2029-01-02T21:00:00Z"}}`, strategy(later), false},
		{"no time in the year 1", targets + `,"strategy":{"ScheduleTime":"0001-01-01T00:00:00Z"}}`, strategy(func(*orchestration.StrategySpec) {}), false},
		{"fewer than one worker", targets + `,"strategy":{"parallel":{"workers":-3}}}`, strategy(func(*orchestration.StrategySpec) {}), false},
		{"nothing but nulls", `{"targets":{"include":[]},"kyma":null,"kubernetes":null,"strategy":null,"dryRun":null,"version":null}`,
			orchestration.Parameters{Targets: orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{}}, Strategy: normalStrategy()}, false},
		{"no targets", `{}`, orchestration.Parameters{Strategy: normalStrategy()}, false},
		{"unknown keys", targets + `,"notification":true,"strategy":{"stages":[1]},"kyma":{"channel":"fast"}}`, strategy(func(*orchestration.StrategySpec) {}), false},
		{"version of Kyma", `{"kyma":{"version":"2.4"},"dryRun":true}`, orchestration.Parameters{Version: "2.4", DryRun: true, Strategy: normalStrategy()}, false},
		{"the same version twice", `{"version":"1.33.4","kubernetes":{"kubernetesVersion":"1.33.4","machineImage":"m","machineImageVersion":"1"}}`,
			orchestration.Parameters{
				Version: "1.33.4", Strategy: normalStrategy(),
				Kubernetes: &orchestration.KubernetesParameters{MachineImage: "m", MachineImageVersion: "1"},
			}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := fleet.ReadStoredParameters([]byte(test.raw))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(fleet.StoredParameters{Parameters: test.want, RetryImmediate: test.immediate}, got))
		})
	}
}

func TestUnreadableParametersAreErrors(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		``, ` `, `null`, `[]`, `"all"`, `7`, `{`, `{} {}`, "{\"version\":\x00}",
		`{"targets":[]}`, `{"targets":{"include":"all"}}`, `{"targets":{"include":[{"target":7}]}}`,
		`{"strategy":{"schedule":"at noon"}}`, `{"strategy":{"schedule":"2030-01-02"}}`, `{"strategy":{"schedule":7}}`,
		`{"strategy":{"scheduleTime":"tomorrow"}}`, `{"strategy":{"maintenanceWindow":"yes"}}`, `{"strategy":{"maintenanceWindow":1}}`,
		`{"strategy":{"type":"serial"}}`, `{"strategy":"parallel"}`, `{"strategy":{"parallel":{"workers":"many"}}}`,
		`{"dryRun":"perhaps"}`, `{"retryoperation":{"immediate":"perhaps"}}`,
		`{"version":"1.33.4","kubernetes":{"kubernetesVersion":"1.33.5"}}`, `{"version":7}`,
	} {
		got, err := fleet.ReadStoredParameters([]byte(raw))
		require.Error(t, err, raw)
		require.Zero(t, got, raw)
	}
}

// FuzzDecodeStoredParameters: whatever stands in the table, reading it neither panics nor gives something that another reading would understand
// differently, and what is read can be written and read again.
func FuzzDecodeStoredParameters(f *testing.F) {
	for _, seed := range []string{
		`{"targets":{"include":[{"target":"all"}]},"retryoperation":{"immediate":"true"}}`,
		`{"targets":{"include":[]},"kyma":null,"kubernetes":null}`,
		`{"strategy":{"type":"parallel","schedule":"maintenanceWindow","parallel":{"workers":2},"ScheduleTime":"2030-01-02T22:00:00+01:00"}}`,
		`{"strategy":{"schedule":"now","maintenanceWindow":"TRUE"},"version":"1.33.4","dryRun":"false"}`,
		`null`, `[{}]`, `{"strategy":{"schedule":"9999-12-31T23:59:59.999999999Z"}}`, "{\"version\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := fleet.DecodeStoredParameters(raw)
		if err != nil {
			require.Zero(t, got)
			return
		}
		require.GreaterOrEqual(t, got.Strategy.Parallel.Workers, 1)
		require.Contains(t, []orchestration.ScheduleType{orchestration.Immediate, orchestration.MaintenanceWindow}, got.Strategy.Schedule)
		require.Equal(t, got.Strategy.Schedule == orchestration.MaintenanceWindow, got.Strategy.MaintenanceWindow)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		again, err := fleet.DecodeStoredParameters(text)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(got, again))
	})
}
