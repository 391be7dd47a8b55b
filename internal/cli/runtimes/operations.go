package runtimes

import (
	"slices"

	"github.com/swell-fleet/swell/runtime"
)

// allOperations returns every operation of a runtime with its type, the newest first; at least an empty one.
func allOperations(rt runtime.RuntimeDTO) []runtime.Operation {
	var all []runtime.Operation
	seen := map[string]bool{}
	add := func(kind runtime.OperationType, operations ...runtime.Operation) {
		for _, op := range operations {
			// A suspension is listed as a deprovisioning too.
			if op.OperationID != "" && seen[op.OperationID] {
				continue
			}
			seen[op.OperationID] = true
			op.Type = kind
			all = append(all, op)
		}
	}
	for _, list := range []struct {
		kind runtime.OperationType
		data *runtime.OperationsData
	}{
		{runtime.UpgradeKyma, rt.Status.UpgradingKyma},
		{runtime.UpgradeCluster, rt.Status.UpgradingCluster},
		{runtime.Update, rt.Status.Update},
		{runtime.Suspension, rt.Status.Suspension},
		{runtime.Unsuspension, rt.Status.Unsuspension},
	} {
		if list.data != nil {
			add(list.kind, list.data.Data...)
		}
	}
	if op := rt.Status.Deprovisioning; op != nil {
		add(runtime.Deprovision, *op)
	}
	if op := rt.Status.Provisioning; op != nil {
		add(runtime.Provision, *op)
	}
	if len(all) == 0 {
		return []runtime.Operation{{}}
	}
	slices.SortStableFunc(all, func(a, b runtime.Operation) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all
}
