package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

// In a dry run Gardener's own admission judges the change, and nothing is changed.
func TestADryRunIsJudgedByGardener(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 3, Version: "1.34.5"})
	s := startLocal(t, f, nil)
	before := f.Shoots(t)
	p := toTarget(3, all)
	p.DryRun = true
	id := s.Upgrade(t, p)
	s.Ended(t, id, orchestration.Succeeded)
	for _, op := range s.Operations(t, id) {
		require.True(t, op.DryRun)
		require.Contains(t, op.Description, "dry run")
		requests := f.Audit(t).Of(op.ShootName)
		require.Len(t, requests, 1)
		require.True(t, requests[0].DryRun)
		require.Equal(t, http.StatusOK, requests[0].Code)
	}

	// No profile has this image, which only admission knows.
	p.Kubernetes = &orchestration.KubernetesParameters{MachineImageVersion: "99.99.99"}
	id = s.Upgrade(t, p)
	s.Ended(t, id, orchestration.Failed)
	for _, op := range s.Operations(t, id) {
		require.Equal(t, orchestration.Failed, op.State)
		require.Contains(t, op.Description, "99.99.99")
	}
	require.Equal(t, before, f.Shoots(t))
	require.Empty(t, f.Audit(t).Commits)
}

// Where Gardener rolls changes out in the Shoot's own window only, the operation waits for it and says so, and its time limit counts from there.
func TestConfinedRolloutsWaitForTheirWindow(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.34.5", Confined: true, Window: "110000+0000/130000+0000"})
	at := instant(t, "2026-05-15T09:00:00Z")
	f.SetClock(t, at)
	clock := server.NewClock(at)
	s := server.StartLocal(t, clock, with(settingsFor(t, f), "engine-operation-time-limit", "1h"))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	id := s.Upgrade(t, toTarget(2, all))
	for _, name := range f.Names(t) {
		await.That(t, "it waits for the window", func() error {
			if op := s.Operations(t, id)[name]; !strings.Contains(op.Description, "2026-05-15T11:00:00Z") {
				return fmt.Errorf("%s: %s", op.State, op.Description)
			}
			return nil
		})
		require.Equal(t, landscape.Target, f.Get(t, name).Spec.Kubernetes.Version)
	}
	clock.Set(instant(t, "2026-05-15T10:30:00Z"))
	f.SetClock(t, instant(t, "2026-05-15T10:30:00Z"))
	s.Swept(t)
	require.Equal(t, map[string]int{orchestration.InProgress: 2}, s.Orchestration(t, id).OperationStats)
	clock.Set(instant(t, "2026-05-15T11:00:05Z"))
	f.SetClock(t, instant(t, "2026-05-15T11:00:05Z"))
	s.Ended(t, id, orchestration.Succeeded)
	requireOneWriteForEach(t, f)
}

// A Shoot that goes away, before its turn or in the middle, ends its operation with a note and does not fail the orchestration.
func TestShootsThatGoAway(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 4, Version: "1.34.5"})
	names := f.Names(t)
	s := startLocal(t, f, nil)
	f.SetFaults(t, fmt.Sprintf("gardenlet: {shoots: {%s: stuck}}", names[0]))
	id := s.Upgrade(t, toTarget(1, all))
	await.That(t, "the first one is being changed", func() error {
		if f.Upgrades(t)[names[0]] == 0 {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	f.Remove(t, names[2])
	f.Remove(t, names[0])
	o := s.Ended(t, id, orchestration.Succeeded)
	require.Equal(t, map[string]int{orchestration.Succeeded: 2, orchestration.Canceled: 2}, o.OperationStats)
	ops := s.Operations(t, id)
	for _, name := range []string{names[0], names[2]} {
		require.Equal(t, orchestration.Canceled, ops[name].State)
		require.Contains(t, ops[name].Description, "does not exist any more")
	}
	require.Empty(t, f.Audit(t).Of(names[2]))
}

// A Shoot that had failed before is told to try again; one that fails afterwards fails its operation, with Gardener's reason.
func TestShootsThatFail(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 3, Version: "1.34.5"})
	names := f.Names(t)
	there, behind, failing := names[0], names[1], names[2]
	f.Patch(t, there, `{"spec":{"kubernetes":{"version":"`+landscape.Target+`"}}}`)
	await.That(t, "the first one is reconciled", func() error {
		if shoot := f.Shoots(t)[0]; shoot.ObservedGeneration != shoot.Generation || shoot.State != "Succeeded" {
			return fmt.Errorf("it is %s", shoot.State)
		}
		return nil
	})
	for _, name := range []string{there, behind} {
		f.ForceStatus(t, name, map[string]any{"lastOperation": map[string]any{
			"type": "Reconcile", "state": "Failed", "progress": 50, "description": "no quota", "lastUpdateTime": time.Now().UTC().Add(-time.Hour).Format(time.RFC3339),
		}})
		f.ReleaseStatus(t, name)
		require.Equal(t, "Failed", string(f.Get(t, name).Status.LastOperation.State))
	}
	f.SetFaults(t, fmt.Sprintf("gardenlet: {times: 1, codes: [ERR_INFRA_QUOTA_EXCEEDED], shoots: {%s: fail}}", failing))
	f.ForgetAudit(t)
	s := startLocal(t, f, nil)
	id := s.Upgrade(t, toTarget(3, all))
	s.Ended(t, id, orchestration.Failed)
	ops := s.Operations(t, id)
	require.Equal(t, orchestration.Succeeded, ops[there].State, ops[there].Description)
	require.Equal(t, orchestration.Succeeded, ops[behind].State, ops[behind].Description)
	require.Equal(t, orchestration.Failed, ops[failing].State)
	require.Contains(t, ops[failing].Description, "ERR_INFRA_QUOTA_EXCEEDED")
	require.Equal(t, map[string]int{behind: 1, failing: 1}, f.Upgrades(t))
	told := f.Audit(t).Of(there)
	require.Len(t, told, 1)
	require.Contains(t, string(told[0].Body), `"gardener.cloud/operation": "retry"`)

	response, err := s.RetryOrchestration(id, []string{ops[failing].OperationID}, true)
	require.NoError(t, err)
	require.Equal(t, []string{failing}, response.RetryShoots)
	s.Ended(t, id, orchestration.Succeeded)
	require.Equal(t, map[string]int{behind: 1, failing: 1}, f.Upgrades(t), "the version was there already")
}

// Versions that a Shoot cannot or should not go to are refused with the reason, before anything is written.
func TestVersionsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.33.9"})
	s := startLocal(t, f, nil)
	for version, reason := range map[string]string{
		"1.34.99": "not in the cloud profile",
		"1.34.1":  "expired",
		"1.32.13": "downgrade",
		"1.35.4":  "minor",
	} {
		p := toTarget(2, all)
		p.Version = version
		id := s.Upgrade(t, p)
		s.Ended(t, id, orchestration.Failed)
		for _, op := range s.Operations(t, id) {
			require.Equal(t, orchestration.Failed, op.State)
			require.Contains(t, op.Description, reason, version)
		}
	}
	answer := s.Send(t, http.MethodPost, "/upgrade/cluster", `{"version":"newest","targets":{"include":[{"target":"all"}]}}`)
	require.Equal(t, http.StatusBadRequest, answer.Status, answer.Body)
	require.Empty(t, f.Audit(t).Requests)
}

// Without a version each Shoot gets the newest supported patch of its own minor version.
func TestWithoutAVersionShootsGetTheNewestPatch(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.34.5"})
	older := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.33.9"})
	for fleet, want := range map[*landscape.Fleet]string{f: "1.34.7", older: "1.33.11"} {
		s := startLocal(t, fleet, nil)
		p := toTarget(2, all)
		p.Version = ""
		s.Ended(t, s.Upgrade(t, p), orchestration.Succeeded)
		for _, shoot := range fleet.Shoots(t) {
			require.Equal(t, want, shoot.Version)
		}
	}
}
