package fleet_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

const lease = 20 * time.Second

var rules = fleet.StepRules{
	TimeLimit: 3 * time.Hour, DefaultAfter: 10 * time.Second, Margin: lease, BackoffFrom: time.Second, BackoffTo: time.Minute,
	Backend: fleet.BackendGardener,
}

// world is a fleet with its orchestrations, kept in memory as the stores keep it, and a backend that remembers what it was asked.
type world struct {
	now      time.Time
	orchs    map[string]*fleet.Orchestration
	ops      map[string]*fleet.Operation
	order    []string // operations by creation
	runtimes map[string]*runtimeState
	claims   []fleet.Operation // what some process holds, or believes to hold
	// sent has the operations that asked the backend, with the number of times.
	sent map[string]int
	ids  int
}

type runtimeState struct {
	known bool
	state runtime.State
}

func newWorld() *world {
	w := &world{
		now:   time.Date(2026, 5, 15, 12, 0, 0, 0, time.UTC),
		orchs: map[string]*fleet.Orchestration{}, ops: map[string]*fleet.Operation{}, runtimes: map[string]*runtimeState{}, sent: map[string]int{},
	}
	for i := range 6 {
		w.runtimes[fmt.Sprintf("rt-%d", i)] = &runtimeState{known: true, state: runtime.StateSucceeded}
	}
	return w
}

func (w *world) id(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s-%d", prefix, w.ids)
}

// create adds an orchestration over all runtimes and resolves it.
func (w *world) create(workers int, schedule orchestration.ScheduleType, windows []fleet.WindowRule) *fleet.Orchestration {
	o := &fleet.Orchestration{
		ID: w.id("o"), Type: orchestration.UpgradeClusterOrchestration, State: fleet.Pending, CreatedAt: w.now,
		Parameters: orchestration.Parameters{Strategy: orchestration.StrategySpec{Schedule: schedule, Parallel: orchestration.ParallelStrategySpec{Workers: workers}}},
	}
	w.orchs[o.ID] = o
	var counts fleet.Counts
	for i, id := range w.runtimeIDs() {
		rule := fleet.WindowRule{}
		if len(windows) > 0 {
			rule = windows[i%len(windows)]
		}
		op, _ := fleet.NewOperation(o, w.id("op"), i, fleet.Target{RuntimeID: id, ShootName: "c-" + id, Window: rule}, w.now)
		counts.Add(op.State, 1)
		w.ops[op.ID] = &op
		w.order = append(w.order, op.ID)
	}
	fleet.Resolve(o, counts, 0, "", w.now)
	return o
}

func (w *world) runtimeIDs() []string {
	ids := make([]string, 0, len(w.runtimes))
	for id := range w.runtimes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (w *world) orchestrationIDs() []string {
	ids := make([]string, 0, len(w.orchs))
	for id := range w.orchs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// where returns the operations that hold a condition, oldest first.
func (w *world) where(holds func(op *fleet.Operation) bool) []*fleet.Operation {
	var found []*fleet.Operation
	for _, id := range w.order {
		if holds(w.ops[id]) {
			found = append(found, w.ops[id])
		}
	}
	return found
}

// save writes a change as the stores do: only when the fence still is the expected one.
func (w *world) save(c fleet.Change) bool {
	stored := w.ops[c.Operation.ID]
	if stored.Fence != c.IfFence {
		return false
	}
	if stored.State != c.Operation.State {
		if !fleet.OperationMayMove(stored.State, c.Operation.State) {
			panic(fmt.Sprintf("operation moves from %s to %s", stored.State, c.Operation.State))
		}
		if !stored.Superseded {
			w.orchs[stored.OrchestrationID].Counts.Move(stored.State, c.Operation.State)
		}
	}
	*stored = c.Operation
	return true
}

// candidates answers as the contract of the stores says.
func (w *world) candidates(o *fleet.Orchestration, limit int) []fleet.Candidate {
	busy := map[string]bool{}
	for _, op := range w.where(func(op *fleet.Operation) bool { return op.State == fleet.InProgress }) {
		busy[op.RuntimeID] = true
	}
	found := w.where(func(op *fleet.Operation) bool {
		return op.OrchestrationID == o.ID && op.State == fleet.Pending && op.WindowOpen(w.now) && !busy[op.RuntimeID]
	})
	slices.SortStableFunc(found, func(a, b *fleet.Operation) int {
		switch {
		case a.WindowEnd.IsZero() != b.WindowEnd.IsZero():
			if a.WindowEnd.IsZero() {
				return 1
			}
			return -1
		case !a.WindowEnd.Equal(b.WindowEnd):
			return a.WindowEnd.Compare(b.WindowEnd)
		}
		return cmp.Compare(a.Position, b.Position)
	})
	answer := make([]fleet.Candidate, 0, limit)
	for _, op := range found[:min(limit, len(found))] {
		r := w.runtimes[op.RuntimeID]
		answer = append(answer, fleet.Candidate{Operation: *op, RuntimeKnown: r.known, RuntimeState: r.state})
	}
	return answer
}

// advance does what the engine's job of that name does.
func (w *world) advance(o *fleet.Orchestration, limit int) {
	for _, op := range w.where(func(op *fleet.Operation) bool { return op.OrchestrationID == o.ID && op.State == fleet.Pending }) {
		if o.State == fleet.Canceling {
			w.save(fleet.CancelPending(*op, w.now))
		} else if c, ok := fleet.RollWindow(*op, w.now); ok {
			w.save(c)
		}
	}
	a := fleet.Admit(o, w.candidates(o, limit), w.now, lease)
	for _, c := range append(a.Start, a.Cancel...) {
		w.save(c)
	}
	fleet.Settle(o, w.now)
}

// claim takes an operation in progress for some process.
func (w *world) claim(op *fleet.Operation) fleet.Operation {
	op.Fence++
	op.LeaseUntil = w.now.Add(lease)
	return *op
}

// guard reads what has to hold just before a write.
func (w *world) guard(claimed fleet.Operation) error {
	stored := w.ops[claimed.ID]
	return fleet.CheckGuard(claimed, fleet.GuardView{
		Now: w.now, State: stored.State, Fence: stored.Fence, OrchestrationState: w.orchs[stored.OrchestrationID].State,
		UsesWindow: stored.UsesWindow, WindowBegin: stored.WindowBegin, WindowEnd: stored.WindowEnd,
	})
}

// step carries the claimed operation one step on and writes the result.
func (w *world) step(t *rapid.T, claimed fleet.Operation, result fleet.Result, failure error) {
	s := fleet.Step{Result: result, Err: failure}
	if failure == nil && !claimed.Following && w.sent[claimed.ID] == 0 {
		// Nothing was asked yet, so this is the start.
		s.Err = w.guard(claimed)
		if s.Err == nil {
			w.mayStart(t, claimed)
			w.sent[claimed.ID]++
			s.Result.Sent = true
		}
	}
	c, ok := fleet.ApplyStep(claimed, s, w.now, rules)
	if ok {
		w.save(c)
	}
	fleet.Settle(w.orchs[claimed.OrchestrationID], w.now)
}

// mayStart fails the test when the backend is asked at a moment at which it must not be.
func (w *world) mayStart(t *rapid.T, claimed fleet.Operation) {
	op, o := w.ops[claimed.ID], w.orchs[claimed.OrchestrationID]
	if o.State != fleet.InProgress {
		t.Fatalf("%s starts although its orchestration is %s", op.ID, o.State)
	}
	if op.UsesWindow && (w.now.Before(op.WindowBegin) || !w.now.Before(op.WindowEnd)) {
		t.Fatalf("%s starts at %s, outside of its window %s to %s", op.ID, w.now, op.WindowBegin, op.WindowEnd)
	}
}

// check fails the test when an invariant does not hold.
func (w *world) check(t *rapid.T) {
	inProgress := map[string]string{}
	for id, o := range w.orchs {
		var counts fleet.Counts
		for _, op := range w.where(func(op *fleet.Operation) bool { return op.OrchestrationID == id }) {
			if !op.Superseded {
				counts.Add(op.State, 1)
			}
			if op.State != fleet.InProgress {
				continue
			}
			if other := inProgress[op.RuntimeID]; other != "" {
				t.Fatalf("%s and %s are in progress on %s", other, op.ID, op.RuntimeID)
			}
			inProgress[op.RuntimeID] = op.ID
		}
		if counts != o.Counts {
			t.Fatalf("counts of %s are %+v, want %+v", id, o.Counts, counts)
		}
		if counts.InProgress > o.Workers() {
			t.Fatalf("%s has %d operations in progress with %d workers", id, counts.InProgress, o.Workers())
		}
		if o.State.Ended() && counts.Open() > 0 {
			t.Fatalf("%s is %s with %d open operations", id, o.State, counts.Open())
		}
	}
	for id, n := range w.sent {
		if n > 1 {
			t.Fatalf("the backend was asked %d times for %s", n, id)
		}
	}
}
