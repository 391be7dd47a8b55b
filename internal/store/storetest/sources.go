package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// shootOf is what the Gardener source tells of the runtime rt-N.
func shootOf(n int) runtime.RuntimeDTO {
	doc := newRuntime(n)
	doc.InstanceID, doc.ServicePlanID, doc.ServicePlanName, doc.Provider = "", "", "", "aws"
	return doc
}

// testSourcesByRank: the source that knows more has the word, whichever comes first, and one that knows less fills what is empty.
func testSourcesByRank(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	whole := newRuntime(1)
	whole.Status.State = "" // what the document does not say is not made up by merging
	whole.ShootName, whole.Provider, whole.UserID = "", "", "someone"
	require.Equal(t, fleet.ImportResult{Imported: 1}, put(t, s, "import", whole))
	begin(t, s, "o-1", 1)
	admit(t, s, "o-1-op-000")

	shoot := shootOf(1)
	shoot.GlobalAccountID = "ga-of-the-label"
	shoot.Status = runtime.RuntimeStatus{Deprovisioning: &runtime.Operation{State: "succeeded", CreatedAt: clock.Now(), OperationID: "d"}}
	clock.Advance(time.Minute)
	require.Equal(t, fleet.ImportResult{Updated: 1}, put(t, s, fleet.SourceGardener, shoot))
	got := runtimeOf(t, s, "i-1")
	want := whole
	want.ShootName, want.Provider = "c-1", "aws"
	want.Status.State = runtime.StateUpgrading
	require.Empty(t, cmp.Diff(want, got.DTO))
	require.Equal(t, "import", got.Source)

	// From here on nothing is written, whatever state was derived meanwhile.
	for _, state := range []fleet.State{"", fleet.Failed} {
		if state != "" {
			finish(t, s, "o-1-op-000", state)
		}
		clock.Advance(time.Minute)
		require.Equal(t, fleet.ImportResult{Unchanged: 1}, put(t, s, fleet.SourceGardener, shoot))
		require.Equal(t, start.Add(time.Minute), runtimeOf(t, s, "i-1").UpdatedAt)
	}
	require.Equal(t, runtime.StateError, runtimeOf(t, s, "i-1").State)

	// Infrastructure manager knows more than Gardener and less than a broker.
	manager := shootOf(1)
	manager.InstanceID, manager.ServicePlanName, manager.SubAccountRegion = "i-1", "plan-of-the-label", "cf-eu10"
	require.Equal(t, fleet.ImportResult{Updated: 1}, put(t, s, fleet.SourceInfrastructureManager, manager))
	require.Equal(t, fleet.ImportResult{Unchanged: 1}, put(t, s, fleet.SourceInfrastructureManager, manager))
	got = runtimeOf(t, s, "i-1")
	require.Equal(t, "aws", got.DTO.ServicePlanName)
	require.Equal(t, "cf-eu10", got.DTO.SubAccountRegion)

	// A partial source changes what it told before and does not empty what others have filled.
	only := shootOf(2)
	only.Provider = ""
	require.Equal(t, fleet.ImportResult{Imported: 1}, put(t, s, fleet.SourceGardener, only))
	manager = shootOf(2)
	manager.InstanceID, manager.Provider, manager.ServicePlanName = "i-2", "", "plan-of-the-label"
	require.Equal(t, fleet.ImportResult{Imported: 1}, put(t, s, fleet.SourceInfrastructureManager, manager))
	only.Provider = "gcp"
	require.Equal(t, fleet.ImportResult{Updated: 1}, put(t, s, fleet.SourceGardener, only))
	require.Equal(t, fleet.ImportResult{Unchanged: 1}, put(t, s, fleet.SourceInfrastructureManager, manager))
	require.Equal(t, "gcp", runtimeOf(t, s, "i-2").DTO.Provider)
	manager.ServicePlanName = "other"
	require.Equal(t, fleet.ImportResult{Updated: 1}, put(t, s, fleet.SourceInfrastructureManager, manager))
	require.Equal(t, "other", runtimeOf(t, s, "i-2").DTO.ServicePlanName)

	// A broker takes the word over, keeps what it does not have, and does not give it back.
	require.Equal(t, fleet.ImportResult{Updated: 1}, put(t, s, "broker", newRuntime(2)))
	require.Equal(t, fleet.ImportResult{Unchanged: 1}, put(t, s, fleet.SourceInfrastructureManager, manager))
	require.Equal(t, fleet.ImportResult{Unchanged: 1}, put(t, s, fleet.SourceGardener, only))
	got = runtimeOf(t, s, "i-2")
	require.Equal(t, "broker", got.Source)
	require.Equal(t, "aws", got.DTO.ServicePlanName)
	require.Equal(t, "gcp", got.DTO.Provider)
}

// testInstanceIDBecomesKnown: a document with the instance ID takes the place of the record that had none, with all that belongs to it, and operations that
// were on their way find their runtime again.
func testInstanceIDBecomesKnown(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	shoots := []runtime.RuntimeDTO{shootOf(1), shootOf(2), shootOf(3)}
	shoots[0].ClusterConfig = &gqlschema.GardenerConfigInput{KubernetesVersion: "1.33.4"}
	require.Equal(t, fleet.ImportResult{Imported: 3}, put(t, s, fleet.SourceGardener, shoots...))
	var ops []fleet.Operation
	for i := range 3 {
		op := newOperation("o-1", i, i+1)
		op.InstanceID = op.RuntimeID
		ops = append(ops, op)
	}
	o := newOrchestration("o-1")
	o.State, o.ResolvedAt = fleet.InProgress, clock.Now()
	insert(t, s, o, ops...)
	admit(t, s, ops[0].ID)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		return tx.AppendEvents(ctx, []fleet.Event{{Kind: fleet.EventAdmitted, Level: fleet.LevelInfo, OperationID: ops[0].ID, RuntimeID: "rt-1", InstanceID: "rt-1", Message: "started"}})
	})
	var claimed fleet.Operation
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		held, err := tx.Claim(ctx, []fleet.Claim{{OperationID: ops[0].ID, Attempt: 1, Lease: time.Minute}})
		claimed = held[0]
		return err
	})

	require.Equal(t, fleet.ImportResult{Imported: 2}, put(t, s, "import", newRuntime(1), newRuntime(2)))
	require.ElementsMatch(t, []string{"i-1", "i-2", "rt-3"}, listed(t, s, fleet.RuntimeFilter{}, 2))
	got := runtimeOf(t, s, "i-1")
	require.Equal(t, runtime.StateUpgrading, got.State)
	require.Len(t, got.Own, 1)
	require.Equal(t, "aws", got.DTO.Provider, "what the import does not have stays")
	require.Equal(t, "1.33.4", got.DTO.ClusterConfig.KubernetesVersion)
	events, _, err := s.ListEvents(t.Context(), fleet.EventFilter{InstanceIDs: []string{"i-1"}}, page)
	require.NoError(t, err)
	require.Len(t, events, 1)
	all, err := s.AllRuntimes(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 3)

	// Who holds the operation knows the old ID only, and ends it.
	claimed.State, claimed.FinishedAt = fleet.Succeeded, clock.Now()
	fence := claimed.Fence
	claimed.Fence++
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		fenced, err := tx.SaveOperations(ctx, []fleet.OperationChange{{Operation: claimed, IfFence: fence}})
		require.Empty(t, fenced)
		return err
	})
	require.Equal(t, runtime.StateSucceeded, runtimeOf(t, s, "i-1").State)

	// An operation whose targets were resolved just before, and stored just after, is one of the runtime all the same.
	late := newOperation("o-1", 3, 2)
	late.ID, late.InstanceID = "late", "rt-2"
	update(t, s, func(ctx context.Context, tx fleet.Tx) error { return tx.InsertOperations(ctx, []fleet.Operation{late}) })
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		candidates, err := tx.Candidates(ctx, "o-1", 10)
		require.Len(t, candidates, 3)
		for _, c := range candidates {
			require.True(t, c.RuntimeKnown, c.Operation.ID)
			require.Equal(t, runtime.StateSucceeded, c.RuntimeState)
		}
		require.Equal(t, []string{"i-2", "rt-3", "i-2"}, []string{candidates[0].Operation.InstanceID, candidates[1].Operation.InstanceID, candidates[2].Operation.InstanceID})
		return err
	})
	admit(t, s, "late")
	require.Equal(t, runtime.StateUpgrading, runtimeOf(t, s, "i-2").State)

	// A document may bring its instance ID first and its runtime ID later.
	early := newRuntime(3)
	early.RuntimeID = ""
	require.Equal(t, fleet.ImportResult{Imported: 1}, put(t, s, "import", early))
	require.Equal(t, fleet.ImportResult{Updated: 1}, put(t, s, "import", newRuntime(3)))
	require.ElementsMatch(t, []string{"i-1", "i-2", "i-3"}, listed(t, s, fleet.RuntimeFilter{}, 2))
	require.Equal(t, fleet.ImportResult{Unchanged: 3}, put(t, s, fleet.SourceGardener, shoots...))
	ofThree, _, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-1"}, page)
	require.NoError(t, err)
	for _, op := range ofThree {
		require.Equal(t, "i", op.Operation.InstanceID[:1], op.Operation.ID)
	}

	// Of several instances with one runtime ID the newest that is there is the Shoot's.
	old, gone := newRuntime(4), newRuntime(4)
	old.InstanceID, gone.InstanceID = "i-4-old", "i-4-gone"
	old.Status.CreatedAt = old.Status.CreatedAt.Add(-time.Hour)
	gone.Status.CreatedAt = gone.Status.CreatedAt.Add(time.Hour)
	gone.Status.Deprovisioning = &runtime.Operation{State: "succeeded", OperationID: "d", CreatedAt: start}
	put(t, s, "import", old, gone, newRuntime(4))
	require.Equal(t, fleet.ImportResult{Updated: 1}, put(t, s, fleet.SourceGardener, shootOf(4)))
	require.Equal(t, "aws", runtimeOf(t, s, "i-4").DTO.Provider)
}

func testRuntimesOfASource(t *testing.T, open Open) {
	s := open(t, nil)
	gone := shootOf(3)
	gone.Status.Deprovisioning = &runtime.Operation{State: "succeeded", OperationID: "d", CreatedAt: start}
	put(t, s, fleet.SourceGardener, shootOf(2), shootOf(1), gone)
	put(t, s, "import", newRuntime(4))
	got, err := s.RuntimesFrom(t.Context(), fleet.SourceGardener)
	require.NoError(t, err)
	require.Equal(t, []fleet.SourcedRuntime{
		{InstanceID: "rt-1", RuntimeID: "rt-1", ShootName: "c-1"}, {InstanceID: "rt-2", RuntimeID: "rt-2", ShootName: "c-2"},
	}, got)
	got, err = s.RuntimesFrom(t.Context(), "unknown")
	require.NoError(t, err)
	require.Empty(t, got)
}

// testParallelSources: two sources that meet the same runtimes at the same time leave one record of each.
func testParallelSources(t *testing.T, open Open) {
	s := open(t, nil)
	const rounds, runtimes = 8, 5
	for round := range rounds {
		var named, unnamed []runtime.RuntimeDTO
		for i := range runtimes {
			doc, shoot := newRuntime(round*runtimes+i), shootOf(round*runtimes+i)
			named, unnamed = append(named, doc), append(unnamed, shoot)
		}
		var group sync.WaitGroup
		failures := make(chan error, 4)
		for _, put := range []struct {
			source string
			docs   []runtime.RuntimeDTO
		}{{"import", named}, {fleet.SourceGardener, unnamed}, {"import", named}, {fleet.SourceGardener, unnamed}} {
			group.Go(func() {
				if err := s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
					_, err := tx.PutRuntimes(ctx, put.source, put.docs)
					return err
				}); err != nil {
					failures <- fmt.Errorf("%s: %w", put.source, err)
				}
			})
		}
		group.Wait()
		close(failures)
		require.NoError(t, <-failures)
	}
	rows, total, err := s.ListRuntimes(t.Context(), fleet.RuntimeFilter{}, page)
	require.NoError(t, err)
	require.Equal(t, rounds*runtimes, total)
	for _, r := range rows {
		require.Equal(t, "import", r.Source)
		require.NotEqual(t, r.DTO.RuntimeID, r.DTO.InstanceID)
	}
}
