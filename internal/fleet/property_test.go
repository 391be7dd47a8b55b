package fleet_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

var windowRules = []fleet.WindowRule{
	{Begin: "220000+0000", End: "020000+0000"},
	{Begin: "010000-0500", End: "040000-0500", Days: []string{"Sat", "Sun"}},
	{Begin: "120000+0530", End: "120000+0530"},
	{},
}

// Whatever happens in whatever order, the promises hold at every moment and every orchestration ends.
func TestInvariantsHoldInEveryOrder(t *testing.T) {
	t.Parallel()
	// One check is 100 sequences of some 30 moves.
	for round := range 20 {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, playWorld)
		})
	}
}

func playWorld(t *rapid.T) {
	w := newWorld()
	t.Repeat(map[string]func(*rapid.T){
		"":                w.check,
		"create":          w.drawCreate,
		"pass time":       w.drawTime,
		"advance":         w.drawAdvance,
		"claim":           w.drawClaim,
		"step":            w.drawStep,
		"take over":       w.takeOver,
		"cancel":          w.drawCancel,
		"retry":           w.drawRetry,
		"change runtimes": w.drawRuntime,
	})
	w.driveToEnd(t)
}

func (w *world) drawCreate(t *rapid.T) {
	if len(w.orchs) >= 3 {
		t.Skip("enough")
	}
	schedule := rapid.SampledFrom([]orchestration.ScheduleType{orchestration.Immediate, orchestration.MaintenanceWindow}).Draw(t, "schedule")
	w.create(rapid.IntRange(0, 3).Draw(t, "workers"), schedule, windowRules)
}

func (w *world) drawTime(t *rapid.T) {
	w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 11 * time.Hour, 50 * time.Hour}).Draw(t, "duration"))
}

func (w *world) drawOrchestration(t *rapid.T) *fleet.Orchestration {
	if len(w.orchs) == 0 {
		t.Skip("none")
	}
	return w.orchs[rapid.SampledFrom(w.orchestrationIDs()).Draw(t, "orchestration")]
}

func (w *world) drawAdvance(t *rapid.T) {
	w.advance(w.drawOrchestration(t), rapid.IntRange(1, 8).Draw(t, "limit"))
}

func (w *world) drawClaim(t *rapid.T) {
	running := w.where(func(op *fleet.Operation) bool { return op.State == fleet.InProgress })
	if len(running) == 0 {
		t.Skip("none")
	}
	w.claims = append(w.claims, w.claim(rapid.SampledFrom(running).Draw(t, "operation")))
}

// drawStep lets the holder of any claim go on, also one that was thought dead long ago.
func (w *world) drawStep(t *rapid.T) {
	if len(w.claims) == 0 {
		t.Skip("none")
	}
	i := rapid.IntRange(0, len(w.claims)-1).Draw(t, "claim")
	claimed := w.claims[i]
	w.claims = append(w.claims[:i:i], w.claims[i+1:]...)
	var failure error
	if rapid.IntRange(0, 4).Draw(t, "fault") == 0 {
		failure = errors.New("the backend does not answer")
	}
	w.step(t, claimed, fleet.Result{
		Outcome:     rapid.SampledFrom([]fleet.Outcome{fleet.Again, fleet.Again, fleet.Done, fleet.Refused, fleet.Gone}).Draw(t, "outcome"),
		NextObserve: rapid.Bool().Draw(t, "observe"),
	}, failure)
}

func (w *world) takeOver(*rapid.T) {
	for _, op := range w.where(func(op *fleet.Operation) bool { return op.State == fleet.InProgress && w.now.After(op.LeaseUntil) }) {
		w.save(fleet.TakeOver(*op, w.now, lease))
	}
}

func (w *world) drawCancel(t *rapid.T) {
	o := w.drawOrchestration(t)
	before := o.State
	_, changed := fleet.RequestCancel(o, w.now, fleet.Actor{User: "someone"})
	if changed != (before == fleet.Pending || before == fleet.InProgress) {
		t.Fatalf("cancel of an orchestration that is %s: changed is %v", before, changed)
	}
}

func (w *world) drawRetry(t *rapid.T) {
	o := w.drawOrchestration(t)
	ops := w.where(func(op *fleet.Operation) bool { return op.OrchestrationID == o.ID })
	var requested []fleet.Operation
	for _, op := range ops {
		if rapid.Bool().Draw(t, "requested") {
			requested = append(requested, *op)
		}
	}
	plan, err := fleet.PlanRetry(o, fleet.RetryRequest{Immediate: rapid.Bool().Draw(t, "immediate")}, requested, nil, w.newest(), func() string { return w.id("op") }, w.now)
	if o.State == fleet.Canceling {
		if !errors.Is(err, fleet.ErrConflict) {
			t.Fatalf("retry of a canceling orchestration: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Superseded {
		if !w.save(c) {
			t.Fatal("the repeated operation was changed meanwhile")
		}
	}
	for _, op := range plan.New {
		w.ops[op.ID] = &op
		w.order = append(w.order, op.ID)
	}
	fleet.Settle(o, w.now)
}

func (w *world) newest() map[string]fleet.Operation {
	newest := map[string]fleet.Operation{}
	for _, op := range w.where(func(op *fleet.Operation) bool { return op.State != fleet.Canceled }) {
		if other, ok := newest[op.RuntimeID]; !ok || !op.CreatedAt.Before(other.CreatedAt) {
			newest[op.RuntimeID] = *op
		}
	}
	return newest
}

func (w *world) drawRuntime(t *rapid.T) {
	r := w.runtimes[rapid.SampledFrom(w.runtimeIDs()).Draw(t, "runtime")]
	r.known = rapid.IntRange(0, 3).Draw(t, "known") > 0
	r.state = rapid.SampledFrom([]runtime.State{runtime.StateSucceeded, runtime.StateError, runtime.StateSuspended, runtime.StateDeprovisioned}).Draw(t, "state")
}

// driveToEnd lets time pass and everything succeed from now on.
func (w *world) driveToEnd(t *rapid.T) {
	for range 24 * 30 {
		open := false
		for _, id := range w.orchestrationIDs() {
			w.advance(w.orchs[id], 10)
			open = open || !w.orchs[id].State.Ended()
		}
		w.check(t)
		if !open {
			return
		}
		for _, op := range w.where(func(op *fleet.Operation) bool { return op.State == fleet.InProgress }) {
			w.step(t, w.claim(op), fleet.Result{Outcome: fleet.Done}, nil)
		}
		w.check(t)
		w.now = w.now.Add(time.Hour)
	}
	for _, o := range w.orchs {
		if !o.State.Ended() {
			t.Fatalf("%s does not end: %s, %s", o.ID, o.State, o.Description)
		}
	}
}
