package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

func TestAFleetIsUpgraded(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 20, Version: "1.34.5"})
	s := server.StartProcess(t, settingsFor(t, f))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))

	id := s.Upgrade(t, toTarget(5, all))
	o := s.Ended(t, id, orchestration.Succeeded)
	require.Equal(t, map[string]int{orchestration.Succeeded: 20}, o.OperationStats)
	for _, name := range f.Names(t) {
		require.Equal(t, landscape.Target, f.Get(t, name).Spec.Kubernetes.Version)
	}
	for name, writes := range f.Upgrades(t) {
		require.Equal(t, 1, writes, name)
	}
	for _, rt := range s.ListRuntimes(t, runtime.ListParameters{}) {
		require.NotNil(t, rt.Status.UpgradingCluster, rt.ShootName)
		own := rt.Status.UpgradingCluster.Data[0]
		require.Equal(t, id, own.OrchestrationID)
		require.Equal(t, landscape.Target, own.RuntimeVersion)
		require.NotEmpty(t, own.FinishedStages)
		require.Equal(t, runtime.StateSucceeded, rt.Status.State)
	}
	require.Zero(t, s.Terminate(t), s.Log(t))
}

func TestAFleetIsUpgradedInProcess(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 3, Version: "1.34.5"})
	s := startLocal(t, f, nil)
	s.Ended(t, s.Upgrade(t, toTarget(3, all)), orchestration.Succeeded)
	require.Len(t, f.Upgrades(t), 3)
}
