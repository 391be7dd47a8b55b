package gardenlet

import (
	"fmt"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// identity is what the simulated gardenlet signs a status with.
var identity = gardencorev1beta1.Gardener{ID: "simulator", Name: "swell-landscape-simulator", Version: "v1.150.0"}

// taskID names the part of the simulated flow that errors come from.
const taskID = "worker-pools"

var conditionTypes = []gardencorev1beta1.ConditionType{
	gardencorev1beta1.ShootAPIServerAvailable,
	gardencorev1beta1.ShootControlPlaneHealthy,
	gardencorev1beta1.ShootObservabilityComponentsHealthy,
	gardencorev1beta1.ShootEveryNodeReady,
	gardencorev1beta1.ShootSystemComponentsHealthy,
}

// InitialStatus gives a Shoot that nobody has touched for a while its status: its
// creation has succeeded, or its last reconciliation has failed.
func InitialStatus(shoot *gardencorev1beta1.Shoot, project string, plan faults.Plan, hasFailed bool, at time.Time) {
	shoot.Status.TechnicalID = "shoot--" + project + "--" + shoot.Name
	shoot.Status.UID = shoot.UID
	started(shoot, gardencorev1beta1.LastOperationTypeCreate, at)
	succeeded(shoot, at)
	if hasFailed {
		started(shoot, gardencorev1beta1.LastOperationTypeReconcile, at)
		progress(shoot, 1, 2, at)
		failed(shoot, gardencorev1beta1.LastOperationStateFailed, failureCodes(plan, shoot.Name), at)
	}
}

// started reports that an operation on the present generation begins.
func started(shoot *gardencorev1beta1.Shoot, kind gardencorev1beta1.LastOperationType, at time.Time) {
	now := metav1.NewTime(at)
	status := &shoot.Status
	status.Gardener = identity
	status.ObservedGeneration = shoot.Generation
	if status.RetryCycleStartTime == nil {
		status.RetryCycleStartTime = &now
	}
	if status.UID == "" {
		status.UID = shoot.UID
	}
	if status.TechnicalID == "" {
		status.TechnicalID = "shoot--" + shoot.Namespace + "--" + shoot.Name
	}
	status.LastErrors = nil
	status.LastOperation = &gardencorev1beta1.LastOperation{
		Type: kind, State: gardencorev1beta1.LastOperationStateProcessing, LastUpdateTime: now,
		Description: "Simulated operation has begun on generation " + fmt.Sprint(shoot.Generation) + ".",
	}
}

// progress reports that step of steps is done.
func progress(shoot *gardencorev1beta1.Shoot, step, steps int, at time.Time) {
	last := shoot.Status.LastOperation
	if last == nil {
		return
	}
	last.State = gardencorev1beta1.LastOperationStateProcessing
	last.Progress = int32(100 * step / (steps + 1))
	last.LastUpdateTime = metav1.NewTime(at)
	last.Description = describe(shoot, last.Type, step, steps)
	setCondition(shoot, gardencorev1beta1.ShootEveryNodeReady, gardencorev1beta1.ConditionProgressing, "NodesAreUpdated",
		"Nodes are being replaced one after the other.", at)
}

func describe(shoot *gardencorev1beta1.Shoot, kind gardencorev1beta1.LastOperationType, step, steps int) string {
	pools := len(shoot.Spec.Provider.Workers)
	switch {
	case kind == gardencorev1beta1.LastOperationTypeDelete:
		return fmt.Sprintf("Simulated deletion: step %d of %d.", step, steps)
	case 2*step <= steps:
		return fmt.Sprintf("Simulated reconciliation, step %d of %d: control plane goes to Kubernetes %s.",
			step, steps, shoot.Spec.Kubernetes.Version)
	case shoot.Spec.Hibernation != nil && shoot.Spec.Hibernation.Enabled != nil && *shoot.Spec.Hibernation.Enabled:
		return fmt.Sprintf("Simulated reconciliation, step %d of %d: cluster is hibernated, no nodes to replace.", step, steps)
	case pools == 1:
		return fmt.Sprintf("Simulated reconciliation, step %d of %d: 1 worker pool is rolled.", step, steps)
	default:
		return fmt.Sprintf("Simulated reconciliation, step %d of %d: %d worker pools are rolled.", step, steps, pools)
	}
}

// succeeded reports that the operation under way has ended well.
func succeeded(shoot *gardencorev1beta1.Shoot, at time.Time) {
	status := &shoot.Status
	if status.LastOperation == nil {
		return
	}
	status.IsHibernated = shoot.Spec.Hibernation != nil && shoot.Spec.Hibernation.Enabled != nil && *shoot.Spec.Hibernation.Enabled
	status.RetryCycleStartTime = nil
	status.LastErrors = nil
	status.LastOperation.State = gardencorev1beta1.LastOperationStateSucceeded
	status.LastOperation.Progress = 100
	status.LastOperation.LastUpdateTime = metav1.NewTime(at)
	status.LastOperation.Description = "Simulated operation has succeeded."
	for _, kind := range conditionTypes {
		setCondition(shoot, kind, gardencorev1beta1.ConditionTrue, "Simulated", "All is well.", at)
	}
}

// failed reports that the operation under way has met errors.
func failed(shoot *gardencorev1beta1.Shoot, state gardencorev1beta1.LastOperationState, codes []gardencorev1beta1.ErrorCode, at time.Time) {
	status := &shoot.Status
	if status.LastOperation == nil {
		return
	}
	now := metav1.NewTime(at)
	task := taskID
	message := "worker pool " + firstPool(shoot) + " could not be rolled: the simulated infrastructure says no"
	status.LastErrors = []gardencorev1beta1.LastError{{Description: message, TaskID: &task, Codes: codes, LastUpdateTime: &now}}
	status.LastOperation.State = state
	status.LastOperation.LastUpdateTime = now
	status.LastOperation.Description = "Simulated operation has met errors: " + message + "."
	setCondition(shoot, gardencorev1beta1.ShootEveryNodeReady, gardencorev1beta1.ConditionFalse, "NodesNotReady", message, at)
}

func firstPool(shoot *gardencorev1beta1.Shoot) string {
	if len(shoot.Spec.Provider.Workers) == 0 {
		return "(none)"
	}
	return shoot.Spec.Provider.Workers[0].Name
}

func setCondition(shoot *gardencorev1beta1.Shoot, kind gardencorev1beta1.ConditionType, to gardencorev1beta1.ConditionStatus, reason, message string, at time.Time) {
	now := metav1.NewTime(at)
	condition := gardencorev1beta1.Condition{
		Type: kind, Status: to, Reason: reason, Message: message, LastTransitionTime: now, LastUpdateTime: now,
	}
	for index, present := range shoot.Status.Conditions {
		if present.Type == kind {
			if present.Status == to {
				condition.LastTransitionTime = present.LastTransitionTime
			}
			shoot.Status.Conditions[index] = condition
			return
		}
	}
	shoot.Status.Conditions = append(shoot.Status.Conditions, condition)
}

// failureCodes returns the codes of an error that does not go away by itself.
func failureCodes(plan faults.Plan, shoot string) []gardencorev1beta1.ErrorCode {
	if len(plan.Gardenlet.Codes) > 0 {
		codes := make([]gardencorev1beta1.ErrorCode, 0, len(plan.Gardenlet.Codes))
		for _, code := range plan.Gardenlet.Codes {
			codes = append(codes, gardencorev1beta1.ErrorCode(code))
		}
		return codes
	}
	return drawCodes(plan.Seed, shoot, []gardencorev1beta1.ErrorCode{
		gardencorev1beta1.ErrorInfraQuotaExceeded, gardencorev1beta1.ErrorInfraUnauthorized,
		gardencorev1beta1.ErrorConfigurationProblem, gardencorev1beta1.ErrorInfraDependencies,
	})
}

// passingCodes returns the codes of an error that goes away by itself.
func passingCodes(plan faults.Plan, shoot string) []gardencorev1beta1.ErrorCode {
	return drawCodes(plan.Seed, shoot, []gardencorev1beta1.ErrorCode{
		gardencorev1beta1.ErrorInfraRateLimitsExceeded, gardencorev1beta1.ErrorInfraResourcesDepleted,
		gardencorev1beta1.ErrorRetryableInfraDependencies,
	})
}

func drawCodes(seed uint64, shoot string, from []gardencorev1beta1.ErrorCode) []gardencorev1beta1.ErrorCode {
	index := int(faults.Draw(seed, "code", shoot) * float64(len(from)))
	return []gardencorev1beta1.ErrorCode{from[index]}
}
