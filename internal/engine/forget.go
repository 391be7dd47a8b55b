package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// ForgetRuntime removes a runtime that no source knows any more. Its pending operations end in the same transaction.
func (e *Engine) ForgetRuntime(ctx context.Context, actor fleet.Actor, instanceID string) (fleet.Forgotten, error) {
	known, total, err := e.store.ListRuntimes(ctx, fleet.RuntimeFilter{
		InstanceIDs: []string{instanceID}, States: []runtime.State{runtime.AllState}, WithoutOwn: true,
	}, fleet.Page{Number: 1, Size: 1})
	if err != nil {
		return fleet.Forgotten{}, fmt.Errorf("read the runtime: %w", err)
	}
	if total == 0 {
		return e.forgottenBefore(ctx, instanceID)
	}
	runtimeID := known[0].DTO.RuntimeID
	shoot, err := e.shootOf(ctx, runtimeID)
	if err != nil {
		return fleet.Forgotten{}, fmt.Errorf("look for the Shoot of the runtime: %w", err)
	}
	forgotten := fleet.Forgotten{InstanceID: instanceID}
	err = e.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) (err error) {
		forgotten.Canceled, err = forget(ctx, tx, actor, instanceID, runtimeID, shoot)
		return err
	})
	if err != nil {
		return fleet.Forgotten{}, fmt.Errorf("forget runtime: %w", err)
	}
	return forgotten, nil
}

// shootOf returns the name of the Shoot that would bring a runtime back; empty when there is none.
func (e *Engine) shootOf(ctx context.Context, runtimeID string) (string, error) {
	if e.sightings == nil || runtimeID == "" {
		return "", nil
	}
	return e.sightings.ShootOf(ctx, runtimeID)
}

// recentEvents is how many events of an unknown instance are searched for the one that says that it was forgotten. Hardly any come after it.
const recentEvents = 20

// forgottenBefore answers a request that was made again, so that one whose answer got lost may be. Without an event the runtime was never known.
func (e *Engine) forgottenBefore(ctx context.Context, instanceID string) (fleet.Forgotten, error) {
	events, _, err := e.store.ListEvents(ctx, fleet.EventFilter{InstanceIDs: []string{instanceID}}, fleet.Page{Number: 1, Size: recentEvents})
	if err != nil {
		return fleet.Forgotten{}, fmt.Errorf("read the history of the runtime: %w", err)
	}
	if !slices.ContainsFunc(events, func(e fleet.Event) bool { return e.Kind == fleet.EventForgotten }) {
		return fleet.Forgotten{}, fleet.NotFoundf("there is no runtime of the instance %.100q", instanceID)
	}
	return fleet.Forgotten{InstanceID: instanceID}, nil
}

// forget is the transaction. It returns how many operations it canceled.
func forget(ctx context.Context, tx fleet.Tx, actor fleet.Actor, instanceID, runtimeID, shoot string) (int, error) {
	orchestrations, err := lockOpen(ctx, tx, instanceID, runtimeID)
	if err != nil {
		return 0, err
	}
	r, err := tx.LockRuntime(ctx, instanceID)
	if err != nil {
		return 0, err
	}
	if r.DTO.RuntimeID != runtimeID {
		return 0, fleet.Conflictf("the runtime has got another runtime ID at this moment; try again")
	}
	open, err := tx.OpenOperations(ctx, instanceID, runtimeID)
	if err != nil {
		return 0, err
	}
	// What has to wait ends when its turn comes, because the runtime is not known any more.
	open = slices.DeleteFunc(open, func(op fleet.Operation) bool {
		return op.State == fleet.Pending && !settled(orchestrations[op.OrchestrationID])
	})
	f, err := fleet.Forget(&r, shoot, open, tx.Now(), actor)
	if err != nil {
		return 0, err
	}
	if err := endPending(ctx, tx, orchestrations, f.Cancel); err != nil {
		return 0, err
	}
	if err := tx.DeleteRuntime(ctx, instanceID); err != nil {
		return 0, err
	}
	return len(f.Cancel), tx.AppendEvents(ctx, []fleet.Event{f.Event})
}

// settled reports whether operations of an orchestration can be ended and counted. They cannot while its targets are being resolved, nor where it
// never runs; it is nil when it was resolved after the locks were taken.
func settled(o *fleet.Orchestration) bool {
	return o != nil && !o.ResolvedAt.IsZero() && o.Unreadable == ""
}

// lockOpen locks the orchestrations of the open operations of a runtime, in the order of their IDs, before anything is written. One whose
// targets are resolved at this moment may be missing.
func lockOpen(ctx context.Context, tx fleet.Tx, instanceID, runtimeID string) (map[string]*fleet.Orchestration, error) {
	open, err := tx.OpenOperations(ctx, instanceID, runtimeID)
	if err != nil {
		return nil, err
	}
	locked := make(map[string]*fleet.Orchestration, len(open))
	for _, op := range open {
		locked[op.OrchestrationID] = nil
	}
	for _, id := range slices.Sorted(maps.Keys(locked)) {
		o, err := tx.LockOrchestration(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("lock orchestration: %w", err)
		}
		locked[id] = &o
	}
	return locked, nil
}

// endPending writes the ends of operations, and what they mean for their orchestrations.
func endPending(ctx context.Context, tx fleet.Tx, orchestrations map[string]*fleet.Orchestration, changes []fleet.Change) error {
	parts := map[string][]fleet.Change{}
	for _, c := range changes {
		parts[c.Operation.OrchestrationID] = append(parts[c.Operation.OrchestrationID], c)
	}
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		o := orchestrations[id]
		events, err := saveChanges(ctx, tx, o, parts[id])
		if err != nil {
			return err
		}
		events = append(events, fleet.Settle(o, tx.Now())...)
		if err := saveWithEvents(ctx, tx, o, events); err != nil {
			return err
		}
	}
	return nil
}
