package inventory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/client/core/clientset/versioned/fake"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/inventory"
	"github.com/swell-fleet/swell/internal/policy"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

func fakeClient() *fake.Clientset { return fake.NewSimpleClientset() }

var everything = orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{{Target: orchestration.TargetAll}}}

// An empty cache that was never filled must not look like an empty fleet, and a store that is away not like one without runtimes.
func TestTargetsWithoutSources(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openSQLite(t, clock.Now)
	shoots, err := inventory.NewShoots(fakeClient(), testNamespace, silent, clock.Now)
	require.NoError(t, err)
	_, err = inventory.NewTargets(shoots, s, nil, nil, nil).ResolveTargets(t.Context(), everything)
	require.ErrorIs(t, err, fleet.ErrUnavailable)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	filled := newCache(t, clock.Now, newShoot(1))
	_, err = inventory.NewTargets(filled.Shoots, s, nil, nil, nil).ResolveTargets(ctx, everything)
	require.ErrorIs(t, err, context.Canceled)

	source := inventory.NewGardenerSource(filled.Shoots, s, silent)
	targets := inventory.NewTargets(filled.Shoots, s, source, nil, nil)
	_, err = targets.ResolveTargets(t.Context(), everything)
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	require.ErrorContains(t, err, "have not been taken over from the Shoots yet")
	require.NoError(t, source.Sync(t.Context()))
	found, err := targets.ResolveTargets(t.Context(), everything)
	require.NoError(t, err)
	require.Len(t, found.Runtimes, 1)

	_, err = targets.ResolveTargets(t.Context(), orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{{}}})
	var faults *orchestration.TargetsError
	require.ErrorAs(t, err, &faults)
}

func TestTargets(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openSQLite(t, clock.Now)
	window := func(begin, end string) func(*gardencorev1beta1.Shoot) {
		return func(s *gardencorev1beta1.Shoot) {
			s.Spec.Maintenance.TimeWindow = &gardencorev1beta1.MaintenanceTimeWindow{Begin: begin, End: end}
		}
	}
	shoots := newCache(t, clock.Now, newShoot(1), newShoot(2, window("013000+0545", "033000+0545")), newShoot(3, window("25:00", "")), newShoot(4, deleted),
		newShoot(5), newShoot(6, func(s *gardencorev1beta1.Shoot) { s.Spec.Maintenance = nil }))
	put(t, s, "import", newDocument(1), newDocument(2), newDocument(3), newDocument(4))
	put(t, s, fleet.SourceGardener, runtime.RuntimeDTO{RuntimeID: "rt-6", ShootName: "c-6"})
	rules, err := policy.Parse([]byte(`{"rules":[{"match":{"plan":"aws"},"days":["Sat"]}]}`))
	require.NoError(t, err)

	for name, p := range map[string]*policy.Policy{"no policy": nil, "days of a plan": rules} {
		got, err := inventory.NewTargets(shoots.Shoots, s, nil, p, nil).ResolveTargets(t.Context(), everything)
		require.NoError(t, err, name)
		want := []fleet.Target{
			{RuntimeID: "rt-1", InstanceID: "i-1", GlobalAccountID: "ga-1", SubAccountID: "sa-1", ShootName: "c-1", ServicePlanID: "plan-aws", ServicePlanName: "aws", Window: fleet.WindowRule{Begin: "220000+0000", End: "020000+0000"}},
			{RuntimeID: "rt-2", InstanceID: "i-2", GlobalAccountID: "ga-2", SubAccountID: "sa-2", ShootName: "c-2", ServicePlanID: "plan-aws", ServicePlanName: "aws", Window: fleet.WindowRule{Begin: "013000+0545", End: "033000+0545"}},
			{RuntimeID: "rt-3", InstanceID: "i-3", GlobalAccountID: "ga-0", SubAccountID: "sa-3", ShootName: "c-3", ServicePlanID: "plan-aws", ServicePlanName: "aws"},
			{RuntimeID: "rt-6", InstanceID: "rt-6", GlobalAccountID: "ga-0", SubAccountID: "sa-1", ShootName: "c-6"},
		}
		require.Len(t, got.Runtimes, len(want), name)
		for i := range want {
			want[i].KubernetesVersion = "1.33.4"
			if p != nil {
				want[i].Window.Days, want[i].Window.Rule = got.Runtimes[i].Window.Days, got.Runtimes[i].Window.Rule
				require.Equal(t, i < 2, len(got.Runtimes[i].Window.Days) == 1, "%s: %+v", name, got.Runtimes[i])
			}
		}
		require.Empty(t, cmp.Diff(want, got.Runtimes), name)
		var left []string
		for _, l := range got.LeftOut {
			left = append(left, l.ShootName+" "+l.Reason)
			require.NotEmpty(t, l.Description)
		}
		require.Equal(t, []string{"c-4 " + string(orchestration.LeftOutShootBeingDeleted), "c-5 " + string(orchestration.LeftOutUnknownToLister)}, left)
	}
}

// Windows come out of the resolver as times of day; the text that is made of them is the Shoot's own again, whatever the offset.
func TestWindowsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openSQLite(t, clock.Now)
	put(t, s, "import", newDocument(1))
	shoots := newCache(t, clock.Now, newShoot(1))
	targets := inventory.NewTargets(shoots.Shoots, s, nil, nil, nil)
	rapid.Check(t, func(rt *rapid.T) {
		offset := fmt.Sprintf("%s%02d%02d", rapid.SampledFrom([]string{"+", "-"}).Draw(rt, "sign"), rapid.IntRange(0, 14).Draw(rt, "hours"), rapid.IntRange(0, 59).Draw(rt, "minutes"))
		if offset == "-0000" {
			offset = "+0000" // the same instant, which has one way to be written
		}
		clockText := rapid.Custom(func(rt *rapid.T) string {
			return fmt.Sprintf("%02d%02d%02d", rapid.IntRange(0, 23).Draw(rt, "h"), rapid.IntRange(0, 59).Draw(rt, "m"), rapid.IntRange(0, 59).Draw(rt, "s"))
		})
		want := fleet.WindowRule{Begin: clockText.Draw(rt, "begin") + offset, End: clockText.Draw(rt, "end") + offset}
		require.NoError(rt, shoots.Informer().GetStore().Update(newShoot(1, func(s *gardencorev1beta1.Shoot) {
			s.Spec.Maintenance.TimeWindow = &gardencorev1beta1.MaintenanceTimeWindow{Begin: want.Begin, End: want.End}
		})))
		got, err := targets.ResolveTargets(t.Context(), everything)
		require.NoError(rt, err)
		require.Len(rt, got.Runtimes, 1)
		require.Equal(rt, want, got.Runtimes[0].Window)
	})
}

// A runtime that was suspended and woken up again is a target like any other; only the newest operation decides. Through the store, and as seen before
// an operation starts.
func TestCase_R1(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2024, 5, 15, hour, 0, 0, 0, time.UTC) }
	op := func(state string, hour int) runtime.Operation {
		return runtime.Operation{State: state, OperationID: fmt.Sprintf("op-%d", hour), CreatedAt: at(hour)}
	}
	data := func(state string, hour int) *runtime.OperationsData {
		return &runtime.OperationsData{Data: []runtime.Operation{op(state, hour)}, Count: 1, TotalCount: 1}
	}
	for i, test := range []struct {
		name   string
		then   func(s *runtime.RuntimeStatus)
		target bool
	}{
		{"woken up again, its suspension listed as a deprovisioning too", func(s *runtime.RuntimeStatus) {
			suspension := op("succeeded", 11)
			s.Suspension, s.Deprovisioning, s.Unsuspension = data("succeeded", 11), &suspension, data("succeeded", 12)
		}, true},
		{"waking up failed", func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Unsuspension = data("succeeded", 11), data("failed", 12)
		}, false},
		{"waking up", func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Unsuspension = data("succeeded", 11), data("in progress", 12)
		}, false},
		{"being suspended", func(s *runtime.RuntimeStatus) { s.Suspension = data("in progress", 11) }, false},
		{"cluster upgrade failed", func(s *runtime.RuntimeStatus) { s.UpgradingCluster = data("failed", 11) }, true},
		{"being provisioned", func(s *runtime.RuntimeStatus) { s.Provisioning.State = "in progress" }, false},
		{"suspended, then an update", func(s *runtime.RuntimeStatus) { s.Suspension, s.Update = data("succeeded", 11), data("succeeded", 12) }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			s := openSQLite(t, clock.Now)
			shoots := newCache(t, clock.Now, newShoot(i))
			doc := newDocument(i)
			doc.Status.Provisioning.CreatedAt = at(10)
			test.then(&doc.Status)
			put(t, s, "import", doc)
			// The Shoot is there and well, and says nothing else.
			require.NoError(t, inventory.NewGardenerSource(shoots.Shoots, s, silent).Sync(t.Context()))
			got, err := inventory.NewTargets(shoots.Shoots, s, nil, nil, nil).ResolveTargets(t.Context(), everything)
			require.NoError(t, err)
			require.Equal(t, test.target, len(got.Runtimes) == 1, "%+v", got)
			require.Equal(t, test.target, len(got.LeftOut) == 0)
		})
	}

	t.Run("removed from the store between two calls", func(t *testing.T) {
		t.Parallel()
		clock := newClock()
		s := openSQLite(t, clock.Now)
		shoots := newCache(t, clock.Now, newShoot(1))
		put(t, s, "import", newDocument(1))
		targets := inventory.NewTargets(shoots.Shoots, s, nil, nil, nil)
		got, err := targets.ResolveTargets(t.Context(), everything)
		require.NoError(t, err)
		require.Len(t, got.Runtimes, 1)
		_, err = s.SQL().ExecContext(t.Context(), "DELETE FROM runtimes")
		require.NoError(t, err)
		got, err = targets.ResolveTargets(t.Context(), everything)
		require.NoError(t, err)
		require.Empty(t, got.Runtimes)
		require.Len(t, got.LeftOut, 1)
	})
}
