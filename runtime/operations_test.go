package runtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func at(hour int) time.Time {
	return time.Date(2024, time.May, 15, hour, 0, 0, 0, time.UTC)
}

func op(id, state string, hour int) Operation {
	return Operation{OperationID: id, State: state, CreatedAt: at(hour), UpdatedAt: at(hour)}
}

func pointer(op Operation) *Operation { return &op }

func data(ops ...Operation) *OperationsData {
	return &OperationsData{Data: ops, Count: len(ops), TotalCount: len(ops)}
}

func TestLastOperationIsTheNewestOfAnyKind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status RuntimeStatus
		id     string
		kind   OperationType
	}{
		"none":            {RuntimeStatus{}, "", ""},
		"empty lists":     {RuntimeStatus{Update: data(), Suspension: &OperationsData{}}, "", ""},
		"provisioning":    {RuntimeStatus{Provisioning: pointer(op("p", "succeeded", 10))}, "p", Provision},
		"deprovisioning":  {RuntimeStatus{Provisioning: pointer(op("p", "succeeded", 10)), Deprovisioning: pointer(op("d", "failed", 11))}, "d", Deprovision},
		"Kyma upgrade":    {RuntimeStatus{UpgradingKyma: data(op("k", "failed", 10))}, "k", UpgradeKyma},
		"cluster upgrade": {RuntimeStatus{UpgradingCluster: data(op("c", "in progress", 10))}, "c", UpgradeCluster},
		"update":          {RuntimeStatus{Update: data(op("u", "pending", 10))}, "u", Update},
		"suspension":      {RuntimeStatus{Suspension: data(op("s", "canceled", 10))}, "s", Suspension},
		"unsuspension":    {RuntimeStatus{Unsuspension: data(op("w", "succeeded", 10))}, "w", Unsuspension},
		"the newest is not the first of its list": {
			RuntimeStatus{Update: data(op("u1", "succeeded", 10), op("u3", "failed", 12), op("u2", "succeeded", 11))}, "u3", Update,
		},
		"a type that the server sent is not trusted": {
			RuntimeStatus{Update: data(Operation{OperationID: "u", Type: Provision, CreatedAt: at(10)})}, "u", Update,
		},
		"an upgrade before the newest update": {
			RuntimeStatus{
				Provisioning: pointer(op("p", "succeeded", 8)), UpgradingKyma: data(op("k", "succeeded", 9)),
				UpgradingCluster: data(op("c", "failed", 10)), Update: data(op("u", "succeeded", 11)),
			}, "u", Update,
		},
		"created at the same time, updated later": {
			RuntimeStatus{
				UpgradingKyma:    data(Operation{OperationID: "k", CreatedAt: at(10), UpdatedAt: at(12)}),
				UpgradingCluster: data(Operation{OperationID: "c", CreatedAt: at(10), UpdatedAt: at(11)}),
			}, "k", UpgradeKyma,
		},
		"all the same: the later in a runtime's life": {
			RuntimeStatus{Provisioning: pointer(op("p", "", 10)), Suspension: data(op("s", "", 10)), Deprovisioning: pointer(op("d", "", 10))},
			"d", Deprovision,
		},
		"all the same in one list: the first": {
			RuntimeStatus{Update: data(op("u2", "", 10), op("u1", "", 10))}, "u2", Update,
		},
		"no times at all": {
			RuntimeStatus{Provisioning: &Operation{OperationID: "p"}, Update: data(Operation{OperationID: "u"})}, "u", Update,
		},
	} {
		got := RuntimeDTO{Status: test.status}.LastOperation()
		require.Equal(t, test.id, got.OperationID, name)
		require.Equal(t, test.kind, got.Type, name)
	}
}

func TestLastOperationLeavesTheRuntimeAsItIs(t *testing.T) {
	t.Parallel()
	rt := RuntimeDTO{Status: RuntimeStatus{Update: data(op("u", "succeeded", 10))}}
	got := rt.LastOperation()
	require.Equal(t, Update, got.Type)
	require.Empty(t, rt.Status.Update.Data[0].Type)
}

// A suspension that is listed under deprovisioning too, with the same operation ID, is a suspension: after it the runtime can be woken
// up again, and the newest operation is what counts.
func TestCase_R1(t *testing.T) {
	t.Parallel()
	suspension := op("op-2", "succeeded", 11)
	provisioned := RuntimeStatus{Provisioning: pointer(op("op-1", "succeeded", 10))}

	suspended := provisioned
	suspended.Suspension = data(suspension)
	suspended.Deprovisioning = pointer(suspension)
	got := RuntimeDTO{Status: suspended}.LastOperation()
	require.Equal(t, "op-2", got.OperationID)
	require.Equal(t, Suspension, got.Type)

	woken := suspended
	woken.Unsuspension = data(op("op-3", "succeeded", 12))
	got = RuntimeDTO{Status: woken}.LastOperation()
	require.Equal(t, "op-3", got.OperationID)
	require.Equal(t, Unsuspension, got.Type)

	// The copy under deprovisioning was updated later; it is still the suspension, and an older one at that.
	woken.Deprovisioning = pointer(suspension)
	woken.Deprovisioning.CreatedAt = at(13)
	got = RuntimeDTO{Status: woken}.LastOperation()
	require.Equal(t, "op-3", got.OperationID)

	removed := woken
	removed.Deprovisioning = pointer(op("op-4", "in progress", 14))
	got = RuntimeDTO{Status: removed}.LastOperation()
	require.Equal(t, "op-4", got.OperationID)
	require.Equal(t, Deprovision, got.Type)

	// Operations without ID are not the same operation.
	unnamed := provisioned
	unnamed.Suspension = data(op("", "succeeded", 11))
	unnamed.Deprovisioning = pointer(op("", "in progress", 12))
	require.Equal(t, Deprovision, RuntimeDTO{Status: unnamed}.LastOperation().Type)

	failedUpgrade := provisioned
	failedUpgrade.UpgradingCluster = data(op("op-2", "failed", 11))
	require.Equal(t, UpgradeCluster, RuntimeDTO{Status: failedUpgrade}.LastOperation().Type)
}

func TestLastOperationAllocatesNothing(t *testing.T) { //nolint:paralleltest // allocations are counted over the whole process
	rt := RuntimeDTO{Status: RuntimeStatus{
		Provisioning: pointer(op("p", "", 8)), Suspension: data(op("s", "", 10)), Deprovisioning: pointer(op("d", "", 10)),
	}}
	require.Zero(t, testing.AllocsPerRun(100, func() { rt.LastOperation() }))
}
