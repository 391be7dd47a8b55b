package inventory_test

import (
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/inventory"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

func TestRuntimeOfAShoot(t *testing.T) {
	t.Parallel()
	shoot := newShoot(1)
	created := shoot.CreationTimestamp.UTC()
	got, ok := inventory.RuntimeOf(shoot)
	require.True(t, ok)
	require.Empty(t, cmp.Diff(runtime.RuntimeDTO{
		RuntimeID: "rt-1", ShootName: "c-1", GlobalAccountID: "ga-1", SubAccountID: "sa-1", ProviderRegion: "eu-demo-1", Provider: "aws",
		Status: runtime.RuntimeStatus{
			CreatedAt: created, ModifiedAt: created,
			Provisioning: &runtime.Operation{
				Type: runtime.Provision, State: "succeeded", Description: "as the Shoot's last operation says", CreatedAt: created, UpdatedAt: created,
				OperationID: "shoot-uid-1", FinishedStages: []string{},
			},
		},
	}, got))
	_, ok = inventory.RuntimeOf(newShoot(1, func(s *gardencorev1beta1.Shoot) { s.Annotations = nil }))
	require.False(t, ok)
	got, ok = inventory.RuntimeOf(newShoot(1, func(s *gardencorev1beta1.Shoot) {
		s.Annotations = map[string]string{orchestration.InfrastructureManagerRuntimeIDAnnotation: "rt-im"}
	}))
	require.True(t, ok)
	require.Equal(t, "rt-im", got.RuntimeID)
}

// The Shoot's last operation tells the state of the runtime.
func TestStateOfAShoot(t *testing.T) {
	t.Parallel()
	const (
		create, reconcile, remove = gardencorev1beta1.LastOperationTypeCreate, gardencorev1beta1.LastOperationTypeReconcile, gardencorev1beta1.LastOperationTypeDelete
		succeeded, failed         = gardencorev1beta1.LastOperationStateSucceeded, gardencorev1beta1.LastOperationStateFailed
		processing                = gardencorev1beta1.LastOperationStateProcessing
	)
	for name, test := range map[string]struct {
		changes []func(*gardencorev1beta1.Shoot)
		want    runtime.State
	}{
		"reconciled":            {[]func(*gardencorev1beta1.Shoot){lastOperation(reconcile, succeeded)}, runtime.StateSucceeded},
		"reconciling":           {[]func(*gardencorev1beta1.Shoot){lastOperation(reconcile, processing)}, runtime.StateSucceeded},
		"reconciliation failed": {[]func(*gardencorev1beta1.Shoot){lastOperation(reconcile, failed)}, runtime.StateSucceeded},
		"migrating":             {[]func(*gardencorev1beta1.Shoot){lastOperation(gardencorev1beta1.LastOperationTypeMigrate, processing)}, runtime.StateSucceeded},
		"created":               {[]func(*gardencorev1beta1.Shoot){lastOperation(create, succeeded)}, runtime.StateSucceeded},
		"creating":              {[]func(*gardencorev1beta1.Shoot){lastOperation(create, processing)}, runtime.StateProvisioning},
		"creating, unknown":     {[]func(*gardencorev1beta1.Shoot){lastOperation(create, "New")}, runtime.StateProvisioning},
		"creation failed":       {[]func(*gardencorev1beta1.Shoot){lastOperation(create, failed)}, runtime.StateFailed},
		"creation aborted":      {[]func(*gardencorev1beta1.Shoot){lastOperation(create, gardencorev1beta1.LastOperationStateAborted)}, runtime.StateFailed},
		"not begun":             {[]func(*gardencorev1beta1.Shoot){func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation = nil }}, runtime.StateProvisioning},
		"to be deleted":         {[]func(*gardencorev1beta1.Shoot){deleted}, runtime.StateDeprovisioning},
		"deleting":              {[]func(*gardencorev1beta1.Shoot){deleted, lastOperation(remove, processing)}, runtime.StateDeprovisioning},
		"deletion failed":       {[]func(*gardencorev1beta1.Shoot){deleted, lastOperation(remove, failed)}, runtime.StateFailed},
		"deletion succeeded":    {[]func(*gardencorev1beta1.Shoot){deleted, lastOperation(remove, succeeded)}, runtime.StateDeprovisioned},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, ok := inventory.RuntimeOf(newShoot(1, test.changes...))
			require.True(t, ok)
			require.Equal(t, test.want, fleet.DeriveState(fleet.HistoryOf(&doc), nil))
		})
	}
}
