package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// A preview and the orchestration that follows it come to the same, on a fleet in which everything is: the same runtimes in the same order, the same
// windows, the same that are skipped and left out.
func TestAPreviewIsWhatHappens(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 60, Mix: "varied"})
	clock := server.NewClock(time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC))
	// Some plans have no window for years, so that their runtimes are skipped.
	file := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`rules: [{match: {plan: "^(trial|azure)$"}, notOn: 2029-01-01..2039-12-31}]`), 0o600))
	s := server.StartLocal(t, clock, with(settingsFor(t, f), "maintenance-policy", file))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	names := f.Names(t)
	docs := f.Runtimes(t).Data
	suspended := withPast(docs[3], past(runtime.Provision, orchestration.Succeeded, 10), past(runtime.Suspension, orchestration.Succeeded, 11))
	s.Import(t, page(suspended))
	versions := map[string]string{}
	for _, shoot := range f.Shoots(t) {
		versions[shoot.Name] = shoot.Version
	}
	for name, targets := range map[string]orchestration.TargetSpec{
		"all": {Include: []orchestration.RuntimeTarget{all}},
		"canaries first": {
			Include: []orchestration.RuntimeTarget{shoot(names[40]), shoot(names[7]), {Region: "eu"}, shoot("c-none"), all},
			Exclude: []orchestration.RuntimeTarget{shoot(names[9]), {SubAccount: "1$"}},
		},
		"some": {Include: []orchestration.RuntimeTarget{{GlobalAccount: "[02468ace]$"}}},
		"none": {Include: []orchestration.RuntimeTarget{shoot("c-none")}},
	} {
		for _, windows := range []bool{false, true} {
			p := orchestration.Parameters{Targets: targets, DryRun: true, Strategy: orchestration.StrategySpec{MaintenanceWindow: windows}}
			t.Run(fmt.Sprintf("%s, windows %t", name, windows), func(t *testing.T) {
				t.Parallel()
				preview, err := s.PreviewCluster(p, orchestration.ListParameters{PageSize: 7})
				require.NoError(t, err)
				require.Equal(t, "gardener", preview.Executor)
				id := s.Upgrade(t, p)
				await.That(t, "the targets are resolved", func() error {
					if o := s.Orchestration(t, id); o.State == orchestration.Pending {
						return fmt.Errorf("it is %s: %s", o.State, o.Description)
					}
					return nil
				})
				require.NoError(t, s.CancelOrchestration(id))
				requireForeseen(t, s, id, preview)
				for _, r := range preview.Runtimes.Data {
					require.Equal(t, versions[r.ShootName], r.KubernetesVersion)
				}
				t.Logf("%d runtimes, %d skipped, left out: %v", preview.Runtimes.TotalCount, preview.Skipped, preview.LeftOutReasons)
				require.Equal(t, windows && name != "none", preview.Skipped > 0)
				switch name {
				case "none":
					require.Zero(t, preview.Runtimes.TotalCount)
					require.Equal(t, []int{0}, preview.Unmatched)
				case "canaries first":
					require.Equal(t, []int{3}, preview.Unmatched)
				}
				require.Empty(t, f.Upgrades(t))
			})
		}
	}
}

// requireForeseen holds an orchestration whose targets are resolved against the preview of it.
func requireForeseen(t *testing.T, s *server.Local, id string, preview orchestration.Preview) {
	t.Helper()
	list, err := s.ListOperations(id, orchestration.ListParameters{})
	require.NoError(t, err)
	// Operations are stored in the order of the resolver; those of a window run start when their windows open, then by the end of the window.
	ops := list.Data
	opens := func(op *orchestration.OperationResponse) time.Time {
		if op.MaintenanceWindowBegin.Before(preview.At) {
			return preview.At
		}
		return op.MaintenanceWindowBegin
	}
	skipped := func(op *orchestration.OperationResponse) int {
		if preview.Parameters.Strategy.MaintenanceWindow && op.MaintenanceWindowBegin.Year() <= 1 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(ops, func(a, b orchestration.OperationResponse) int {
		if by := skipped(&a) - skipped(&b); by != 0 {
			return by
		}
		if by := opens(&a).Compare(opens(&b)); by != 0 {
			return by
		}
		return a.MaintenanceWindowEnd.Compare(b.MaintenanceWindowEnd)
	})
	require.Len(t, ops, preview.Runtimes.TotalCount)
	for i := range ops {
		op, r := &ops[i], &preview.Runtimes.Data[i]
		require.Equal(t, []string{op.ShootName, op.RuntimeID, op.InstanceID, op.GlobalAccountID, op.SubAccountID, op.ServicePlanName},
			[]string{r.ShootName, r.RuntimeID, r.InstanceID, r.GlobalAccountID, r.SubAccountID, r.ServicePlanName})
		require.Equal(t, skipped(op) == 1, r.Skipped != "")
		if r.MaintenanceWindowBegin != nil {
			require.Equal(t, op.MaintenanceWindowBegin.UTC(), r.MaintenanceWindowBegin.UTC())
			require.Equal(t, op.MaintenanceWindowEnd.UTC(), r.MaintenanceWindowEnd.UTC())
			continue
		}
		require.LessOrEqual(t, op.MaintenanceWindowBegin.Year(), 1)
	}
	leftOut, err := s.ListLeftOut(id, orchestration.ListParameters{})
	require.NoError(t, err)
	require.Equal(t, leftOut.Data, preview.LeftOut.Data)
	reasons := map[orchestration.LeftOutReason]int{}
	for _, row := range leftOut.Data {
		reasons[row.Reason]++
	}
	require.Equal(t, reasons, preview.LeftOutReasons)
}

// A server that cannot upgrade Kyma says so in the preview, with the words of the upgrade.
func TestAPreviewWithoutAnExecutorIsRefused(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 1, Version: "1.34.5"})
	s := startLocal(t, f, nil)
	const body = `{"version":"fast","targets":{"include":[{"target":"all"}]}}`
	upgrade, preview := s.Send(t, http.MethodPost, "/upgrade/kyma", body), s.Send(t, http.MethodPost, "/upgrade/kyma/preview", body)
	require.Equal(t, http.StatusBadRequest, preview.Status)
	require.Equal(t, upgrade.Status, preview.Status)
	field, detail := preview.Problem(t)
	require.Equal(t, "type", field)
	_, want := upgrade.Problem(t)
	require.Equal(t, want, detail)
}
