package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

func testOrchestrations(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	at := start.Add(time.Hour)
	o := fleet.Orchestration{
		ID: "o-1", Type: orchestration.UpgradeKymaOrchestration, State: fleet.Pending, Description: "waits",
		Parameters: orchestration.Parameters{
			Version: "2.4", DryRun: true,
			Targets: orchestration.TargetSpec{
				Include: []orchestration.RuntimeTarget{{GlobalAccount: "ga-.*", Region: "eu|us"}, {InstanceID: "i-1"}},
				Exclude: []orchestration.RuntimeTarget{{Shoot: "c-9"}},
			},
			Strategy: orchestration.StrategySpec{
				Type: orchestration.ParallelStrategy, Schedule: orchestration.MaintenanceWindow, MaintenanceWindow: true,
				Parallel: orchestration.ParallelStrategySpec{Workers: 7}, ScheduleTime: &at,
			},
			Kubernetes: &orchestration.KubernetesParameters{MachineImage: "gardenlinux", MachineImageVersion: "1877.2.0"},
		},
		NotBefore: at, CreatedBy: "user-1", IdempotencyKey: "key-1", BodyHash: "hash-1", LeftOut: 3, LeftOutWhy: "3 suspended",
		Fence: 5, LeaseUntil: start.Add(time.Minute),
		Counts: fleet.Counts{Pending: 1, InProgress: 2, Succeeded: 3, Failed: 4, Canceled: 5},
	}
	update(t, s, func(ctx context.Context, tx fleet.Tx) error { return tx.InsertOrchestration(ctx, &o) })
	require.Equal(t, start, o.CreatedAt, "the store sets the time of creation")
	got, err := s.Orchestration(t.Context(), "o-1")
	require.NoError(t, err)
	require.Equal(t, o, got)

	clock.Advance(time.Minute)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		locked, err := tx.LockOrchestration(ctx, "o-1")
		require.NoError(t, err)
		require.Equal(t, o, locked)
		locked.State, locked.Description = fleet.InProgress, "runs"
		locked.ResolvedAt, locked.FinishedAt, locked.NotBefore = tx.Now(), tx.Now().Add(time.Second), at.Add(time.Second)
		locked.Fence, locked.LeaseUntil = 6, at
		locked.Counts = fleet.Counts{Pending: 5, InProgress: 4, Succeeded: 3, Failed: 2, Canceled: 1}
		locked.LeftOut, locked.LeftOutWhy = 9, "9 unknown"
		o = locked
		// What was asked for stays as it was.
		locked.Type, locked.CreatedBy, locked.CreatedAt = "other", "other", at
		locked.Parameters.Version = "other"
		return tx.SaveOrchestration(ctx, &locked)
	})
	o.UpdatedAt = clock.Now()
	got, err = s.Orchestration(t.Context(), "o-1")
	require.NoError(t, err)
	require.Equal(t, o, got)

	_, err = s.Orchestration(t.Context(), "o-2")
	require.ErrorIs(t, err, fleet.ErrNotFound)
	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		_, err := tx.LockOrchestration(ctx, "o-2")
		return err
	})
	require.ErrorIs(t, err, fleet.ErrNotFound)
	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		return tx.SaveOrchestration(ctx, &fleet.Orchestration{ID: "o-2"})
	})
	require.ErrorIs(t, err, fleet.ErrNotFound)
	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		again := newOrchestration("o-1")
		return tx.InsertOrchestration(ctx, &again)
	})
	require.ErrorIs(t, err, fleet.ErrConflict)
	require.NoError(t, s.Ping(t.Context()))
}

func testOrchestrationLists(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	// Two are created at the same instant: the ID decides between them.
	for i, o := range []struct {
		id    string
		kind  orchestration.Type
		state fleet.State
	}{
		{"o-b", orchestration.UpgradeClusterOrchestration, fleet.Failed},
		{"o-a", orchestration.UpgradeKymaOrchestration, fleet.Pending},
		{"o-d", orchestration.UpgradeKymaOrchestration, fleet.Failed},
		{"o-c", orchestration.UpgradeClusterOrchestration, fleet.Succeeded},
	} {
		if i == 2 {
			clock.Advance(time.Second)
		}
		record := newOrchestration(o.id)
		record.Type, record.State = o.kind, o.state
		insert(t, s, record)
	}
	for _, test := range []struct {
		filter fleet.OrchestrationFilter
		want   []string
	}{
		{fleet.OrchestrationFilter{}, []string{"o-c", "o-d", "o-a", "o-b"}},
		{fleet.OrchestrationFilter{States: []fleet.State{fleet.Failed}}, []string{"o-d", "o-b"}},
		{fleet.OrchestrationFilter{States: []fleet.State{fleet.Failed, fleet.Pending, fleet.Failed}}, []string{"o-d", "o-a", "o-b"}},
		{fleet.OrchestrationFilter{States: []fleet.State{"retrying"}}, []string{"o-a"}},
		{fleet.OrchestrationFilter{Types: []orchestration.Type{orchestration.UpgradeKymaOrchestration}}, []string{"o-d", "o-a"}},
		{
			fleet.OrchestrationFilter{
				Types:  []orchestration.Type{orchestration.UpgradeKymaOrchestration, orchestration.UpgradeClusterOrchestration},
				States: []fleet.State{fleet.Succeeded, fleet.Pending},
			}, []string{"o-c", "o-a"},
		},
		{fleet.OrchestrationFilter{States: []fleet.State{fleet.Canceling}}, nil},
	} {
		var got []string
		for number := 1; ; number++ {
			rows, total, err := s.ListOrchestrations(t.Context(), test.filter, fleet.Page{Number: number, Size: 2})
			require.NoError(t, err)
			require.Equal(t, len(test.want), total, "the total is the same on every page")
			if len(rows) == 0 {
				break
			}
			for _, o := range rows {
				got = append(got, o.ID)
			}
		}
		require.Equal(t, test.want, got, "%+v", test.filter)
	}
}

func testIdempotencyKeys(t *testing.T, open Open) {
	s := open(t, nil)
	for i, key := range []struct{ user, key string }{{"u-1", "k"}, {"u-2", "k"}, {"u-1", ""}, {"u-1", ""}} {
		o := newOrchestration(fmt.Sprintf("o-%d", i))
		o.CreatedBy, o.IdempotencyKey, o.BodyHash = key.user, key.key, "h"
		insert(t, s, o)
	}
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		o, err := tx.OrchestrationByKey(ctx, "u-2", "k")
		require.NoError(t, err)
		require.Equal(t, "o-1", o.ID)
		for _, unknown := range [][2]string{{"u-3", "k"}, {"u-1", "K"}, {"u-1", ""}} {
			_, err = tx.OrchestrationByKey(ctx, unknown[0], unknown[1])
			require.ErrorIs(t, err, fleet.ErrNotFound)
		}
		return nil
	})
	// Two requests with one key that run into each other: the second finds the first one's record when it is run again.
	tries := 0
	var found fleet.Orchestration
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		tries++
		if tries > 1 {
			var err error
			found, err = tx.OrchestrationByKey(ctx, "u-1", "k")
			return err
		}
		o := newOrchestration("o-9")
		o.CreatedBy, o.IdempotencyKey = "u-1", "k"
		return tx.InsertOrchestration(ctx, &o)
	})
	require.Equal(t, 2, tries)
	require.Equal(t, "o-0", found.ID)
}

func testRetriesAreKept(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	o := newOrchestration("o-1")
	o.State, o.FinishedAt = fleet.Failed, start
	kept := fleet.KeptRetry{BodyHash: "h", Result: fleet.RetryResult{
		OrchestrationID: "o-1", RetryShoots: []string{"c-1"}, OldOperations: []string{"op-1"}, InvalidOperations: []string{"ü"}, Message: "m",
	}}
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		require.NoError(t, tx.InsertOrchestration(ctx, &o))
		return tx.KeepRetry(ctx, "u-1", "k", kept)
	})
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		found, err := tx.RetryByKey(ctx, "u-1", "k")
		require.NoError(t, err)
		require.Equal(t, kept, found)
		for _, unknown := range [][2]string{{"u-2", "k"}, {"u-1", "K"}, {"", ""}} {
			_, err = tx.RetryByKey(ctx, unknown[0], unknown[1])
			require.ErrorIs(t, err, fleet.ErrNotFound)
		}
		return nil
	})
	// What belongs to an orchestration goes with it.
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		n, err := tx.DeleteFinishedBefore(ctx, start.Add(240*time.Hour), 10)
		require.Equal(t, 1, n)
		return err
	})
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		_, err := tx.RetryByKey(ctx, "u-1", "k")
		require.ErrorIs(t, err, fleet.ErrNotFound)
		return nil
	})
}

func testOpenOrchestrations(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	for i, state := range []fleet.State{fleet.Succeeded, fleet.Canceling, fleet.InProgress, fleet.Failed, fleet.Pending, fleet.Canceled, fleet.Pending} {
		o := newOrchestration(fmt.Sprintf("o-%d", i))
		o.State = state
		insert(t, s, o)
		clock.Advance(-time.Second)
	}
	_, err := s.SQL().ExecContext(t.Context(), "UPDATE orchestrations SET parameters = '{' WHERE id = 'o-6'")
	require.NoError(t, err)
	rows, err := s.OpenOrchestrations(t.Context())
	require.NoError(t, err)
	var got []string
	for _, o := range rows {
		got = append(got, o.ID)
	}
	require.Equal(t, []string{"o-4", "o-2", "o-1"}, got, "oldest first, without what cannot be read")
}
