package fleet_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

const (
	kymaType    = orchestration.UpgradeKymaOrchestration
	clusterType = orchestration.UpgradeClusterOrchestration
)

var (
	everything  = orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{{Target: orchestration.TargetAll}}}
	january     = time.Date(2030, 1, 2, 21, 0, 0, 0, time.UTC)
	januaryEast = january.In(time.FixedZone("", 3600))
	yearOne     = time.Time{}
)

// strategy makes a strategy in the normal form.
func strategy(schedule orchestration.ScheduleType, workers int, at *time.Time) orchestration.StrategySpec {
	return orchestration.StrategySpec{
		Type: orchestration.ParallelStrategy, Schedule: schedule, Parallel: orchestration.ParallelStrategySpec{Workers: workers},
		MaintenanceWindow: schedule == orchestration.MaintenanceWindow, ScheduleTime: at,
	}
}

func TestBothDialectsHaveOneNormalForm(t *testing.T) {
	t.Parallel()
	immediate := strategy(orchestration.Immediate, 1, nil)
	windows := strategy(orchestration.MaintenanceWindow, 1, nil)
	tests := map[string]struct {
		kind orchestration.Type
		give orchestration.Parameters
		want orchestration.Parameters
	}{
		"the zero values of an older client": {clusterType,
			orchestration.Parameters{Targets: everything},
			orchestration.Parameters{Targets: everything, Strategy: immediate}},
		"the zero values of a newer client": {clusterType,
			orchestration.Parameters{
				Targets: everything, Kyma: &orchestration.KymaParameters{}, Kubernetes: &orchestration.KubernetesParameters{},
				Strategy: orchestration.StrategySpec{ScheduleTime: &yearOne},
			},
			orchestration.Parameters{Targets: everything, Strategy: immediate}},
		"older cluster version": {clusterType,
			orchestration.Parameters{Version: "1.33.4", Targets: everything},
			orchestration.Parameters{Version: "1.33.4", Targets: everything, Strategy: immediate}},
		"newer cluster version": {clusterType,
			orchestration.Parameters{Targets: everything, Kubernetes: &orchestration.KubernetesParameters{KubernetesVersion: "1.33.4"}},
			orchestration.Parameters{Version: "1.33.4", Targets: everything, Strategy: immediate}},
		"the same version in both places": {clusterType,
			orchestration.Parameters{Version: "1.33.4", Targets: everything, Kubernetes: &orchestration.KubernetesParameters{KubernetesVersion: "1.33.4"}},
			orchestration.Parameters{Version: "1.33.4", Targets: everything, Strategy: immediate}},
		"machine image": {clusterType,
			orchestration.Parameters{Targets: everything, DryRun: true, Kubernetes: &orchestration.KubernetesParameters{
				KubernetesVersion: "1.33.4", MachineImage: "gardenlinux", MachineImageVersion: "1592.1.0"}},
			orchestration.Parameters{Version: "1.33.4", Targets: everything, Strategy: immediate, DryRun: true, Kubernetes: &orchestration.KubernetesParameters{
				MachineImage: "gardenlinux", MachineImageVersion: "1592.1.0"}}},
		"machine image version for whichever image a pool has": {clusterType,
			orchestration.Parameters{Targets: everything, Kubernetes: &orchestration.KubernetesParameters{MachineImageVersion: "1592.1.0"}},
			orchestration.Parameters{Targets: everything, Strategy: immediate, Kubernetes: &orchestration.KubernetesParameters{MachineImageVersion: "1592.1.0"}}},
		"older Kyma version": {kymaType,
			orchestration.Parameters{Version: "2.0.1", Targets: everything},
			orchestration.Parameters{Version: "2.0.1", Targets: everything, Strategy: immediate}},
		"newer Kyma version": {kymaType,
			orchestration.Parameters{Targets: everything, Kyma: &orchestration.KymaParameters{Version: "fast"}},
			orchestration.Parameters{Version: "fast", Targets: everything, Strategy: immediate}},
		"Kyma without a version takes the default": {kymaType,
			orchestration.Parameters{Targets: everything},
			orchestration.Parameters{Version: "regular", Targets: everything, Strategy: immediate}},
		"older window word": {clusterType,
			orchestration.Parameters{Targets: everything, Strategy: orchestration.StrategySpec{Schedule: "maintenanceWindow"}},
			orchestration.Parameters{Targets: everything, Strategy: windows}},
		"newer window flag beside immediate": {clusterType,
			orchestration.Parameters{Targets: everything, Strategy: orchestration.StrategySpec{Schedule: "immediate", MaintenanceWindow: true}},
			orchestration.Parameters{Targets: everything, Strategy: windows}},
		"newer window flag beside now": {clusterType,
			orchestration.Parameters{Targets: everything, Strategy: orchestration.StrategySpec{Schedule: "now", MaintenanceWindow: true}},
			orchestration.Parameters{Targets: everything, Strategy: windows}},
		"newer window flag alone": {clusterType,
			orchestration.Parameters{Targets: everything, Strategy: orchestration.StrategySpec{MaintenanceWindow: true}},
			orchestration.Parameters{Targets: everything, Strategy: windows}},
		"schedule as a time": {clusterType,
			orchestration.Parameters{Targets: everything, Strategy: orchestration.StrategySpec{Schedule: "2030-01-02T22:00:00+01:00"}},
			orchestration.Parameters{Targets: everything, Strategy: strategy(orchestration.Immediate, 1, &january)}},
		"schedule as a time in the year 1": {clusterType,
			orchestration.Parameters{Targets: everything, Strategy: orchestration.StrategySpec{Schedule: "0001-01-01T00:00:00Z"}},
			orchestration.Parameters{Targets: everything, Strategy: immediate}},
		"schedule time beside a window": {clusterType,
			orchestration.Parameters{Targets: everything, Strategy: orchestration.StrategySpec{Schedule: "maintenanceWindow", ScheduleTime: &januaryEast}},
			orchestration.Parameters{Targets: everything, Strategy: strategy(orchestration.MaintenanceWindow, 1, &january)}},
		"the same time in both places": {clusterType,
			orchestration.Parameters{Targets: everything, Strategy: orchestration.StrategySpec{Schedule: "2030-01-02T21:00:00Z", ScheduleTime: &januaryEast}},
			orchestration.Parameters{Targets: everything, Strategy: strategy(orchestration.Immediate, 1, &january)}},
		"as many workers as there may be": {clusterType,
			orchestration.Parameters{Targets: everything, Strategy: orchestration.StrategySpec{Type: "parallel", Parallel: orchestration.ParallelStrategySpec{Workers: 50}}},
			orchestration.Parameters{Targets: everything, Strategy: strategy(orchestration.Immediate, 50, nil)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := fleet.ParameterOptions{MaxWorkers: 50, DefaultKymaVersion: "regular"}
			got, notBefore, err := fleet.NormalizeParameters(test.kind, test.give, options)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
			if test.want.Strategy.ScheduleTime == nil {
				require.True(t, notBefore.IsZero())
			} else {
				require.Equal(t, *test.want.Strategy.ScheduleTime, notBefore)
			}

			raw, err := json.Marshal(got)
			require.NoError(t, err)
			stored, err := fleet.DecodeStoredParameters(raw)
			require.NoError(t, err)
			require.Equal(t, got, stored, "what is stored reads back as it was")
		})
	}
}

func TestWhatContradictsOrIsNotUnderstoodIsRefusedByName(t *testing.T) {
	t.Parallel()
	year10000 := time.Date(9999, 12, 31, 23, 30, 0, 0, time.FixedZone("", -3600))
	kubernetes := func(k orchestration.KubernetesParameters) *orchestration.KubernetesParameters { return &k }
	tests := map[string]struct {
		kind  orchestration.Type
		give  orchestration.Parameters
		field string
	}{
		"two cluster versions": {clusterType, orchestration.Parameters{Version: "1.33.4",
			Kubernetes: kubernetes(orchestration.KubernetesParameters{KubernetesVersion: "1.33.5"})}, "kubernetes.kubernetesVersion"},
		"two Kyma versions":     {kymaType, orchestration.Parameters{Version: "regular", Kyma: &orchestration.KymaParameters{Version: "fast"}}, "kyma.version"},
		"Kyma for clusters":     {clusterType, orchestration.Parameters{Kyma: &orchestration.KymaParameters{Version: "fast"}}, "kyma.version"},
		"machine image in Kyma": {kymaType, orchestration.Parameters{Version: "fast", Kubernetes: kubernetes(orchestration.KubernetesParameters{MachineImage: "x"})}, "kubernetes"},
		"Kyma without version":  {kymaType, orchestration.Parameters{}, "version"},
		"blank version":         {clusterType, orchestration.Parameters{Version: " "}, "version"},
		"version of two lines":  {clusterType, orchestration.Parameters{Version: "1.33\n.4"}, "version"},
		"image with a blank":    {clusterType, orchestration.Parameters{Kubernetes: kubernetes(orchestration.KubernetesParameters{MachineImage: "a b"})}, "kubernetes.machineImage"},
		"unknown strategy":      {clusterType, orchestration.Parameters{Strategy: orchestration.StrategySpec{Type: "serial"}}, "strategy.type"},
		"workers below 0":       {clusterType, orchestration.Parameters{Strategy: orchestration.StrategySpec{Parallel: orchestration.ParallelStrategySpec{Workers: -1}}}, "strategy.parallel.workers"},
		"too many workers":      {clusterType, orchestration.Parameters{Strategy: orchestration.StrategySpec{Parallel: orchestration.ParallelStrategySpec{Workers: 51}}}, "strategy.parallel.workers"},
		"unknown schedule":      {clusterType, orchestration.Parameters{Strategy: orchestration.StrategySpec{Schedule: "maintenancewindow"}}, "strategy.schedule"},
		"schedule as a date":    {clusterType, orchestration.Parameters{Strategy: orchestration.StrategySpec{Schedule: "2030-01-02"}}, "strategy.schedule"},
		"two times":             {clusterType, orchestration.Parameters{Strategy: orchestration.StrategySpec{Schedule: "2031-01-02T22:00:00Z", ScheduleTime: &january}}, "strategy.schedule"},
		"now and a time":        {clusterType, orchestration.Parameters{Strategy: orchestration.StrategySpec{Schedule: "now", ScheduleTime: &january}}, "strategy.scheduleTime"},
		"a time without JSON":   {clusterType, orchestration.Parameters{Strategy: orchestration.StrategySpec{ScheduleTime: &year10000}}, "strategy.scheduleTime"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.give.Targets = everything
			got, notBefore, err := fleet.NormalizeParameters(test.kind, test.give, fleet.ParameterOptions{MaxWorkers: 50})
			require.ErrorIs(t, err, fleet.ErrInvalid)
			var invalid *fleet.Error
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, test.field, invalid.Field)
			require.Zero(t, got)
			require.Zero(t, notBefore)
		})
	}
}

func TestFaultyTargetsAreRefusedByTheNameOfTheEntry(t *testing.T) {
	t.Parallel()
	for field, targets := range map[string]orchestration.TargetSpec{
		"targets.include":           {},
		"targets.include[1]":        {Include: []orchestration.RuntimeTarget{{Target: "all"}, {}}},
		"targets.exclude[0].region": {Include: []orchestration.RuntimeTarget{{Target: "all"}}, Exclude: []orchestration.RuntimeTarget{{Region: "("}}},
	} {
		_, _, err := fleet.NormalizeParameters(clusterType, orchestration.Parameters{Targets: targets}, fleet.ParameterOptions{})
		var invalid *fleet.Error
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Field)
		require.NotContains(t, invalid.Message, field, "the field is not named twice")
	}
}

func TestAnswersCanBeReadByClientsOfEitherAge(t *testing.T) {
	t.Parallel()
	answer := fleet.AnswerParameters(clusterType, orchestration.Parameters{
		Version: "1.33.4", Targets: everything, Strategy: strategy(orchestration.MaintenanceWindow, 2, &january),
		Kubernetes: &orchestration.KubernetesParameters{MachineImage: "gardenlinux"},
	})
	text, err := json.Marshal(answer)
	require.NoError(t, err)
	require.JSONEq(t, `{"version":"1.33.4","targets":{"include":[{"target":"all"}]},
		"strategy":{"type":"parallel","schedule":"maintenanceWindow","parallel":{"workers":2},"maintenanceWindow":true,"scheduleTime":"2030-01-02T21:00:00Z"},
		"kubernetes":{"kubernetesVersion":"1.33.4","machineImage":"gardenlinux"}}`, string(text))

	answer = fleet.AnswerParameters(kymaType, orchestration.Parameters{Version: "fast", Targets: everything, Strategy: strategy(orchestration.Immediate, 1, nil)})
	text, err = json.Marshal(answer)
	require.NoError(t, err)
	require.JSONEq(t, `{"version":"fast","targets":{"include":[{"target":"all"}]},
		"strategy":{"type":"parallel","schedule":"immediate","parallel":{"workers":1}},"kyma":{"version":"fast"}}`, string(text))

	text, err = json.Marshal(fleet.AnswerParameters(clusterType, orchestration.Parameters{}))
	require.NoError(t, err)
	require.Contains(t, string(text), `"include":[]`, "parameters that could not be read have no null where a list is expected")
	require.NotContains(t, string(text), "kubernetes")
}

// An answer that is sent back as a request asks for the same thing, whatever the request was.
func TestAnAnswerIsARequestForTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]orchestration.Type{kymaType, clusterType}).Draw(t, "type")
		version := rapid.SampledFrom([]string{"", "1.33.4", "fast"})
		times := rapid.SampledFrom([]*time.Time{nil, &yearOne, &january, &januaryEast})
		p := orchestration.Parameters{
			Version: version.Draw(t, "version"), Targets: everything, DryRun: rapid.Bool().Draw(t, "dry run"),
			Strategy: orchestration.StrategySpec{
				Type: rapid.SampledFrom([]orchestration.StrategyType{"", "parallel"}).Draw(t, "strategy"),
				Schedule: rapid.SampledFrom([]orchestration.ScheduleType{
					"", "now", "immediate", "maintenanceWindow", "2030-01-02T22:00:00+01:00",
				}).Draw(t, "schedule"),
				Parallel:          orchestration.ParallelStrategySpec{Workers: rapid.IntRange(0, 5).Draw(t, "workers")},
				MaintenanceWindow: rapid.Bool().Draw(t, "window"),
				ScheduleTime:      times.Draw(t, "time"),
			},
		}
		if rapid.Bool().Draw(t, "newer dialect") {
			p.Kyma = &orchestration.KymaParameters{Version: version.Draw(t, "kyma")}
			p.Kubernetes = &orchestration.KubernetesParameters{KubernetesVersion: version.Draw(t, "kubernetes"), MachineImageVersion: version.Draw(t, "image")}
		}
		options := fleet.ParameterOptions{DefaultKymaVersion: "regular"}
		normal, notBefore, err := fleet.NormalizeParameters(kind, p, options)
		if err != nil {
			require.ErrorIs(t, err, fleet.ErrInvalid)
			return
		}
		again, notBeforeAgain, err := fleet.NormalizeParameters(kind, fleet.AnswerParameters(kind, normal), options)
		require.NoError(t, err)
		require.Equal(t, normal, again)
		require.Equal(t, notBefore, notBeforeAgain)
		window := p.Strategy.MaintenanceWindow || p.Strategy.Schedule == orchestration.MaintenanceWindow
		require.Equal(t, window, normal.Strategy.Schedule == orchestration.MaintenanceWindow, "a window that was asked for is never lost")
	})
}

// Targets are repeated in every list of orchestrations: thousands that are named one by one are fine, a megabyte is not.
func TestTargetsAreBounded(t *testing.T) {
	t.Parallel()
	named := make([]orchestration.RuntimeTarget, 5000)
	for i := range named {
		named[i].InstanceID = fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
	}
	normalize := func(targets ...orchestration.RuntimeTarget) error {
		_, _, err := fleet.NormalizeParameters(orchestration.UpgradeClusterOrchestration, orchestration.Parameters{
			Targets: orchestration.TargetSpec{Include: targets},
		}, fleet.ParameterOptions{})
		return err
	}
	require.NoError(t, normalize(named...))
	err := normalize(orchestration.RuntimeTarget{Shoot: strings.Repeat("s", 600_000)})
	require.ErrorIs(t, err, fleet.ErrInvalid)
	require.ErrorContains(t, err, "targets: are 6000")
	require.ErrorContains(t, err, "bytes long, more than 524288")
	require.ErrorIs(t, normalize(slices.Concat(named, named)...), fleet.ErrInvalid)
}
