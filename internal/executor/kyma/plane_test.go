package kyma_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/swell-fleet/swell/internal/executor/kyma"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

const namespace = "kcp-system"

// began is when the tests' operations started and their Kymas were written.
var began = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

// plane is a control plane cluster with what an API server adds to a patch: generations, resource versions, conflicts, dry runs.
type plane struct {
	client *dynamicfake.FakeDynamicClient

	mu      sync.Mutex
	version int
	writes  map[string]int
	bodies  []string
	// outage makes every request fail. lose makes the next write happen and its answer disappear. intrude is called before the next write.
	outage  error
	lose    bool
	intrude func()
	refuse  error
}

func newPlane(t testing.TB) *plane {
	t.Helper()
	p := &plane{writes: map[string]int{}}
	p.client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{kyma.Resource: "KymaList"})
	p.client.PrependReactor("patch", "kymas", func(a clienttesting.Action) (bool, runtime.Object, error) {
		patch, ok := a.(clienttesting.PatchActionImpl)
		require.True(t, ok)
		u, err := p.patch(patch)
		if err != nil {
			return true, nil, err
		}
		return true, u, nil
	})
	p.client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.outage != nil, nil, p.outage
	})
	return p
}

func (p *plane) patch(a clienttesting.PatchActionImpl) (*unstructured.Unstructured, error) {
	p.mu.Lock()
	intrude := p.intrude
	p.intrude = nil
	p.mu.Unlock()
	if intrude != nil {
		intrude()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse != nil {
		return nil, p.refuse
	}
	p.bodies = append(p.bodies, string(a.Patch))
	stored, err := p.client.Tracker().Get(kyma.Resource, a.Namespace, a.Name)
	if err != nil {
		return nil, err
	}
	u := stored.(*unstructured.Unstructured).DeepCopy()
	var body struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Spec struct {
			Channel string `json:"channel"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(a.Patch, &body); err != nil {
		return nil, err
	}
	if body.Metadata.ResourceVersion != u.GetResourceVersion() {
		return nil, apierrors.NewConflict(kyma.Resource.GroupResource(), a.Name, fmt.Errorf("somebody else was faster"))
	}
	set(u, body.Spec.Channel, "spec", "channel")
	u.SetGeneration(u.GetGeneration() + 1)
	at := metav1.NewTime(began)
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: a.PatchOptions.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &at}})
	if len(a.PatchOptions.DryRun) > 0 {
		return u, nil
	}
	p.writes[a.Name]++
	p.store(u)
	if p.lose {
		p.lose = false
		return nil, fmt.Errorf("connection cut")
	}
	return u.DeepCopy(), nil
}

// store puts a Kyma under a new resource version.
func (p *plane) store(u *unstructured.Unstructured) {
	p.version++
	u.SetResourceVersion(strconv.Itoa(p.version))
	if err := p.client.Tracker().Update(kyma.Resource, u, u.GetNamespace()); err != nil {
		panic(err)
	}
}

func set(u *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
		panic(err)
	}
}

// add makes a Kyma on the channel regular that is ready, with three modules: one of them keeps its own channel.
func (p *plane) add(t testing.TB, runtimeID string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(`{
		"apiVersion": "operator.kyma-project.io/v1beta2", "kind": "Kyma",
		"metadata": {"generation": 1, "labels": {"operator.kyma-project.io/managed-by": "lifecycle-manager"}},
		"spec": {"channel": "regular", "modules": [
			{"name": "istio", "managed": true}, {"name": "serverless", "managed": true}, {"name": "keda", "channel": "fast", "managed": true}
		]}
	}`), u))
	u.SetName(runtimeID)
	u.SetNamespace(namespace)
	labels := u.GetLabels()
	labels[kyma.RuntimeIDLabel] = runtimeID
	u.SetLabels(labels)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	u.SetResourceVersion(strconv.Itoa(p.version))
	finish(u, began.Add(-time.Hour))
	require.NoError(t, p.client.Tracker().Create(kyma.Resource, u, namespace))
}

// change changes a Kyma behind the executor's back.
func (p *plane) change(t testing.TB, name string, change func(u *unstructured.Unstructured)) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	stored, err := p.client.Tracker().Get(kyma.Resource, namespace, name)
	require.NoError(t, err)
	u := stored.(*unstructured.Unstructured).DeepCopy()
	change(u)
	p.store(u)
}

func (p *plane) remove(t testing.TB, name string) {
	t.Helper()
	require.NoError(t, p.client.Tracker().Delete(kyma.Resource, namespace, name))
}

func (p *plane) starts(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes[name]
}

func (p *plane) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// report writes a status as Lifecycle Manager does after a look at the specification that stands there now.
func report(u *unstructured.Unstructured, state string, at time.Time) {
	channel, _, _ := unstructured.NestedString(u.Object, "spec", "channel")
	if state == "Ready" || state == "Warning" {
		set(u, channel, "status", "activeChannel")
	}
	set(u, state, "status", "state")
	set(u, "looked at it", "status", "lastOperation", "operation")
	set(u, at.Format(time.RFC3339), "status", "lastOperation", "lastUpdateTime")
	status := "False"
	if state == "Ready" {
		status = "True"
	}
	set(u, []any{map[string]any{"type": "Modules", "status": status, "reason": "Ready", "observedGeneration": u.GetGeneration()}}, "status", "conditions")
	specified, _, _ := unstructured.NestedSlice(u.Object, "spec", "modules")
	var modules []any
	for _, m := range specified {
		own, _, _ := unstructured.NestedString(m.(map[string]any), "channel")
		name, _, _ := unstructured.NestedString(m.(map[string]any), "name")
		if own == "" {
			own = channel
		}
		modules = append(modules, map[string]any{"name": name, "channel": own, "state": state, "message": name + " is " + state})
	}
	set(u, modules, "status", "modules")
}

func finish(u *unstructured.Unstructured, at time.Time) { report(u, "Ready", at) }

// executor returns a new executor over the plane.
func (p *plane) executor(t testing.TB, change ...func(o *kyma.Options)) *kyma.Executor {
	t.Helper()
	o := kyma.Options{Client: p.client}
	for _, c := range change {
		c(&o)
	}
	e, err := kyma.New(o)
	require.NoError(t, err)
	return e
}

// impatient fails operations on Kymas in trouble at once.
func impatient(o *kyma.Options) { o.Patience = -1 }

// task returns the task of moving a new runtime to the channel fast.
func (p *plane) task(t testing.TB, runtimeID string) fleet.Task {
	t.Helper()
	p.add(t, runtimeID)
	return fleet.Task{
		OperationID: "op-" + runtimeID, RuntimeID: runtimeID, Attempt: 1, StartedAt: began, Now: began,
		Parameters: orchestration.Parameters{Version: "fast"},
	}
}

func allowed(ctx context.Context) error { return ctx.Err() }

// keep does with a result what is stored between two steps.
func keep(task *fleet.Task, r fleet.Result) {
	if r.Memo != nil {
		task.Memo = r.Memo
	}
	if r.Version != "" {
		task.Version = r.Version
	}
	task.Sent = task.Sent || r.Sent
}

// start moves a new runtime to the channel fast and returns the task as it is stored then.
func (p *plane) start(t testing.TB, e *kyma.Executor, runtimeID string) fleet.Task {
	t.Helper()
	task := p.task(t, runtimeID)
	seen, err := e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.NeedsStart, seen.Outcome, "%+v", seen)
	keep(&task, seen)
	r, err := e.Start(t.Context(), task, allowed)
	require.NoError(t, err)
	require.Equal(t, fleet.Again, r.Outcome, "%+v", r)
	require.True(t, r.Sent)
	keep(&task, r)
	return task
}
