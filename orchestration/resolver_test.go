package orchestration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/sirupsen/logrus"
	logrustest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// resolve is ResolveTargets for a fleet in which the lister knows all of these runtimes as provisioned.
func resolve(t *testing.T, targets orchestration.TargetSpec, shoots []*gardencorev1beta1.Shoot, ids ...string) orchestration.Resolution {
	t.Helper()
	runtimes := []runtime.RuntimeDTO{}
	for _, id := range ids {
		runtimes = append(runtimes, provisioned(id))
	}
	resolution, err := orchestration.ResolveTargets(targets, shoots, runtimes)
	require.NoError(t, err)
	return resolution
}

func TestResolveDescribesRuntime(t *testing.T) {
	t.Parallel()
	shoot := newShoot("c-aa11", "rt-1", withWindow("220000+0530", "020000+0530"))
	resolution := resolve(t, all(), []*gardencorev1beta1.Shoot{shoot}, "rt-1")
	require.Len(t, resolution.Runtimes, 1)
	got := resolution.Runtimes[0]
	begin, err := time.Parse("150405-0700", "220000+0530")
	require.NoError(t, err)
	end, err := time.Parse("150405-0700", "020000+0530")
	require.NoError(t, err)
	require.Equal(t, orchestration.Runtime{
		InstanceID: "instance-rt-1", RuntimeID: "rt-1", GlobalAccountID: "ga-blue", SubAccountID: "sa-blue-1", ShootName: "c-aa11",
		MaintenanceWindowBegin: begin, MaintenanceWindowEnd: end,
	}, got)
	require.False(t, got.MaintenanceWindowBegin.IsZero())
	require.Zero(t, got.MaintenanceWindowBegin.Year())
}

// What the Shoot's labels do not say is taken from the lister; the patterns are for the labels all the same.
func TestResolveTakesAccountsFromListerWithoutMatchingThem(t *testing.T) {
	t.Parallel()
	shoot := newShoot("c-aa11", "rt-1")
	shoot.Labels = nil
	shoots := []*gardencorev1beta1.Shoot{shoot}
	got := resolve(t, all(), shoots, "rt-1").Runtimes[0]
	require.Equal(t, "ga-of-lister", got.GlobalAccountID)
	require.Equal(t, "sa-of-lister", got.SubAccountID)
	for _, target := range []orchestration.RuntimeTarget{{GlobalAccount: ".*"}, {SubAccount: ".*"}, {GlobalAccount: "ga-of-lister"}, {SubAccount: "^$"}} {
		resolution := resolve(t, including(target), shoots, "rt-1")
		require.Empty(t, resolution.Runtimes)
		require.Empty(t, resolution.LeftOut)
		require.Equal(t, []int{0}, resolution.Unmatched)
	}
}

// A window that is missing or cannot be read in full leaves both ends zero, and the runtime a target.
func TestResolveWithoutUsableWindow(t *testing.T) {
	t.Parallel()
	windows := map[string]shootOption{
		"no maintenance":         func(s *gardencorev1beta1.Shoot) { s.Spec.Maintenance = nil },
		"no window":              func(s *gardencorev1beta1.Shoot) { s.Spec.Maintenance.TimeWindow = nil },
		"empty":                  withWindow("", ""),
		"no end":                 withWindow("220000+0000", ""),
		"no begin":               withWindow("", "220000+0000"),
		"hour 24":                withWindow("220000+0000", "240000+0000"),
		"clock with colons":      withWindow("22:00:00Z", "02:00:00Z"),
		"no offset":              withWindow("220000", "020000"),
		"offset of a day":        withWindow("220000+2400", "020000+2400"),
		"one end with a comment": withWindow("220000+0000", "020000+0000 "),
	}
	for name, option := range windows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runtimes := resolve(t, all(), []*gardencorev1beta1.Shoot{newShoot("c-aa11", "rt-1", option)}, "rt-1").Runtimes
			require.Equal(t, []string{"rt-1"}, runtimeIDs(runtimes))
			require.True(t, runtimes[0].MaintenanceWindowBegin.IsZero())
			require.True(t, runtimes[0].MaintenanceWindowEnd.IsZero())
		})
	}
}

// Windows of every offset survive JSON: in the year 0, a positive offset at midnight would be in the year before when told in UTC.
func TestResolvedWindowsSurviveJSON(t *testing.T) {
	t.Parallel()
	for minutes := -12 * 60; minutes <= 14*60; minutes += 15 {
		sign, absolute := '+', minutes
		if minutes < 0 {
			sign, absolute = '-', -minutes
		}
		begin := fmt.Sprintf("003000%c%02d%02d", sign, absolute/60, absolute%60)
		end := fmt.Sprintf("000000%c%02d%02d", sign, absolute/60, absolute%60)
		want := resolve(t, all(), []*gardencorev1beta1.Shoot{newShoot("c-aa11", "rt-1", withWindow(begin, end))}, "rt-1").Runtimes[0]
		require.False(t, want.MaintenanceWindowBegin.IsZero())

		encoded, err := json.Marshal(want)
		require.NoError(t, err)
		require.Contains(t, string(encoded), `"0000-01-01T00:30:00`)
		var got orchestration.Runtime
		require.NoError(t, json.Unmarshal(encoded, &got))
		require.True(t, want.MaintenanceWindowBegin.Equal(got.MaintenanceWindowBegin))
		require.Equal(t, begin, got.MaintenanceWindowBegin.Format("150405-0700"))
		require.Equal(t, end, got.MaintenanceWindowEnd.Format("150405-0700"))
	}
}

func TestResolveOrder(t *testing.T) {
	t.Parallel()
	shoots := []*gardencorev1beta1.Shoot{
		newShoot("c-zz", "rt-z"), newShoot("c-canary", "rt-c"), newShoot("c-us", "rt-u", inRegion("us-demo-1")), newShoot("c-aa", "rt-a"),
		newShoot("c-a", "rt-short"), newShoot("c-same-begin-2", "rt-2"), newShoot("c-same-begin-10", "rt-10"),
	}
	targets := including(
		orchestration.RuntimeTarget{Shoot: "c-canary"}, orchestration.RuntimeTarget{Region: "^us-"}, orchestration.RuntimeTarget{Target: "all"},
		orchestration.RuntimeTarget{Shoot: "c-zz"})
	resolution := resolve(t, targets, shoots, "rt-z", "rt-c", "rt-u", "rt-a", "rt-short", "rt-2", "rt-10")
	require.Equal(t, []string{"rt-c", "rt-u", "rt-short", "rt-a", "rt-10", "rt-2", "rt-z"}, runtimeIDs(resolution.Runtimes))
	require.Empty(t, resolution.Unmatched)
}

// The infrastructure manager's annotation counts where the other is missing or empty.
func TestResolveReadsEitherAnnotation(t *testing.T) {
	t.Parallel()
	annotated := func(name string, annotations map[string]string) *gardencorev1beta1.Shoot {
		shoot := newShoot(name, "")
		shoot.Annotations = annotations
		return shoot
	}
	resolution := resolve(t, all(), []*gardencorev1beta1.Shoot{
		annotated("c-a", map[string]string{orchestration.InfrastructureManagerRuntimeIDAnnotation: "rt-1"}),
		annotated("c-b", map[string]string{orchestration.RuntimeIDAnnotation: "", orchestration.InfrastructureManagerRuntimeIDAnnotation: "rt-2"}),
		annotated("c-c", map[string]string{orchestration.RuntimeIDAnnotation: "rt-3", orchestration.InfrastructureManagerRuntimeIDAnnotation: "rt-1"}),
		annotated("c-d", nil),
	}, "rt-1", "rt-2", "rt-3")
	require.Equal(t, []string{"rt-1", "rt-2", "rt-3"}, runtimeIDs(resolution.Runtimes))
	require.Equal(t, map[string]orchestration.LeftOutReason{"c-d": orchestration.LeftOutNoRuntimeID}, reasons(resolution.LeftOut))
}

// Two Shoots with one runtime ID are both left out, and each report names the other.
func TestResolveAmbiguousRuntimeID(t *testing.T) {
	t.Parallel()
	logger, hook := logrustest.NewNullLogger()
	resolver := orchestration.NewGardenerRuntimeResolver(gardener(
		newShoot("c-aa", "rt-1"), newShoot("c-bb", "rt-1"), newShoot("c-cc", "rt-2"), newShoot("c-dd", "rt-3")),
		gardenNamespace, listing(provisioned("rt-1"), provisioned("rt-2"), provisioned("rt-3"), runtime.RuntimeDTO{RuntimeID: "rt-3", InstanceID: "other"}), logger)
	resolution, err := resolver.Preview(t.Context(), all())
	require.NoError(t, err)
	require.Equal(t, []string{"rt-2"}, runtimeIDs(resolution.Runtimes))
	require.Equal(t, []orchestration.LeftOut{
		{ShootName: "c-aa", RuntimeID: "rt-1", InstanceID: "instance-rt-1", Reason: "duplicate_runtime_id",
			Description: "another Shoot has the runtime ID too: c-bb"},
		{ShootName: "c-bb", RuntimeID: "rt-1", InstanceID: "instance-rt-1", Reason: "duplicate_runtime_id",
			Description: "another Shoot has the runtime ID too: c-aa"},
		{ShootName: "c-dd", RuntimeID: "rt-3", InstanceID: "instance-rt-3", Reason: "duplicate_runtime_id",
			Description: "more than one instance has the runtime ID"},
	}, resolution.LeftOut)

	warnings := 0
	for _, entry := range hook.AllEntries() {
		if entry.Level == logrus.WarnLevel {
			warnings++
		}
	}
	require.Equal(t, 3, warnings)
	require.Equal(t, 1, hook.LastEntry().Data["targets"])
	require.Equal(t, 3, hook.LastEntry().Data["left_out_duplicate_runtime_id"])
}

// Only what an include entry selects is reported; the plan of a runtime that nobody knows counts as the one that was asked for.
func TestResolveReportsWhatWasSelectedOnly(t *testing.T) {
	t.Parallel()
	shoots := []*gardencorev1beta1.Shoot{
		newShoot("c-known", "rt-1"), newShoot("c-unknown", "rt-9"), newShoot("c-us", "rt-8", inRegion("us-demo-1")), newShoot("c-dying", "rt-2", beingDeleted),
	}
	report := func(targets orchestration.TargetSpec) map[string]orchestration.LeftOutReason {
		return reasons(resolve(t, targets, shoots, "rt-1", "rt-2").LeftOut)
	}
	require.Equal(t, map[string]orchestration.LeftOutReason{
		"c-unknown": "unknown_to_lister", "c-dying": "shoot_being_deleted",
	}, report(including(orchestration.RuntimeTarget{Region: "^eu-", PlanName: "aws"})))
	require.Equal(t, map[string]orchestration.LeftOutReason{"c-dying": "shoot_being_deleted"},
		report(including(orchestration.RuntimeTarget{InstanceID: "instance-rt-2"})))
	require.Empty(t, report(including(orchestration.RuntimeTarget{Shoot: "c-known"})))

	excluding := all()
	excluding.Exclude = []orchestration.RuntimeTarget{{Region: "^us-"}, {PlanName: "aws"}}
	require.Equal(t, map[string]orchestration.LeftOutReason{
		"c-known": "excluded", "c-dying": "excluded", "c-us": "excluded", "c-unknown": "unknown_to_lister",
	}, report(excluding))
}

// What the operations of a runtime say about its cluster.
func TestResolveJudgesOperations(t *testing.T) {
	t.Parallel()
	op := func(state string, hour int) *runtime.Operation {
		o := operation(fmt.Sprintf("%s-%d", state, hour), state, hour)
		return &o
	}
	some := func(state string, hour int) *runtime.OperationsData { return operations(*op(state, hour)) }
	deleted := at(12)
	tests := map[string]struct {
		status runtime.RuntimeStatus
		reason orchestration.LeftOutReason
	}{
		"without any operation":      {runtime.RuntimeStatus{}, ""},
		"state alone says suspended": {runtime.RuntimeStatus{State: runtime.StateSuspended}, "suspended"},
		"state alone says removed":   {runtime.RuntimeStatus{State: runtime.StateDeprovisionIncomplete}, "deprovisioned"},
		"state alone says made":      {runtime.RuntimeStatus{State: runtime.StateProvisioning}, "not_provisioned"},
		"state alone says error":     {runtime.RuntimeStatus{State: runtime.StateError}, ""},
		"deleted":                    {runtime.RuntimeStatus{Provisioning: op("succeeded", 10), DeletedAt: &deleted}, "deprovisioned"},
		"provisioning failed":        {runtime.RuntimeStatus{Provisioning: op("failed", 10)}, "not_provisioned"},
		"provisioning pending":       {runtime.RuntimeStatus{Provisioning: op("pending", 10)}, "not_provisioned"},
		"provisioning canceled":      {runtime.RuntimeStatus{Provisioning: op("canceled", 10)}, "not_provisioned"},
		"deprovisioning failed": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Deprovisioning: op("failed", 11)}, "deprovisioned"},
		"deprovisioning pending": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Deprovisioning: op("pending", 11)}, ""},
		"suspension failed": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Suspension: some("failed", 11)}, "suspended"},
		"suspension canceled": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Suspension: some("canceled", 11)}, ""},
		"waking up has not begun": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Suspension: some("succeeded", 11), Unsuspension: some("pending", 12)}, "suspended"},
		"update after suspension": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Suspension: some("succeeded", 11), Update: some("succeeded", 12)}, "suspended"},
		"failed update after suspension": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Suspension: some("succeeded", 11), Update: some("failed", 12)}, "suspended"},
		"update after failed suspension": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Suspension: some("failed", 11), Update: some("succeeded", 12)}, ""},
		"failed suspension listed twice, then an update": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Suspension: some("failed", 11), Deprovisioning: op("failed", 11), Update: some("succeeded", 12)}, ""},
		"upgrade after deprovisioning": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Deprovisioning: op("failed", 11), UpgradingKyma: some("succeeded", 12)}, "deprovisioned"},
		"upgrade in progress": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), UpgradingKyma: some("in progress", 12)}, ""},
		"suspended twice, woken up twice, not in order": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 9),
			Suspension:   operations(*op("succeeded", 10), *op("succeeded", 12)),
			Unsuspension: operations(*op("succeeded", 11), *op("succeeded", 13))}, ""},
		"older word for pending": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Suspension: some("retrying", 11)}, ""},
		"states in other letters": {runtime.RuntimeStatus{
			Provisioning: op("Succeeded", 10), Suspension: some("Canceled", 11)}, ""},
		"suspension and waking up at one instant": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Suspension: some("succeeded", 11), Unsuspension: some("succeeded", 11)}, "suspended"},
		"lists that are empty": {runtime.RuntimeStatus{
			Provisioning: op("succeeded", 10), Suspension: operations(), Update: operations()}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := provisioned("rt-1")
			known.Status = test.status
			resolution, err := orchestration.ResolveTargets(all(), []*gardencorev1beta1.Shoot{newShoot("c-aa", "rt-1")}, []runtime.RuntimeDTO{known})
			require.NoError(t, err)
			if test.reason == "" {
				require.Len(t, resolution.Runtimes, 1)
				require.Empty(t, resolution.LeftOut)
				return
			}
			require.Empty(t, resolution.Runtimes)
			require.Equal(t, test.reason, resolution.LeftOut[0].Reason)
			require.NotEmpty(t, resolution.LeftOut[0].Description)
		})
	}
}

// A fleet that is large enough for more than one processor is resolved like a small one.
func TestResolveLargeFleet(t *testing.T) {
	t.Parallel()
	shoots, runtimes, want := []*gardencorev1beta1.Shoot{}, []runtime.RuntimeDTO{}, []string{}
	for i := range 8000 {
		id := fmt.Sprintf("rt-%05d", i)
		shoots = append(shoots, newShoot(fmt.Sprintf("c-%05d", i), id, ofAccount(fmt.Sprintf("ga-%d", i%10), id)))
		runtimes = append(runtimes, provisioned(id))
		if i%10 == 3 && i != 4003 {
			want = append(want, id)
		}
	}
	shoots = append(shoots, nil, newShoot("c-double", "rt-04003", ofAccount("ga-3", "")))
	targets := including(orchestration.RuntimeTarget{GlobalAccount: "3$"}, orchestration.RuntimeTarget{SubAccount: "^never"})
	resolution, err := orchestration.ResolveTargets(targets, shoots, runtimes)
	require.NoError(t, err)
	require.Equal(t, want, runtimeIDs(resolution.Runtimes))
	require.Equal(t, map[string]orchestration.LeftOutReason{"c-04003": "duplicate_runtime_id", "c-double": "duplicate_runtime_id"},
		reasons(resolution.LeftOut))
	require.Equal(t, []int{1}, resolution.Unmatched)
}

// Every fault is told, the value cut short.
func TestValidateTellsEveryFault(t *testing.T) {
	t.Parallel()
	targets := orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{
		{Region: "eu-(", GlobalAccount: "ga-[", Target: "some"}, {}, {Shoot: "c-aa"}, {SubAccount: "*" + string(bytes.Repeat([]byte("é"), 300))},
	}}
	err := targets.Validate()
	var faults *orchestration.TargetsError
	require.ErrorAs(t, err, &faults)
	fields := []string{}
	for _, problem := range faults.Problems {
		fields = append(fields, problem.Field)
	}
	require.Equal(t, []string{
		"targets.include[0].target", "targets.include[0].globalAccount", "targets.include[0].region", "targets.include[1]", "targets.include[3].subAccount",
	}, fields)
	require.Less(t, len(err.Error()), 1000)
	require.ErrorContains(t, err, `targets.include[0].region: "eu-(": is not a valid pattern: missing closing )`)

	many := orchestration.TargetSpec{Include: make([]orchestration.RuntimeTarget, 25)}
	require.ErrorContains(t, many.Validate(), "; and 15 more")
	require.NoError(t, including(orchestration.RuntimeTarget{Target: "all"}, orchestration.RuntimeTarget{Region: "europe|eu-"}).Validate())
}

// A short request cannot take all memory by patterns that grow when they are compiled.
func TestValidateBoundsPatterns(t *testing.T) {
	t.Parallel()
	targets := orchestration.TargetSpec{}
	for i := range 2000 {
		targets.Include = append(targets.Include, orchestration.RuntimeTarget{Region: fmt.Sprintf("(x{%d}){%d}", 20+i%5, 30+i/5%3)})
	}
	require.NoError(t, targets.Validate(), "few distinct patterns, however often they are used")
	for i := range 2000 {
		targets.Include[i].Region = fmt.Sprintf("x{999}%d", i)
	}
	require.ErrorContains(t, targets.Validate(), "too large together")

	for i := range 2000 {
		targets.Include[i] = orchestration.RuntimeTarget{GlobalAccount: fmt.Sprintf("^CA50125541TID0000000007412%05d$", i)}
	}
	require.NoError(t, targets.Validate(), "many patterns of the usual length")
}

// Lists of thousands of IDs are resolved in the order in which they name the runtimes.
func TestResolveManyIDs(t *testing.T) {
	t.Parallel()
	shoots, runtimes, want := []*gardencorev1beta1.Shoot{}, []runtime.RuntimeDTO{}, []string{}
	targets := orchestration.TargetSpec{}
	for i := range 3000 {
		id := fmt.Sprintf("rt-%05d", i)
		shoots = append(shoots, newShoot(fmt.Sprintf("c-%05d", i), id))
		runtimes = append(runtimes, provisioned(id))
		targets.Include = append(targets.Include, orchestration.RuntimeTarget{RuntimeID: fmt.Sprintf("rt-%05d", 2999-i)})
		if i%3 == 0 {
			targets.Exclude = append(targets.Exclude, orchestration.RuntimeTarget{InstanceID: fmt.Sprintf("instance-rt-%05d", 2999-i)})
		} else {
			want = append(want, fmt.Sprintf("rt-%05d", 2999-i))
		}
	}
	resolution, err := orchestration.ResolveTargets(targets, shoots, runtimes)
	require.NoError(t, err)
	require.Equal(t, want, runtimeIDs(resolution.Runtimes))
	require.Len(t, resolution.LeftOut, 1000)
	require.Empty(t, resolution.Unmatched)
}
