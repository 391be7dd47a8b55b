package inventory

import (
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// runtimeIDOf returns the runtime ID of a Shoot, or nothing.
func runtimeIDOf(shoot *gardencorev1beta1.Shoot) string {
	if id := shoot.Annotations[orchestration.RuntimeIDAnnotation]; id != "" {
		return id
	}
	return shoot.Annotations[orchestration.InfrastructureManagerRuntimeIDAnnotation]
}

// runtimeOf describes the runtime of a Shoot; false when the Shoot has no runtime ID. A Shoot does not know the instance ID: the store looks for it by the
// runtime ID.
func runtimeOf(shoot *gardencorev1beta1.Shoot) (runtime.RuntimeDTO, bool) {
	id := runtimeIDOf(shoot)
	if id == "" {
		return runtime.RuntimeDTO{}, false
	}
	doc := runtime.RuntimeDTO{
		RuntimeID:       id,
		GlobalAccountID: shoot.Labels[orchestration.GlobalAccountLabel],
		SubAccountID:    shoot.Labels[orchestration.SubAccountLabel],
		ProviderRegion:  shoot.Spec.Region,
		ShootName:       shoot.Name,
		Provider:        strings.ToLower(shoot.Spec.Provider.Type),
	}
	created := shoot.CreationTimestamp.UTC()
	doc.Status.CreatedAt, doc.Status.ModifiedAt = created, created
	// What is reconciled, moved, restored or deleted was created before.
	creation := runtime.Operation{
		Type: runtime.Provision, State: string(fleet.Succeeded), Description: "as the Shoot's last operation says",
		CreatedAt: created, UpdatedAt: created, OperationID: "shoot-" + string(shoot.UID), FinishedStages: []string{},
	}
	last := shoot.Status.LastOperation
	switch {
	case last == nil:
		creation.State = string(fleet.InProgress)
	case last.Type == gardencorev1beta1.LastOperationTypeCreate:
		creation.State = stateOf(last.State)
	}
	doc.Status.Provisioning = &creation
	if shoot.DeletionTimestamp == nil {
		return doc, true
	}
	deletion := creation
	deletion.Type, deletion.State, deletion.OperationID = runtime.Deprovision, string(fleet.InProgress), creation.OperationID+"-deletion"
	deletion.CreatedAt = shoot.DeletionTimestamp.UTC()
	deletion.UpdatedAt = deletion.CreatedAt
	if last != nil && last.Type == gardencorev1beta1.LastOperationTypeDelete {
		deletion.State = stateOf(last.State)
	}
	doc.Status.Deprovisioning = &deletion
	return doc, true
}

func stateOf(s gardencorev1beta1.LastOperationState) string {
	switch s {
	case gardencorev1beta1.LastOperationStateSucceeded:
		return string(fleet.Succeeded)
	case gardencorev1beta1.LastOperationStateFailed, gardencorev1beta1.LastOperationStateAborted:
		return string(fleet.Failed)
	case gardencorev1beta1.LastOperationStateProcessing, gardencorev1beta1.LastOperationStatePending, gardencorev1beta1.LastOperationStateError:
		return string(fleet.InProgress)
	default:
		return string(fleet.InProgress)
	}
}

// speaksFirst reports whether a is the one of two Shoots with the same runtime ID that speaks for it: one that stays before one that is being
// deleted, then the older one, then by name. The resolver makes neither a target.
func speaksFirst(a, b *gardencorev1beta1.Shoot) bool {
	switch {
	case (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil):
		return a.DeletionTimestamp == nil
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	default:
		return a.Name < b.Name
	}
}
