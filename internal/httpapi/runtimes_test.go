package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// everyField returns a runtime in which no field has its zero value. It is deprovisioned with a step left over.
func everyField(t *testing.T) runtime.RuntimeDTO {
	t.Helper()
	var doc runtime.RuntimeDTO
	number := 0
	fill(reflect.ValueOf(&doc).Elem(), "", &number)
	doc.Status.State = runtime.StateDeprovisionIncomplete
	doc.Status.Deprovisioning.CreatedAt = noon.Add(-time.Minute)
	requireFilled(t, reflect.ValueOf(doc), "runtime")
	return doc
}

// fill gives every field a value that says where it is from.
func fill(v reflect.Value, name string, number *int) {
	*number++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(hour(1).Add(time.Duration(*number) * time.Minute)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Field(i).Name, number)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name, number)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name, number)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprintf("%s-%d", name, *number))
		if name == "State" {
			v.SetString(orchestration.Succeeded)
		}
	default:
		if name == "Count" || name == "TotalCount" {
			v.SetInt(1)
		} else {
			v.SetInt(int64(*number))
		}
	}
}

func requireFilled(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	require.False(t, v.IsZero(), path)
	switch v.Kind() {
	case reflect.Pointer:
		requireFilled(t, v.Elem(), path)
	case reflect.Slice:
		requireFilled(t, v.Index(0), path)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			requireFilled(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	}
}

func page(t *testing.T, docs ...runtime.RuntimeDTO) string {
	t.Helper()
	text, err := json.Marshal(runtime.RuntimesPage{Data: docs, Count: len(docs), TotalCount: len(docs)})
	require.NoError(t, err)
	return string(text)
}

func TestAnImportedRuntimeIsAnsweredWithEveryFieldUnchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	doc := everyField(t)
	all := "/runtimes?state=all&kyma_config=true&cluster_config=true"
	for i, want := range []orchestration.ImportResponse{{Imported: 1}, {Unchanged: 1}} {
		require.Equal(t, want, read[orchestration.ImportResponse](t, f.post("/runtimes/import", page(t, doc))))
		r := f.get(all)
		got := read[runtime.RuntimesPage](t, r)
		require.Len(t, got.Data, 1)
		require.Empty(t, cmp.Diff(doc, got.Data[0]), "import %d", i)
		golden(t, "runtime-every-field.json", r.text)
		// What was answered can be imported again as it is.
		require.Equal(t, orchestration.ImportResponse{Unchanged: 1}, read[orchestration.ImportResponse](t, f.post("/runtimes/import", r.text)))
	}
	doc.KymaVersion = "2.0.2"
	require.Equal(t, orchestration.ImportResponse{Updated: 1}, read[orchestration.ImportResponse](t, f.post("/runtimes/import", page(t, doc))))
	require.Equal(t, "2.0.2", read[runtime.RuntimesPage](t, f.get(all)).Data[0].KymaVersion)
}

func TestOwnUpgradesAreShownAndDryRunsAreNot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addRuntimes(document("rt-1", "c-1"))
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.Succeeded},
		fleet.Operation{ID: "op-1", State: fleet.Succeeded, RuntimeID: "rt-1", InstanceID: "in-rt-1", Version: "1.33.4", FinishedStages: []string{"shoot"}, StartedAt: hour(11)},
		fleet.Operation{ID: "op-2", State: fleet.Succeeded, RuntimeID: "rt-1", InstanceID: "in-rt-1", DryRun: true, StartedAt: hour(11)})
	for _, detail := range []string{"all", "last"} {
		doc := read[runtime.RuntimesPage](t, f.get("/runtimes?op_detail="+detail)).Data[0]
		require.Equal(t, 1, doc.Status.UpgradingCluster.TotalCount)
		own := doc.Status.UpgradingCluster.Data[0]
		require.Equal(t, "op-1", own.OperationID)
		require.Equal(t, "o-1", own.OrchestrationID)
		require.Equal(t, "1.33.4", own.RuntimeVersion)
		require.Equal(t, []string{"shoot"}, own.FinishedStages)
		require.Equal(t, detail == "all", doc.Status.Provisioning != nil)
	}
}

func TestImportsThatDoNotSayWhichRuntimesAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	twice := document("rt-1", "c-1")
	badState := document("rt-1", "c-1")
	badState.Status.State = "fine"
	nameless := document("rt-1", "c-1")
	nameless.InstanceID = ""
	for text, field := range map[string]string{
		`{}`:                                  "data",
		`{"data":null}`:                       "data",
		`{"data":[null]}`:                     "data[0]",
		`{"data":[],"count":3}`:               "count",
		`{"data":[{"instanceId":"x"}]}`:       "data[0].instanceId",
		`{"data":[{}],"next":"x"}`:            "next",
		page(t, twice, twice):                 "data[1].instanceID",
		page(t, document("x", "y"), badState): "data[1].status.state",
		page(t, nameless):                     "data[0].instanceID",
		`{"data":[{"instanceID":"a\u0000"}]}`: "data[0].instanceID",
	} {
		problem(t, f.post("/runtimes/import", text), http.StatusBadRequest, field)
	}
	require.Zero(t, read[runtime.RuntimesPage](t, f.get("/runtimes?state=all")).TotalCount)
	require.Equal(t, orchestration.ImportResponse{}, read[orchestration.ImportResponse](t, f.post("/runtimes/import", `{"data":[]}`)))
}

// A word that is no state of an operation would leave the runtime's state to chance. The words that brokers know are read in any letter case, the older
// ones too, and one without a state says that nothing was done.
func TestImportsWithStatesThatNobodyKnowsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lists := map[string]func(s *runtime.RuntimeStatus, ops *runtime.OperationsData){
		"upgradingKyma":    func(s *runtime.RuntimeStatus, ops *runtime.OperationsData) { s.UpgradingKyma = ops },
		"upgradingCluster": func(s *runtime.RuntimeStatus, ops *runtime.OperationsData) { s.UpgradingCluster = ops },
		"update":           func(s *runtime.RuntimeStatus, ops *runtime.OperationsData) { s.Update = ops },
		"suspension":       func(s *runtime.RuntimeStatus, ops *runtime.OperationsData) { s.Suspension = ops },
		"unsuspension":     func(s *runtime.RuntimeStatus, ops *runtime.OperationsData) { s.Unsuspension = ops },
	}
	for key, put := range lists {
		doc := document("rt-1", "c-1")
		put(&doc.Status, &runtime.OperationsData{Data: []runtime.Operation{{State: "succeeded"}, {State: "completed"}}})
		p := problem(t, f.post("/runtimes/import", page(t, document("rt-0", "c-0"), doc)), http.StatusBadRequest, "data[1].status."+key+".data[1].state")
		require.Contains(t, p.Detail, `"completed", of the runtime "`+doc.InstanceID+`", is no state of an operation`)
	}
	for key, put := range map[string]func(s *runtime.RuntimeStatus, op *runtime.Operation){
		"provisioning":   func(s *runtime.RuntimeStatus, op *runtime.Operation) { s.Provisioning = op },
		"deprovisioning": func(s *runtime.RuntimeStatus, op *runtime.Operation) { s.Deprovisioning = op },
	} {
		doc := document("rt-1", "c-1")
		put(&doc.Status, &runtime.Operation{State: "in_progress"})
		problem(t, f.post("/runtimes/import", page(t, doc)), http.StatusBadRequest, "data[0].status."+key+".state")
	}
	require.Zero(t, read[runtime.RuntimesPage](t, f.get("/runtimes?state=all")).TotalCount)

	doc := document("rt-1", "c-1")
	for i, state := range []string{"succeeded", "Failed", "IN PROGRESS", "pending", "retrying", "canceling", "canceled", ""} {
		ops := &runtime.OperationsData{}
		if doc.Status.Update != nil {
			ops = doc.Status.Update
		}
		ops.Data = append(ops.Data, runtime.Operation{State: state, OperationID: fmt.Sprint(i)})
		doc.Status.Update = ops
	}
	require.Equal(t, orchestration.ImportResponse{Imported: 1}, read[orchestration.ImportResponse](t, f.post("/runtimes/import", page(t, doc))))
}

// Lists inside a runtime are never null, whatever its source left out.
func TestRuntimesAreAnsweredWithoutNulls(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	doc := document("rt-1", "c-1", done(runtime.Update, orchestration.Succeeded, 11))
	doc.Status.Provisioning.FinishedStages = nil
	doc.Status.Update.Data[0].FinishedStages = nil
	doc.Status.Suspension = &runtime.OperationsData{}
	f.addRuntimes(doc)
	r := f.get("/runtimes?kyma_config=true&cluster_config=true")
	require.Equal(t, http.StatusOK, r.status)
	require.NotContains(t, r.text, "null")
	require.Contains(t, r.text, `"finishedStages":[]`)
}

func TestOperationDetailsCarryTheConfiguration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	version, image := "1.33.4", "gardenlinux"
	cluster, err := json.Marshal(gqlschema.GardenerConfigInput{KubernetesVersion: version, MachineImage: &image})
	require.NoError(t, err)
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.Succeeded},
		fleet.Operation{ID: "op-1", State: fleet.Succeeded, ClusterConfig: cluster, KymaConfig: json.RawMessage(`{"version":"2.0.1"}`)},
		fleet.Operation{ID: "op-2", State: fleet.Failed, Description: "reconcile", Reason: "quota exceeded"})
	r := f.get("/orchestrations/o-1/operations/op-1")
	detail := read[orchestration.OperationDetailResponse](t, r)
	require.Equal(t, version, detail.ClusterConfig.KubernetesVersion)
	require.Equal(t, &image, detail.ClusterConfig.MachineImage)
	require.Equal(t, "2.0.1", detail.KymaConfig.Version)
	require.NotContains(t, r.text, "null")
	r = f.get("/orchestrations/o-1/operations/op-2")
	require.Equal(t, "reconcile: quota exceeded", read[orchestration.OperationDetailResponse](t, r).Description)
	require.NotContains(t, r.text, "null")
	f.addOrchestration(fleet.Orchestration{ID: "o-2", State: fleet.Succeeded})
	problem(t, f.get("/orchestrations/o-2/operations/op-1"), http.StatusNotFound, "")
	require.NotContains(t, r.text, "waitReason")
}

func TestTimesOfAnImportAreAnsweredInUTCAndZeroOnesAreNotSet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.post("/runtimes/import", `{"data":[{"instanceID":"i-zone","runtimeID":"rt-zone","status":{"createdAt":"2025-03-01T10:00:00+05:30","expiredAt":"0001-01-01T00:00:00Z",
		"provisioning":{"state":"succeeded","createdAt":"2025-03-01T10:00:00+05:30","updatedAt":"2025-03-01T11:00:00+05:30"}}}]}`)
	require.Equal(t, http.StatusOK, r.status, r.text)
	got := f.get("/runtimes?instance_id=i-zone")
	require.Contains(t, got.text, `"createdAt":"2025-03-01T04:30:00Z"`)
	require.Contains(t, got.text, `"updatedAt":"2025-03-01T05:30:00Z"`)
	require.NotContains(t, got.text, "expiredAt")
	require.NotContains(t, got.text, "+05:30")
	require.Contains(t, f.get("/runtimes?expired=true&instance_id=i-zone").text, `"totalCount":0`)
	r = f.post("/runtimes/import", `{"data":[{"instanceID":"i-x","status":{"createdAt":"0000-01-01T00:00:00+23:00"}}]}`)
	require.Equal(t, http.StatusBadRequest, r.status, r.text)
	require.Contains(t, r.text, "data[0].status.createdAt")
}
