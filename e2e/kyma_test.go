package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// kymaTo are the parameters of an upgrade of Kyma in all runtimes.
func kymaTo(version string, dryRun bool) orchestration.Parameters {
	return orchestration.Parameters{
		Version: version, DryRun: dryRun,
		Targets:  orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{all}},
		Strategy: orchestration.StrategySpec{Parallel: orchestration.ParallelStrategySpec{Workers: 3}},
	}
}

// upgradeKyma starts an upgrade of Kyma and returns the ID of the orchestration.
func upgradeKyma(t *testing.T, s server.Clients, p orchestration.Parameters) string {
	t.Helper()
	response, err := s.UpgradeKyma(p)
	require.NoError(t, err)
	return response.OrchestrationID
}

// kymaVersions counts the runtimes by their Kyma version.
func kymaVersions(t *testing.T, s server.Clients) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, rt := range s.ListRuntimes(t, runtime.ListParameters{}) {
		counts[rt.KymaVersion]++
	}
	return counts
}

func TestKymaIsUpgradedThroughLifecycleManager(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 6, Kymas: true})
	s := server.StartLocal(t, nil, with(settingsFor(t, f),
		"executor-upgrade-kyma", "kyma", "kyma-kubeconfig", f.KymaKubeconfig, "kyma-namespace", f.Namespace, "kyma-default-version", "fast"))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	before := kymaVersions(t, s.Clients)

	s.Ended(t, upgradeKyma(t, s.Clients, kymaTo("fast", true)), orchestration.Succeeded)
	require.Equal(t, before, kymaVersions(t, s.Clients), "a dry run leaves the version of every runtime")
	for name, channel := range f.Channels(t) {
		require.Equal(t, "regular", channel, name)
	}

	// Without a version the server takes its default.
	id := upgradeKyma(t, s.Clients, kymaTo("", false))
	o := s.Ended(t, id, orchestration.Succeeded)
	require.Equal(t, "fast", o.Parameters.Version)
	channels := f.Channels(t)
	require.Len(t, channels, 6)
	for name, channel := range channels {
		require.Equal(t, "fast", channel, name)
	}
	require.Equal(t, map[string]int{"fast": 6}, kymaVersions(t, s.Clients))
	for _, rt := range s.ListRuntimes(t, runtime.ListParameters{}) {
		require.NotNil(t, rt.Status.UpgradingKyma, rt.ShootName)
		require.Len(t, rt.Status.UpgradingKyma.Data, 1, "the dry run is not shown")
		require.Equal(t, id, rt.Status.UpgradingKyma.Data[0].OrchestrationID)
	}

	// A channel that is not allowed is refused before anything is stored.
	answer := s.Send(t, http.MethodPost, "/upgrade/kyma", `{"version":"nightly","targets":{"include":[{"target":"all"}]}}`, "Content-Type", "application/json")
	require.Equal(t, http.StatusBadRequest, answer.Status, answer.Body)
	field, _ := answer.Problem(t)
	require.Equal(t, "version", field)
}

func TestKymaIsUpgradedThroughTheProvisioner(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 6})
	s := server.StartLocal(t, nil, with(settingsFor(t, f), "executor-upgrade-kyma", "provisioner", "provisioner-url", f.Provisioner, "engine-poll-interval", "200ms"))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))

	s.Ended(t, upgradeKyma(t, s.Clients, kymaTo("2.99.1", true)), orchestration.Succeeded)
	require.Empty(t, f.ProvisionerUpgrades(t), "a dry run asks for nothing")

	id := upgradeKyma(t, s.Clients, kymaTo("2.99.1", false))
	s.Ended(t, id, orchestration.Succeeded)
	upgrades := f.ProvisionerUpgrades(t)
	require.Len(t, upgrades, 6)
	for runtimeID, n := range upgrades {
		require.Equal(t, 1, n, runtimeID)
	}
	require.Equal(t, map[string]int{"2.99.1": 6}, kymaVersions(t, s.Clients))

	// What was sent is told with each operation and, where it is asked for, with each runtime.
	for _, op := range s.Operations(t, id) {
		detail, err := s.GetOperation(id, op.OperationID)
		require.NoError(t, err)
		require.Equal(t, "2.99.1", detail.KymaConfig.Version)
		require.NotEmpty(t, detail.KymaConfig.Components, "the components that the runtime had are sent again")
	}
	for _, rt := range s.ListRuntimes(t, runtime.ListParameters{KymaConfig: true}) {
		require.NotNil(t, rt.KymaConfig, rt.ShootName)
		require.Equal(t, "2.99.1", rt.KymaConfig.Version)
	}
	for _, rt := range s.ListRuntimes(t, runtime.ListParameters{}) {
		require.Nil(t, rt.KymaConfig, rt.ShootName)
	}
}

func TestClustersAreUpgradedThroughTheProvisioner(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 4, Version: "1.34.5"})
	s := server.StartLocal(t, nil, with(settingsFor(t, f), "executor-upgrade-cluster", "provisioner", "provisioner-url", f.Provisioner, "engine-poll-interval", "200ms"))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	id := s.Upgrade(t, toTarget(2, all))
	s.Ended(t, id, orchestration.Succeeded)
	require.Len(t, f.ProvisionerUpgrades(t), 4)
	for _, op := range s.Operations(t, id) {
		detail, err := s.GetOperation(id, op.OperationID)
		require.NoError(t, err)
		require.Equal(t, landscape.Target, detail.ClusterConfig.KubernetesVersion)
	}
	// The Provisioner cannot choose a version by itself.
	answer := s.Send(t, http.MethodPost, "/upgrade/cluster", `{"targets":{"include":[{"target":"all"}]}}`, "Content-Type", "application/json")
	require.Equal(t, http.StatusBadRequest, answer.Status, answer.Body)
}

func TestTroubleWithTheProvisionerStartsNothingTwice(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 8, Faults: `
provisioner:
  api:
    - {action: lose, resources: [upgradeRuntime], times: 4}
    - {action: status, code: 500, resources: [runtimeStatus, runtimeOperationStatus], times: 6}
`})
	s := server.StartLocal(t, nil, with(settingsFor(t, f), "executor-upgrade-kyma", "provisioner", "provisioner-url", f.Provisioner, "engine-poll-interval", "200ms"))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	s.Ended(t, upgradeKyma(t, s.Clients, kymaTo("2.99.1", false)), orchestration.Succeeded)
	upgrades := f.ProvisionerUpgrades(t)
	require.Len(t, upgrades, 8)
	for runtimeID, n := range upgrades {
		require.Equal(t, 1, n, runtimeID)
	}
}

// TestAnExecutorThatIsNotConfiguredIsRefusedAtOnce: nothing is stored for an upgrade that nobody could carry out.
func TestAnExecutorThatIsNotConfiguredIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 1})
	s := startLocal(t, f, nil)
	answer := s.Send(t, http.MethodPost, "/upgrade/kyma", `{"version":"fast","targets":{"include":[{"target":"all"}]}}`, "Content-Type", "application/json")
	require.Equal(t, http.StatusBadRequest, answer.Status, answer.Body)
	_, detail := answer.Problem(t)
	require.NotEmpty(t, detail)
	list, err := s.ListOrchestrations(orchestration.ListParameters{})
	require.NoError(t, err)
	require.Empty(t, list.Data)
}
