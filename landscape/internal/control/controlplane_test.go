package control_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/swell-fleet/swell/landscape/internal/control"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/kyma"
	"github.com/swell-fleet/swell/landscape/internal/provisioner"
)

// runtimes returns the runtimes of the fleet as the broker knows them.
func (f *fleet) runtimes() []fleetgen.Runtime {
	f.t.Helper()
	fleet, err := shared.Fleet(f.info.Namespace)
	require.NoError(f.t, err)
	return fleet.Generated().Runtimes().Data
}

// ask sends a GraphQL request in the name of a tenant, and returns status and
// answer.
func (f *fleet) ask(tenant, query string, variables map[string]any) (int, map[string]any) {
	f.t.Helper()
	code, answer, err := f.tryAsk(tenant, query, variables)
	require.NoError(f.t, err)
	return code, answer
}

func (f *fleet) tryAsk(tenant, query string, variables map[string]any) (int, map[string]any, error) {
	f.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(f.t, err)
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.info.Provisioner, bytes.NewReader(body))
	require.NoError(f.t, err)
	request.Header.Set("tenant", tenant)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(f.t, err)
	var answer map[string]any
	if json.Unmarshal(text, &answer) != nil {
		answer = map[string]any{"text": string(text)}
	}
	return response.StatusCode, answer, nil
}

// at digs in an answer.
func at(answer any, path ...string) any {
	for _, key := range path {
		object, ok := answer.(map[string]any)
		if !ok {
			return nil
		}
		answer = object[key]
	}
	return answer
}

const (
	statusQuery = `query($id: String!) { runtimeStatus(id: $id) {
		lastOperationStatus { id operation state message lastError { errMessage reason component } }
		runtimeConfiguration { clusterConfig { kubernetesVersion } kymaConfig { version components { component configuration { key secret } } } } } }`
	operationQuery = `query($id: String!) { runtimeOperationStatus(id: $id) { ...O } } fragment O on OperationStatus { state operation runtimeID }`
	upgradeRuntime = `mutation($id: String!, $config: UpgradeRuntimeInput!) { upgradeRuntime(id: $id, config: $config) { id state } }`
	upgradeShoot   = `mutation($id: String!, $config: UpgradeShootInput!) { upgradeShoot(id: $id, config: $config) { id state } }`
)

func kymaVersion(version string) map[string]any {
	return map[string]any{"kymaConfig": map[string]any{"version": version, "components": []any{}}}
}

func (f *fleet) mutations() control.Mutations {
	f.t.Helper()
	var mutations control.Mutations
	f.control(http.MethodGet, "/provisioner/audit", nil, &mutations)
	return mutations
}

func TestProvisionerUpgrades(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1, "reconcileTime": "100ms"})
	r := f.runtimes()[0]
	id := map[string]any{"id": r.RuntimeID}
	_, answer := f.ask(r.GlobalAccountID, statusQuery, id)
	require.Nil(t, answer["errors"])
	status := at(answer, "data", "runtimeStatus")
	require.Equal(t, "Provision", at(status, "lastOperationStatus", "operation"))
	require.Equal(t, "Succeeded", at(status, "lastOperationStatus", "state"))
	require.Equal(t, r.KymaVersion, at(status, "runtimeConfiguration", "kymaConfig", "version"))

	_, answer = f.ask(r.GlobalAccountID, upgradeRuntime, map[string]any{"id": r.RuntimeID, "config": kymaVersion("2.21.0")})
	operation, ok := at(answer, "data", "upgradeRuntime", "id").(string)
	require.True(t, ok, answer)
	code, answer := f.ask(r.GlobalAccountID, upgradeShoot, map[string]any{
		"id": r.RuntimeID, "config": map[string]any{"gardenerConfig": map[string]any{"kubernetesVersion": "1.34.7"}},
	})
	require.Equal(t, http.StatusOK, code)
	failures, ok := answer["errors"].([]any)
	require.True(t, ok, "a second operation has to be refused: %v", answer)
	require.InDelta(t, 400, at(failures[0], "extensions", "error_code"), 0)
	require.Contains(t, at(failures[0], "message"), "in progress")
	require.Eventually(t, func() bool {
		_, answer := f.ask(r.GlobalAccountID, operationQuery, map[string]any{"id": operation})
		return at(answer, "data", "runtimeOperationStatus", "state") == "Succeeded"
	}, patience, 5*time.Millisecond)
	_, answer = f.ask(r.GlobalAccountID, statusQuery, id)
	require.Equal(t, "2.21.0", at(answer, "data", "runtimeStatus", "runtimeConfiguration", "kymaConfig", "version"))

	mutations := f.mutations()
	require.Len(t, mutations.Mutations, 2)
	require.Equal(t, map[string]int{r.RuntimeID: 1}, mutations.PerRuntime)
	require.Equal(t, operation, mutations.Mutations[0].Operation)
	require.Contains(t, mutations.Mutations[1].Reason, "in progress")
	f.control(http.MethodPost, "/provisioner/audit/reset", nil, nil)
	require.Empty(t, f.mutations().Mutations)
	f.control(http.MethodPost, "/reset", nil, nil)
	var list []provisioner.Runtime
	f.control(http.MethodGet, "/provisioner/runtimes", nil, &list)
	require.Equal(t, r.KymaVersion, list[0].KymaVersion)
}

func TestProvisionerIsStrict(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1})
	r := f.runtimes()[0]
	for name, test := range map[string]struct {
		query     string
		variables map[string]any
	}{
		"syntax":           {"query {", nil},
		"unknown field":    {`{ runtimeStatus(id: "x") { colour } }`, nil},
		"missing argument": {`{ runtimeStatus { __typename } }`, nil},
		"missing variable": {statusQuery, nil},
		"unknown input":    {upgradeRuntime, map[string]any{"id": "x", "config": map[string]any{"kymaConfig": map[string]any{"version": "1", "components": []any{}, "colour": 1}}}},
		"missing input":    {upgradeRuntime, map[string]any{"id": "x", "config": map[string]any{"kymaConfig": map[string]any{"version": "1"}}}},
	} {
		code, answer := f.ask(r.GlobalAccountID, test.query, test.variables)
		require.Equal(t, http.StatusUnprocessableEntity, code, name)
		require.NotEmpty(t, answer["errors"], name)
	}
	for tenant, says := range map[string]string{"": "tenant header is empty", "ga-somebody": "does not match"} {
		_, answer := f.ask(tenant, upgradeRuntime, map[string]any{"id": r.RuntimeID, "config": kymaVersion("2.21.0")})
		failures, ok := answer["errors"].([]any)
		require.True(t, ok)
		require.Contains(t, at(failures[0], "message"), says)
	}
	require.Empty(t, f.mutations().PerRuntime)
	f.control(http.MethodDelete, "/provisioner/runtimes/"+r.RuntimeID, nil, nil)
	_, answer := f.ask(r.GlobalAccountID, statusQuery, map[string]any{"id": r.RuntimeID})
	failures, ok := answer["errors"].([]any)
	require.True(t, ok)
	require.Equal(t, "err_db_not_found", at(failures[0], "extensions", "error_reason"))
}

func TestProvisionerFaults(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 3, "reconcileTime": "1ms"})
	runtimes := f.runtimes()
	state := func(r fleetgen.Runtime) any {
		_, answer := f.ask(r.GlobalAccountID, statusQuery, map[string]any{"id": r.RuntimeID})
		return at(answer, "data", "runtimeStatus", "lastOperationStatus", "state")
	}
	f.control(http.MethodPost, "/faults", map[string]any{"provisioner": map[string]any{
		"shoots": map[string]string{runtimes[0].ShootName: "fail", runtimes[1].ShootName: "stuck"},
		"api": []any{
			map[string]any{"action": "status", "code": 500, "resources": []string{"runtimeStatus"}, "times": 1},
			map[string]any{"action": "lose", "resources": []string{"upgradeRuntime"}, "times": 1},
		},
	}}, nil)
	code, _ := f.ask(runtimes[0].GlobalAccountID, statusQuery, map[string]any{"id": runtimes[0].RuntimeID})
	require.Equal(t, http.StatusInternalServerError, code)
	_, _, err := f.tryAsk(runtimes[2].GlobalAccountID, upgradeRuntime, map[string]any{"id": runtimes[2].RuntimeID, "config": kymaVersion("2.21.0")})
	require.Error(t, err)
	require.Equal(t, map[string]int{runtimes[2].RuntimeID: 1}, f.mutations().PerRuntime, "what was lost has happened")

	for _, r := range runtimes[:2] {
		f.ask(r.GlobalAccountID, upgradeRuntime, map[string]any{"id": r.RuntimeID, "config": kymaVersion("2.21.0")})
	}
	require.Eventually(t, func() bool { return state(runtimes[0]) == "Failed" }, patience, 5*time.Millisecond)
	require.Equal(t, "InProgress", state(runtimes[1]))
	f.control(http.MethodDelete, "/faults", nil, nil)
	require.Eventually(t, func() bool { return state(runtimes[1]) == "Succeeded" }, patience, 5*time.Millisecond)

	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, "/fleets/"+f.info.Namespace+"/faults", `{"provisioner":{"warn":0.5}}`, nil))
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, "/fleets/"+f.info.Namespace+"/faults", `{"provisioner":{"api":[{"action":"refuse"}]}}`, nil))
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, "/fleets/"+f.info.Namespace+"/faults", `{"kyma":{"shoots":{"c":"explode"}}}`, nil))
}

// kymas returns a client that comes through the fleet's door.
func (f *fleet) kymas() dynamic.ResourceInterface {
	f.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", f.info.KymaKubeconfig)
	require.NoError(f.t, err)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	require.NoError(f.t, err)
	return client.Resource(kyma.Resource).Namespace(f.info.Namespace)
}

func TestKymasOfAFleet(t *testing.T) {
	t.Parallel()
	f, other := newFleet(t, map[string]any{"shoots": 2, "kymas": true}), newFleet(t, map[string]any{"shoots": 1, "kymas": true})
	r := f.runtimes()[0]
	kymas := f.kymas()
	list, err := kymas.List(t.Context(), metav1.ListOptions{LabelSelector: "kyma-project.io/runtime-id=" + r.RuntimeID})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, r.ShootName, list.Items[0].GetLabels()[kyma.ShootLabel])
	patch := func() error {
		_, err := kymas.Patch(t.Context(), r.RuntimeID, types.MergePatchType, []byte(`{"spec":{"channel":"fast"}}`), metav1.PatchOptions{})
		return err
	}
	f.control(http.MethodPost, "/faults", `{"api":[{"action":"status","code":409,"resources":["kymas"],"verbs":["patch"],"times":1}]}`, nil)
	require.True(t, apierrors.IsConflict(patch()))
	require.NoError(t, patch())
	summary := func() kyma.Summary {
		var list []kyma.Summary
		f.control(http.MethodGet, "/kymas", nil, &list)
		for _, s := range list {
			if s.Name == r.RuntimeID {
				return s
			}
		}
		return kyma.Summary{}
	}
	require.Eventually(t, func() bool { s := summary(); return s.State == "Ready" && s.ActiveChannel == "fast" }, patience, 5*time.Millisecond)

	// A fleet sees its own Kymas only.
	config, err := clientcmd.BuildConfigFromFlags("", other.info.KymaKubeconfig)
	require.NoError(t, err)
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	_, err = client.Resource(kyma.Resource).Namespace(f.info.Namespace).List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), err)

	f.control(http.MethodPost, "/shoots", map[string]any{"shoots": 4}, nil)
	var grown []kyma.Summary
	f.control(http.MethodGet, "/kymas", nil, &grown)
	require.Len(t, grown, 4)
	f.control(http.MethodDelete, "/kymas/"+r.RuntimeID, nil, nil)
	_, err = kymas.Get(t.Context(), r.RuntimeID, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	f.control(http.MethodPost, "/reset", nil, nil)
	require.Equal(t, "regular", summary().ActiveChannel)
}

func TestFleetWithoutKymasSaysSo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1})
	require.Empty(t, f.info.KymaKubeconfig)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, "/fleets/"+f.info.Namespace+"/kymas", nil, nil))
}
