package provisioner_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/landscape/internal/provisioner"
)

func TestARuntimeWasProvisionedBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	b := start(t)
	a := b.status("rt-1")
	last := b.last("rt-1")
	require.Equal(t, "Provision", last["operation"])
	require.Equal(t, "Succeeded", last["state"])
	require.Equal(t, "rt-1", last["runtimeID"])
	require.Nil(t, last["lastError"])
	require.Equal(t, last, b.operation(last["id"].(string)), "it is known by its ID as well")
	require.Equal(t, "2.20.5", a.at("runtimeStatus", "runtimeConfiguration", "kymaConfig", "version"))
	require.Equal(t, map[string]any{
		"kubernetesVersion": "1.33.9", "machineImage": "gardenlinux", "machineImageVersion": "1592.4.0",
	}, a.at("runtimeStatus", "runtimeConfiguration", "clusterConfig"))
	require.Contains(t, a.Text, `"secret":true`, "the configuration holds a secret, which clients must not show")
	require.Equal(t, []provisioner.Runtime{
		{RuntimeID: "rt-1", Shoot: "c-1", KymaVersion: "2.20.5", KubernetesVersion: "1.33.9", Operation: "Provision", State: "Succeeded"},
		{RuntimeID: "rt-2", Shoot: "c-2", KymaVersion: "2.20.5", KubernetesVersion: "1.33.9", Operation: "Provision", State: "Succeeded"},
		{RuntimeID: "rt-3", Shoot: "c-3", KymaVersion: "2.20.5", KubernetesVersion: "1.33.9", Operation: "Provision", State: "Succeeded"},
	}, b.Runtimes())
}

func TestAnUpgradeGoesThroughItsStates(t *testing.T) {
	t.Parallel()
	for field, test := range map[string]struct {
		document, operation string
		config              map[string]any
	}{
		"upgradeRuntime": {upgradeRuntime, "Upgrade", toKyma("2.21.0")},
		"upgradeShoot":   {upgradeShoot, "UpgradeShoot", toKubernetes("1.34.7")},
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			a := b.ask("ga-1", test.document, map[string]any{"id": "rt-1", "config": test.config})
			begun, ok := a.at(field).(map[string]any)
			require.True(t, ok, a.Text)
			id, ok := begun["id"].(string)
			require.True(t, ok)
			require.Equal(t, test.operation, begun["operation"])
			require.Equal(t, "Pending", begun["state"])
			require.Equal(t, "rt-1", begun["runtimeID"])
			require.Equal(t, begun, b.last("rt-1"), "the newest operation is the one that was begun")

			b.pass(longest / 10)
			running := b.operation(id)
			require.Equal(t, "InProgress", running["state"])
			require.NotEqual(t, begun["message"], running["message"])
			b.pass(shortest - longest/10 - time.Second)
			require.Equal(t, "InProgress", b.operation(id)["state"])
			b.pass(longest)
			ended := b.operation(id)
			require.Equal(t, "Succeeded", ended["state"])
			require.Nil(t, ended["lastError"])
			require.Equal(t, ended, b.last("rt-1"))
			require.Equal(t, "Provision", b.last("rt-2")["operation"], "the others are left alone")
		})
	}
}

// A client recognizes its upgrade by the version, also while it runs and when the
// answer that named the operation was lost.
func TestTheConfigurationIsStoredWhenAnUpgradeBegins(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.begin("rt-1", "2.21.0")
	require.Equal(t, "2.21.0", b.status("rt-1").at("runtimeStatus", "runtimeConfiguration", "kymaConfig", "version"))
	b.ask("ga-1", upgradeShoot, map[string]any{"id": "rt-2", "config": toKubernetes("1.34.7")})
	require.Equal(t, "1.34.7", b.status("rt-2").at("runtimeStatus", "runtimeConfiguration", "clusterConfig", "kubernetesVersion"))
}

func TestAnUpgradeOfKymaReplacesTheWholeConfiguration(t *testing.T) {
	t.Parallel()
	b := start(t)
	config := map[string]any{"kymaConfig": map[string]any{
		"version": "2.21.0", "profile": "Evaluation", "conflictStrategy": "Replace", "components": []any{map[string]any{
			"component": "istio", "namespace": "istio-system", "configuration": []any{map[string]any{"key": "k", "value": "v", "secret": true}},
		}},
	}}
	b.ask("ga-1", upgradeRuntime, map[string]any{"id": "rt-1", "config": config})
	require.Equal(t, map[string]any{
		"version": "2.21.0", "profile": "Evaluation", "configuration": nil, "components": []any{map[string]any{
			"component": "istio", "namespace": "istio-system", "sourceURL": nil, "configuration": []any{map[string]any{"key": "k", "value": "v", "secret": true}},
		}},
	}, b.status("rt-1").at("runtimeStatus", "runtimeConfiguration", "kymaConfig"))
}

func TestAnUpgradeOfAShootChangesWhatIsSent(t *testing.T) {
	t.Parallel()
	b := start(t)
	config := map[string]any{"gardenerConfig": map[string]any{"machineImageVersion": "1592.5.0", "machineImage": nil}}
	a := b.ask("ga-1", upgradeShoot, map[string]any{"id": "rt-1", "config": config})
	require.Empty(t, a.Errors)
	require.Equal(t, map[string]any{
		"kubernetesVersion": "1.33.9", "machineImage": "gardenlinux", "machineImageVersion": "1592.5.0",
	}, b.status("rt-1").at("runtimeStatus", "runtimeConfiguration", "clusterConfig"), "null is no change, too")
}

func TestARuntimeHasOneOperationAtATime(t *testing.T) {
	t.Parallel()
	b := start(t)
	id := b.begin("rt-1", "2.21.0")
	for _, later := range []time.Duration{0, 20 * time.Second} {
		b.pass(later)
		for document, config := range map[string]map[string]any{upgradeRuntime: toKyma("2.21.0"), upgradeShoot: toKubernetes("1.34.7")} {
			a := b.ask("ga-1", document, map[string]any{"id": "rt-1", "config": config})
			require.Equal(t, http.StatusOK, a.Status)
			require.Len(t, a.Errors, 1)
			require.Contains(t, a.Errors[0].Message, "in progress", "clients know it by these words alone")
			require.EqualValues(t, 400, a.Errors[0].Extensions["error_code"])
		}
	}
	require.Equal(t, 1, b.accepted())
	require.Equal(t, id, b.last("rt-1")["id"])
	require.Equal(t, "1.33.9", b.status("rt-1").at("runtimeStatus", "runtimeConfiguration", "clusterConfig", "kubernetesVersion"))
	b.begin("rt-2", "2.21.0")
}

// Nothing tells a repeated request from a new one: who repeats it upgrades twice.
func TestAskingAgainBeginsAnotherOperation(t *testing.T) {
	t.Parallel()
	b := start(t)
	first := b.begin("rt-1", "2.21.0")
	b.pass(longest)
	second := b.begin("rt-1", "2.21.0")
	require.NotEqual(t, first, second)
	require.Equal(t, second, b.last("rt-1")["id"])
	require.Equal(t, "Succeeded", b.operation(first)["state"], "the one before stays known")
	require.Equal(t, "Pending", b.operation(second)["state"])
	require.Equal(t, 2, b.accepted())
}

func TestWhatIsNotThereIsToldByItsReason(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, test := range []struct {
		field, document, tenant, id string
		code                        int
		reason, message             string
	}{
		{"runtimeStatus", statusQuery, "ga-1", "rt-9", 2, "err_db_not_found", "cannot find runtime rt-9"},
		{"runtimeOperationStatus", operationQuery, "ga-1", "rt-1", 2, "err_db_not_found", "cannot find operation rt-1"},
		{"upgradeRuntime", upgradeRuntime, "ga-1", "", 2, "err_db_not_found", "cannot find runtime"},
		{"upgradeShoot", upgradeShoot, "ga-1", "rt-9", 2, "err_db_not_found", "cannot find runtime rt-9"},
		{"runtimeStatus", statusQuery, "ga-2", "rt-1", 400, "err_bad_request", "tenant does not match"},
		{"upgradeRuntime", upgradeRuntime, "ga-2", "rt-1", 400, "err_bad_request", "tenant does not match"},
		{"upgradeShoot", upgradeShoot, "", "rt-1", 400, "err_bad_request", "tenant header is empty"},
		{"runtimeOperationStatus", operationQuery, "ga-2", b.last("rt-1")["id"].(string), 400, "err_bad_request", "tenant does not match"},
	} {
		variables := map[string]any{"id": test.id}
		switch test.field {
		case "upgradeRuntime":
			variables["config"] = toKyma("2.21.0")
		case "upgradeShoot":
			variables["config"] = toKubernetes("1.34.7")
		}
		a := b.ask(test.tenant, test.document, variables)
		require.Equal(t, http.StatusOK, a.Status)
		require.Equal(t, map[string]any{test.field: nil}, a.Data)
		require.Len(t, a.Errors, 1)
		require.Contains(t, a.Errors[0].Message, test.message)
		require.Equal(t, []any{test.field}, a.Errors[0].Path)
		require.Equal(t, map[string]any{"error_code": float64(test.code), "error_reason": test.reason, "error_component": "provisioner"}, a.Errors[0].Extensions)
	}
	require.Zero(t, b.accepted())
}

func TestARuntimeThatIsRemovedIsForgotten(t *testing.T) {
	t.Parallel()
	b := start(t)
	id := b.begin("rt-1", "2.21.0")
	require.True(t, b.Remove("rt-1"))
	require.False(t, b.Remove("rt-1"))
	for document, id := range map[string]string{statusQuery: "rt-1", operationQuery: id} {
		a := b.ask("ga-1", document, map[string]any{"id": id})
		require.Len(t, a.Errors, 1)
		require.Equal(t, "err_db_not_found", a.Errors[0].Extensions["error_reason"])
	}
	require.Len(t, b.Runtimes(), 2)
	b.Grow(members())
	require.Equal(t, "Provision", b.last("rt-1")["operation"])
	require.Equal(t, "2.20.5", b.status("rt-1").at("runtimeStatus", "runtimeConfiguration", "kymaConfig", "version"))
}

func TestGrowingLeavesWhatIsThere(t *testing.T) {
	t.Parallel()
	b := start(t)
	id := b.begin("rt-1", "2.21.0")
	b.Grow(append(members(), provisioner.Member{RuntimeID: "rt-4", Shoot: "c-4", Tenant: "ga-1"}))
	require.Equal(t, id, b.last("rt-1")["id"])
	require.Equal(t, "Provision", b.last("rt-4")["operation"])
	require.Len(t, b.Runtimes(), 4)
}

func TestResetTakesEverythingBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	before := b.Runtimes()
	id := b.begin("rt-1", "2.21.0")
	b.Remove("rt-2")
	b.Reset(members())
	require.Equal(t, before, b.Runtimes())
	require.Empty(t, b.Mutations())
	require.Len(t, b.ask("ga-1", operationQuery, map[string]any{"id": id}).Errors, 1)
}

func TestRequestsForChangesAreRecorded(t *testing.T) {
	t.Parallel()
	b := start(t)
	require.Empty(t, b.Mutations())
	id := b.begin("rt-1", "2.21.0")
	b.pass(time.Second)
	b.ask("ga-1", upgradeShoot, map[string]any{"id": "rt-1", "config": toKubernetes("1.34.7")})
	b.status("rt-1")
	require.Equal(t, []provisioner.Mutation{
		{
			Time: noon, Field: "upgradeRuntime", RuntimeID: "rt-1", Tenant: "ga-1", Accepted: true, Operation: id,
			Config: json.RawMessage(`{"kymaConfig":{"components":[],"version":"2.21.0"}}`),
		},
		{
			Time: noon.Add(time.Second), Field: "upgradeShoot", RuntimeID: "rt-1", Tenant: "ga-1",
			Reason: "cannot start new operation for rt-1 Runtime while previous one is in progress",
			Config: json.RawMessage(`{"gardenerConfig":{"kubernetesVersion":"1.34.7"}}`),
		},
	}, b.Mutations())
	b.ResetMutations()
	require.Empty(t, b.Mutations())
	require.Equal(t, id, b.last("rt-1")["id"])
}
