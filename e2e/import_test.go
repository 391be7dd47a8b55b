package e2e_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/dtotest"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// everything brings all runtimes with all that is known of them.
var everything = runtime.ListParameters{States: []runtime.State{runtime.AllState}, KymaConfig: true, ClusterConfig: true}

// full is a runtime in which no field is zero, with a past that makes sense.
func full(t *testing.T) runtime.RuntimeDTO {
	t.Helper()
	doc := dtotest.Filled[runtime.RuntimeDTO](t)
	doc.Status.State = runtime.StateSucceeded
	one := func(op *runtime.Operation, kind runtime.OperationType) {
		op.Type, op.State = kind, orchestration.Succeeded
	}
	one(doc.Status.Provisioning, runtime.Provision)
	one(doc.Status.Deprovisioning, runtime.Deprovision)
	for kind, list := range map[runtime.OperationType]*runtime.OperationsData{
		runtime.UpgradeKyma: doc.Status.UpgradingKyma, runtime.UpgradeCluster: doc.Status.UpgradingCluster, runtime.Update: doc.Status.Update,
		runtime.Suspension: doc.Status.Suspension, runtime.Unsuspension: doc.Status.Unsuspension,
	} {
		for i := range list.Data {
			one(&list.Data[i], kind)
		}
		list.Count, list.TotalCount = len(list.Data), len(list.Data)
	}
	return doc
}

func TestImportedRuntimesComeBackUnchanged(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{})
	s := server.StartLocal(t, nil, settingsFor(t, f))
	doc := full(t)
	for range 2 {
		s.Import(t, page(doc))
		got := s.ListRuntimes(t, everything)
		require.Len(t, got, 1)
		require.Empty(t, cmp.Diff(doc, got[0]))
		dtotest.Golden(t, "imported_runtime.json", got[0])
	}
	again, err := s.ImportRuntimes(page(doc))
	require.NoError(t, err)
	require.Equal(t, orchestration.ImportResponse{Unchanged: 1}, again)
}

func TestTheBrokersViewOfAFleetComesBackUnchanged(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 40, Mix: "varied", Seed: 5})
	s := startLocal(t, f, nil)
	imported := map[string]runtime.RuntimeDTO{}
	for _, doc := range f.Runtimes(t).Data {
		imported[doc.InstanceID] = doc
	}
	got := s.ListRuntimes(t, everything)
	require.Len(t, got, len(imported))
	for _, rt := range got {
		want := imported[rt.InstanceID]
		rt.Status.State = want.Status.State
		require.Empty(t, cmp.Diff(want, rt))
	}
}

// Own operations stand beside those of the document, dry runs do not, and importing again keeps them.
func TestOwnOperationsAreShownAndKept(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 1, Version: "1.34.5"})
	s := startLocal(t, f, nil)
	doc := withPast(f.Runtimes(t).Data[0], past(runtime.Provision, orchestration.Succeeded, 10), past(runtime.UpgradeCluster, orchestration.Failed, 11))
	s.Import(t, page(doc))
	dry := toTarget(1, all)
	dry.DryRun = true
	s.Ended(t, s.Upgrade(t, dry), orchestration.Succeeded)
	id := s.Upgrade(t, toTarget(1, all))
	s.Ended(t, id, orchestration.Succeeded)
	for range 2 {
		got := s.ListRuntimes(t, everything)
		require.Len(t, got, 1)
		list := got[0].Status.UpgradingCluster
		require.Len(t, list.Data, 2, "the dry run is not shown")
		require.Equal(t, 2, list.Count)
		require.Equal(t, 2, list.TotalCount)
		own := list.Data[0]
		require.Equal(t, id, own.OrchestrationID)
		require.Equal(t, runtime.UpgradeCluster, own.Type)
		require.Equal(t, orchestration.Succeeded, own.State)
		require.Equal(t, landscape.Target, own.RuntimeVersion)
		require.NotEmpty(t, own.FinishedStages)
		require.Equal(t, doc.Status.UpgradingCluster.Data[0], list.Data[1])
		require.Equal(t, runtime.StateSucceeded, got[0].Status.State)
		require.NotNil(t, got[0].ClusterConfig)
		require.Equal(t, landscape.Target, got[0].ClusterConfig.KubernetesVersion)
		doc.UserID = "changed in the document"
		s.Import(t, page(doc))
	}
	require.Equal(t, "changed in the document", s.ListRuntimes(t, everything)[0].UserID)
}

// Shoots become runtimes by themselves, and the document that an import brings takes the place of what the Shoot tells.
func TestShootsBecomeRuntimes(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 4, Version: "1.34.5"})
	s := server.StartLocal(t, nil, settingsFor(t, f))
	s.Know(t, 4)
	id := s.Upgrade(t, toTarget(4, all))
	s.Ended(t, id, orchestration.Succeeded)
	s.Import(t, f.Runtimes(t))
	got := s.ListRuntimes(t, everything)
	require.Len(t, got, 4)
	known := map[string]runtime.RuntimeDTO{}
	for _, doc := range f.Runtimes(t).Data {
		known[doc.InstanceID] = doc
	}
	for _, rt := range got {
		require.Contains(t, known, rt.InstanceID)
		require.Equal(t, known[rt.InstanceID].ServicePlanName, rt.ServicePlanName)
		require.Equal(t, id, rt.Status.UpgradingCluster.Data[0].OrchestrationID, "the operation follows its runtime")
	}
}
