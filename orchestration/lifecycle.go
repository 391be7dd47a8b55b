package orchestration

import (
	"strings"

	"github.com/swell-fleet/swell/runtime"
)

// unreachable says why a runtime cannot be a target as far as its operations tell; the reason is empty when it can.
//
// The newest operation decides. It keeps a runtime from being a target when it is a deprovisioning or a suspension, or a provisioning
// or unsuspension that has not succeeded; an upgrade or an update does not, whatever came of it. Operations that are pending or were
// canceled have done nothing and are not looked at. An upgrade or an update after a suspension or a deprovisioning does not bring the
// cluster back, so that these are looked for behind it; only a suspension that failed has left the cluster in place.
func unreachable(known *runtime.RuntimeDTO) (LeftOutReason, string) {
	status := &known.Status
	if status.DeletedAt != nil {
		return LeftOutDeprovisioned, "the runtime was deleted"
	}
	var newest newestOperations
	newest.consider(status.Provisioning, runtime.Provision)
	if status.Deprovisioning != nil && !holds(status.Suspension, status.Deprovisioning.OperationID) {
		newest.consider(status.Deprovisioning, runtime.Deprovision)
	}
	newest.considerAll(status.Suspension, runtime.Suspension)
	newest.considerAll(status.Unsuspension, runtime.Unsuspension)
	newest.considerAll(status.UpgradingKyma, runtime.UpgradeKyma)
	newest.considerAll(status.UpgradingCluster, runtime.UpgradeCluster)
	newest.considerAll(status.Update, runtime.Update)

	lifecycle := newest.lifecycle
	switch {
	case !newest.seen:
		return unreachableState(status.State)
	case newest.any.operation == nil:
		return LeftOutNotProvisioned, "none of its operations has begun"
	case newest.any.blocks():
		return newest.any.reason(), newest.any.description()
	case lifecycle.kind == runtime.Deprovision, lifecycle.kind == runtime.Suspension && !is(lifecycle.operation.State, Failed):
		return lifecycle.reason(), lifecycle.description()
	}
	return "", ""
}

// unreachableState is the answer for a runtime without operations, of which only the state is known.
func unreachableState(state runtime.State) (LeftOutReason, string) {
	switch runtime.State(strings.ToLower(string(state))) {
	case runtime.StateSuspended:
		return LeftOutSuspended, "the runtime is suspended"
	case runtime.StateDeprovisioning, runtime.StateDeprovisioned, runtime.StateDeprovisionIncomplete:
		return LeftOutDeprovisioned, "the runtime is " + strings.ToLower(string(state))
	case runtime.StateProvisioning, runtime.StateFailed:
		return LeftOutNotProvisioned, "the state of the runtime is " + strings.ToLower(string(state))
	default:
		return "", ""
	}
}

// newestOperations collects the operations of a runtime that decide whether it is a target.
type newestOperations struct {
	// any is the newest operation that counts, lifecycle the newest one among those that make or remove the cluster.
	any, lifecycle typedOperation
	// seen tells that the runtime has operations at all, also such that do not count.
	seen bool
}

// typedOperation is an operation with the type of the list that it stands in.
type typedOperation struct {
	operation *runtime.Operation
	kind      runtime.OperationType
}

func (n *newestOperations) considerAll(operations *runtime.OperationsData, kind runtime.OperationType) {
	if operations == nil {
		return
	}
	for i := range operations.Data {
		n.consider(&operations.Data[i], kind)
	}
}

func (n *newestOperations) consider(operation *runtime.Operation, kind runtime.OperationType) {
	if operation == nil {
		return
	}
	n.seen = true
	if is(operation.State, Pending) || is(operation.State, Canceled) || is(operation.State, retrying) {
		return
	}
	candidate := typedOperation{operation: operation, kind: kind}
	if candidate.newerThan(n.any) {
		n.any = candidate
	}
	if candidate.makesOrRemoves() && candidate.newerThan(n.lifecycle) {
		n.lifecycle = candidate
	}
}

// makesOrRemoves tells whether the operation is about the existence of the cluster and not about what is in it.
func (o typedOperation) makesOrRemoves() bool {
	switch o.kind {
	case runtime.Provision, runtime.Deprovision, runtime.Suspension, runtime.Unsuspension:
		return true
	default:
		return false
	}
}

// newerThan compares the times at which two operations were created. At the same instant the one that blocks counts as the newer,
// because nothing tells which it was.
func (o typedOperation) newerThan(other typedOperation) bool {
	if other.operation == nil || o.operation.CreatedAt.After(other.operation.CreatedAt) {
		return true
	}
	return o.operation.CreatedAt.Equal(other.operation.CreatedAt) && o.blocks() && !other.blocks()
}

// blocks tells whether a runtime with this as its newest operation has no cluster that could be upgraded.
func (o typedOperation) blocks() bool {
	switch o.kind {
	case runtime.Deprovision, runtime.Suspension:
		return true
	case runtime.Provision, runtime.Unsuspension:
		return !is(o.operation.State, Succeeded)
	default:
		return false
	}
}

// reason returns the reason that a blocking operation gives.
func (o typedOperation) reason() LeftOutReason {
	switch o.kind {
	case runtime.Deprovision:
		return LeftOutDeprovisioned
	case runtime.Suspension:
		return LeftOutSuspended
	default:
		return LeftOutNotProvisioned
	}
}

func (o typedOperation) description() string {
	state := "of unknown state"
	for _, known := range []string{InProgress, Succeeded, Failed} {
		if is(o.operation.State, known) {
			state = known
		}
	}
	return "its newest operation that makes or removes the cluster is a " + string(o.kind) + " (" + state + ")"
}

// retrying is an older word for Pending.
const retrying = "retrying"

// is compares state words, whose letter case carries no meaning.
func is(state, word string) bool { return strings.EqualFold(state, word) }

// holds tells whether a list has an operation of that ID. A suspension is listed as a deprovisioning too, under one ID.
func holds(operations *runtime.OperationsData, id string) bool {
	if operations == nil || id == "" {
		return false
	}
	for i := range operations.Data {
		if operations.Data[i].OperationID == id {
			return true
		}
	}
	return false
}
