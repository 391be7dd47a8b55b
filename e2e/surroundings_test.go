package e2e_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

// While somebody else holds the database, as a backup may, requests that write are told to come again, and what runs waits and goes on afterwards.
func TestALockedDatabase(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 8, Version: "1.34.5", ReconcileTime: 500 * time.Millisecond})
	settings := with(settingsFor(t, f), "api-request-timeout", "2s")
	s := server.StartProcess(t, settings)
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	id := s.Upgrade(t, toTarget(2, all))
	await.That(t, "something is done", func() error {
		if s.Orchestration(t, id).OperationStats[orchestration.Succeeded] == 0 {
			return fmt.Errorf("nothing is")
		}
		return nil
	})

	db, err := sql.Open("sqlite", filepath.Join(settings["data-dir"], "swell.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	holder, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, holder.Close()) }()
	_, err = holder.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	answer := s.Send(t, http.MethodPost, "/upgrade/cluster", `{"targets":{"include":[{"target":"all"}]}}`)
	require.Equal(t, http.StatusServiceUnavailable, answer.Status, answer.Body)
	require.NotEmpty(t, answer.Header.Get("Retry-After"))
	require.Equal(t, http.StatusServiceUnavailable, s.Send(t, http.MethodGet, "/readyz", "").Status)
	require.Equal(t, id, s.Orchestration(t, id).OrchestrationID, "reading goes on")
	_, err = holder.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK")
	require.NoError(t, err)

	s.Ended(t, id, orchestration.Succeeded)
	list, err := s.ListOrchestrations(orchestration.ListParameters{})
	require.NoError(t, err)
	require.Len(t, list.Data, 1, "what was answered 503 is not there")
	requireOneWriteForEach(t, f)
	require.Zero(t, s.Terminate(t), s.Log(t))
}

// A clock that is put right while upgrades run, in either direction, neither loses nor repeats anything.
func TestTheClockMoves(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 8, Version: "1.34.5", ReconcileTime: 500 * time.Millisecond})
	at := instant(t, "2026-05-15T12:00:00Z")
	clock := server.NewClock(at)
	s := startLocal(t, f, clock)
	id := s.Upgrade(t, toTarget(2, all))
	for i, now := range []time.Time{at.Add(time.Hour), at.Add(-time.Hour), at.Add(30 * time.Minute)} {
		await.That(t, "more are done", func() error {
			if n := s.Orchestration(t, id).OperationStats[orchestration.Succeeded]; n <= i {
				return fmt.Errorf("%d are", n)
			}
			return nil
		})
		clock.Set(now)
	}
	o := s.Ended(t, id, orchestration.Succeeded)
	require.Equal(t, map[string]int{orchestration.Succeeded: 8}, o.OperationStats)
	requireOneWriteForEach(t, f)
}

// A runtime is changed by one operation at a time; that of another orchestration waits and says so.
func TestARuntimeIsChangedByOneOperationAtATime(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.34.3"})
	names := f.Names(t)
	s := startLocal(t, f, nil)
	f.SetFaults(t, fmt.Sprintf("gardenlet: {shoots: {%s: stuck}}", names[0]))
	p := toTarget(2, all)
	p.Version = "1.34.5"
	first := s.Upgrade(t, p)
	s.InState(t, first, names[1], orchestration.Succeeded)
	second := s.Upgrade(t, toTarget(2, all))
	s.InState(t, second, names[1], orchestration.Succeeded)
	waiting := s.Operations(t, second)[names[0]]
	require.Equal(t, orchestration.Pending, waiting.State)
	require.Equal(t, orchestration.WaitRuntimeBusy, waiting.WaitReason)
	f.ClearFaults(t)
	s.Ended(t, first, orchestration.Succeeded)
	s.Ended(t, second, orchestration.Succeeded)
	require.Equal(t, map[string]int{names[0]: 2, names[1]: 2}, f.Upgrades(t))
	a, b := s.Operations(t, first)[names[0]], s.Operations(t, second)[names[0]]
	require.False(t, b.StartedAt.Before(*a.FinishedAt))
}
