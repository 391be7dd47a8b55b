package fleet_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// drawTargets makes a fleet in which windows are shared, absent and unreadable.
func drawTargets(rt *rapid.T) []fleet.Target {
	rules := []fleet.WindowRule{
		{}, {Begin: "22:00", End: "23:00"}, {Begin: "220000+0000", End: "020000+0000"}, {Begin: "110000+0000", End: "130000+0000"},
		{Begin: "110000+0000", End: "124500+0000"}, {Begin: "130000+0100", End: "150000+0100", Days: []string{"Thu"}}, {Begin: "123000+0000", End: "133000+0000"},
		{Begin: "123000+0000", End: "131500+0000"},
	}
	targets := make([]fleet.Target, rapid.IntRange(0, 12).Draw(rt, "targets"))
	for i := range targets {
		targets[i] = fleet.Target{RuntimeID: fmt.Sprintf("rt-%d", i), ShootName: fmt.Sprintf("c-%d", i), Window: rapid.SampledFrom(rules).Draw(rt, "window")}
	}
	return targets
}

// What is foreseen is what happens: the same runtimes are skipped, and with a worker for each the others are admitted in the order foreseen, at the
// begin of the window foreseen.
func TestForeseenIsWhatIsAdmitted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		targets := drawTargets(rt)
		o := &fleet.Orchestration{ID: "o-1", Type: orchestration.UpgradeClusterOrchestration, State: fleet.Pending}
		o.Parameters.Strategy.Schedule = rapid.SampledFrom([]orchestration.ScheduleType{orchestration.Immediate, orchestration.MaintenanceWindow}).Draw(rt, "schedule")
		o.Parameters.Strategy.Parallel.Workers = max(1, len(targets))
		o.NotBefore = rapid.SampledFrom([]time.Time{{}, noon.Add(-time.Hour), noon.Add(45 * time.Minute), noon.Add(30 * time.Hour)}).Draw(rt, "not before")
		forecast := fleet.Foresee(o, fleet.Resolution{Runtimes: targets}, noon)

		begin := noon
		if o.NotBefore.After(begin) {
			begin = o.NotBefore
		}
		ops := make([]fleet.Operation, len(targets))
		moments := []time.Time{begin}
		for i := range targets {
			ops[i], _ = fleet.NewOperation(o, fmt.Sprintf("op-%d", i), i, targets[i], begin)
			if ops[i].WindowBegin.After(begin) {
				moments = append(moments, ops[i].WindowBegin)
			}
		}
		o.State, o.ResolvedAt = fleet.InProgress, begin
		slices.SortFunc(moments, time.Time.Compare)
		var admitted, foreseen []string
		for _, now := range moments {
			// The store brings the candidates in this order.
			candidates := make([]fleet.Candidate, 0, len(ops))
			for i := range ops {
				candidates = append(candidates, fleet.Candidate{Operation: ops[i], RuntimeKnown: true})
			}
			slices.SortFunc(candidates, func(a, b fleet.Candidate) int {
				return cmp.Or(a.Operation.WindowEnd.Compare(b.Operation.WindowEnd), cmp.Compare(a.Operation.Position, b.Operation.Position))
			})
			for _, c := range fleet.Admit(o, candidates, now, lease).Start {
				ops[c.Operation.Position] = c.Operation
				admitted = append(admitted, c.Operation.ShootName)
			}
		}
		skipped := 0
		for _, r := range forecast.Runtimes {
			op := ops[slices.IndexFunc(ops, func(op fleet.Operation) bool { return op.RuntimeID == r.Target.RuntimeID })]
			require.Equal(rt, op.State == fleet.Canceled, r.Skipped != "", r.Target.ShootName)
			require.Equal(rt, op.WindowBegin, r.Window.Begin)
			require.Equal(rt, op.WindowEnd, r.Window.End)
			if r.Skipped != "" {
				skipped++
				continue
			}
			require.Zero(rt, skipped, "those that are skipped come last")
			foreseen = append(foreseen, r.Target.ShootName)
		}
		require.Equal(rt, admitted, foreseen)
		require.Len(rt, forecast.Runtimes, len(targets))
		require.Equal(rt, skipped, forecast.Skipped)
	})
}

func TestForecastSumsUp(t *testing.T) {
	t.Parallel()
	o := &fleet.Orchestration{Type: orchestration.UpgradeClusterOrchestration, State: fleet.Pending}
	o.Parameters.Strategy.Schedule = orchestration.MaintenanceWindow
	night, midday := fleet.WindowRule{Begin: "220000+0000", End: "020000+0000"}, fleet.WindowRule{Begin: "110000+0000", End: "130000+0000"}
	found := fleet.Resolution{
		Runtimes: []fleet.Target{{ShootName: "c-none"}, {ShootName: "c-night", Window: night}, {ShootName: "c-open", Window: midday}},
		LeftOut:  []fleet.LeftOut{{ShootName: "c-7", Reason: "suspended"}, {ShootName: "c-8", Reason: "suspended"}, {ShootName: "c-9", Reason: "excluded"}}, Unmatched: []int{2},
	}
	f := fleet.Foresee(o, found, noon)
	names := make([]string, 0, len(f.Runtimes))
	for _, r := range f.Runtimes {
		names = append(names, r.Target.ShootName)
	}
	require.Equal(t, []string{"c-open", "c-night", "c-none"}, names)
	require.Equal(t, map[string]int{"suspended": 2, "excluded": 1}, f.Reasons)
	require.Equal(t, 1, f.Skipped)
	require.Equal(t, []int{2}, f.Unmatched)
	require.Equal(t, noon.Add(-time.Hour), f.FirstWindow)
	require.Equal(t, noon.Add(10*time.Hour), f.LastWindow)
	require.Contains(t, f.Runtimes[2].Skipped, "no maintenance window")

	again := fleet.Foresee(o, found, noon.Add(time.Minute))
	require.Equal(t, f.Revision, again.Revision, "time alone changes nothing while no window ends")
	for name, changed := range map[string]fleet.Forecast{
		"a window ended":          fleet.Foresee(o, found, noon.Add(time.Hour)),
		"another order":           fleet.Foresee(o, fleet.Resolution{Runtimes: []fleet.Target{found.Runtimes[1], found.Runtimes[0], found.Runtimes[2]}, LeftOut: found.LeftOut[:2]}, noon),
		"a runtime less":          fleet.Foresee(o, fleet.Resolution{Runtimes: found.Runtimes[1:], LeftOut: found.LeftOut}, noon),
		"another reason":          fleet.Foresee(o, fleet.Resolution{Runtimes: found.Runtimes, LeftOut: []fleet.LeftOut{{ShootName: "c-7", Reason: "excluded"}, found.LeftOut[1], found.LeftOut[2]}}, noon),
		"no schedule for windows": fleet.Foresee(&fleet.Orchestration{Type: o.Type, State: fleet.Pending}, found, noon),
	} {
		require.NotEqual(t, f.Revision, changed.Revision, name)
	}

	whole := f
	runtimes, leftOut := f.Cut(fleet.Page{Number: 2, Size: 2})
	require.Equal(t, []int{3, 3}, []int{runtimes, leftOut})
	require.Equal(t, whole.Runtimes[2:], f.Runtimes)
	require.Equal(t, whole.LeftOut[2:], f.LeftOut)
	whole.Cut(fleet.Page{Number: 1 << 30, Size: 1000})
	require.Empty(t, whole.Runtimes)
}
