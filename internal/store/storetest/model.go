package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// model is the store in memory: what the random sequence of changes must have come to.
type model struct {
	ops      map[string]fleet.Operation
	runtimes map[string]runtime.RuntimeDTO
}

// testModel makes random changes and compares the store with the model after some of them and at the end.
func testModel(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		// Every sequence has instances, runtimes and an orchestration of its own in one store, because making a store takes longer.
		round++
		m := &model{ops: map[string]fleet.Operation{}, runtimes: map[string]runtime.RuntimeDTO{}}
		id := fmt.Sprintf("m-%d", round)
		instance := func(n int) string { return fmt.Sprintf("%s-i-%d", id, n) }
		const runtimes = 4
		insert(t, s, newOrchestration(id))
		for step := range rapid.IntRange(1, 20).Draw(rt, "steps") {
			clock.Advance(time.Duration(rapid.IntRange(0, 2).Draw(rt, "seconds")) * time.Second)
			switch rapid.SampledFrom([]string{"add", "move", "move", "move", "put", "stale"}).Draw(rt, "action") {
			case "add":
				n := rapid.IntRange(1, runtimes).Draw(rt, "runtime")
				op := newOperation(id, step, n)
				op.RuntimeID, op.InstanceID = instance(n)+"-rt", instance(n)
				op.DryRun = rapid.Bool().Draw(rt, "dry run")
				update(t, s, func(ctx context.Context, tx fleet.Tx) error { return tx.InsertOperations(ctx, []fleet.Operation{op}) })
				op.CreatedAt, op.UpdatedAt = clock.Now(), clock.Now()
				m.ops[op.ID] = op
			case "move", "stale":
				op, ok := m.pick(rt)
				if !ok {
					continue
				}
				stale := rapid.Bool().Draw(rt, "stale")
				m.move(rt, t, s, clock.Now(), op, stale)
			case "put":
				n := rapid.IntRange(1, runtimes).Draw(rt, "runtime")
				doc := newRuntime(n)
				doc.InstanceID, doc.RuntimeID = instance(n), instance(n)+"-rt"
				doc.ShootName = rapid.SampledFrom([]string{"c-a", "c-b"}).Draw(rt, "shoot")
				if rapid.Bool().Draw(rt, "suspended") {
					doc.Status.Suspension = &runtime.OperationsData{Data: []runtime.Operation{{State: "succeeded", OperationID: "s", CreatedAt: clock.Now()}}}
				}
				put(t, s, "import", doc)
				m.runtimes[doc.InstanceID] = doc
			}
			if step%6 == 5 {
				m.compare(rt, t, s, id)
			}
		}
		m.compare(rt, t, s, id)
	})
}

// pick draws one of the operations.
func (m *model) pick(rt *rapid.T) (fleet.Operation, bool) {
	if len(m.ops) == 0 {
		return fleet.Operation{}, false
	}
	all := make([]string, 0, len(m.ops))
	for id := range m.ops {
		all = append(all, id)
	}
	slices.Sort(all)
	return m.ops[rapid.SampledFrom(all).Draw(rt, "operation")], true
}

// move takes an operation a step on, and expects the store to refuse it when the fence is stale or the runtime busy.
func (m *model) move(rt *rapid.T, t *testing.T, s fleet.Store, now time.Time, op fleet.Operation, stale bool) {
	var next []fleet.State
	for _, state := range fleet.States {
		if fleet.OperationMayMove(op.State, state) {
			next = append(next, state)
		}
	}
	if len(next) == 0 {
		return
	}
	moved, fence := op, op.Fence
	moved.State = rapid.SampledFrom(next).Draw(rt, "state")
	moved.Fence++
	if moved.State == fleet.InProgress {
		for _, other := range m.ops {
			if other.RuntimeID == op.RuntimeID && other.State == fleet.InProgress {
				return
			}
		}
		moved.Attempt++
		moved.StartedAt = now
	}
	if moved.State == fleet.Pending {
		moved.StartedAt = time.Time{}
	}
	if stale {
		fence += 5
	}
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		fenced, err := tx.SaveOperations(ctx, []fleet.OperationChange{{Operation: moved, IfFence: fence}})
		require.Equal(rt, stale, len(fenced) == 1)
		return err
	})
	if !stale {
		moved.UpdatedAt = now
		m.ops[op.ID] = moved
	}
}

// compare holds every answer about the orchestration and its runtimes against the model.
func (m *model) compare(rt *rapid.T, t *testing.T, s fleet.Store, id string) {
	for _, states := range [][]fleet.State{nil, {fleet.InProgress}, {fleet.Pending, fleet.Failed}} {
		var want []fleet.Operation
		for _, op := range m.ops {
			if len(states) == 0 || slices.Contains(states, op.State) {
				want = append(want, op)
			}
		}
		slices.SortFunc(want, func(a, b fleet.Operation) int {
			if !a.CreatedAt.Equal(b.CreatedAt) {
				return b.CreatedAt.Compare(a.CreatedAt)
			}
			return a.Position - b.Position
		})
		rows, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: id, States: states}, page)
		require.NoError(rt, err)
		require.Equal(rt, len(want), total)
		for i := range want {
			require.Equal(rt, want[i], rows[i].Operation)
			busy := false
			for _, other := range m.ops {
				busy = busy || want[i].State == fleet.Pending && other.RuntimeID == want[i].RuntimeID && other.State == fleet.InProgress
			}
			require.Equal(rt, busy, rows[i].RuntimeBusy)
		}
	}
	prefix := id + "-"
	want := map[string]runtime.State{}
	var instances []string
	for instance, doc := range m.runtimes {
		var own []fleet.Mark
		for _, op := range m.ops {
			if mark, ok := op.Mark(); ok && op.InstanceID == instance {
				own = append(own, mark)
			}
		}
		want[instance] = fleet.DeriveState(fleet.HistoryOf(&doc), own)
		instances = append(instances, instance)
	}
	if len(instances) == 0 {
		return
	}
	rows, total, err := s.ListRuntimes(t.Context(), fleet.RuntimeFilter{InstanceIDs: instances, States: []runtime.State{runtime.AllState}}, page)
	require.NoError(rt, err)
	require.Equal(rt, len(instances), total)
	for _, r := range rows {
		require.True(rt, strings.HasPrefix(r.DTO.InstanceID, prefix))
		require.Equal(rt, want[r.DTO.InstanceID], r.State, r.DTO.InstanceID)
	}
	hidden := 0
	for _, state := range want {
		if fleet.HiddenRuntimeState(state) {
			hidden++
		}
	}
	_, total, err = s.ListRuntimes(t.Context(), fleet.RuntimeFilter{InstanceIDs: instances}, page)
	require.NoError(rt, err)
	require.Equal(rt, len(instances)-hidden, total)
}
