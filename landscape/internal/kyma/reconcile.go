package kyma

import (
	"context"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// skipLabel keeps Lifecycle Manager away from a Kyma while it is true.
const skipLabel = "operator.kyma-project.io/skip-reconciliation"

// ShootLabel names the Shoot of the runtime that a Kyma belongs to.
const ShootLabel = "kyma-project.io/shoot-name"

// beginning is how long a Kyma without a status is left alone after its creation.
const beginning = 2 * time.Second

// run is a Kyma on its way to what its specification says.
type run struct {
	uid        types.UID
	generation int64
	outcome    faults.Outcome
	began      time.Time
	lasting    time.Duration
	// state is what was written last.
	state string
}

// reconcile does the next thing that is due for a Kyma, and returns in how much
// real time something will be due without any change of it. 0: nothing.
func (m *Manager) reconcile(ctx context.Context, name cache.ObjectName, kyma *unstructured.Unstructured, settings Settings) (time.Duration, error) {
	if skip, _ := strconv.ParseBool(kyma.GetLabels()[skipLabel]); skip || kyma.GetDeletionTimestamp() != nil {
		return 0, nil
	}
	now := time.Now()
	if _, told := kyma.Object["status"]; !told {
		// One that is being laid down gets its past first.
		if wait := beginning - now.Sub(kyma.GetCreationTimestamp().Time); wait > 0 {
			return wait, nil
		}
	}
	r, going := m.run(name, kyma)
	switch {
	case !going && observed(kyma) >= kyma.GetGeneration():
		return 0, nil
	case !going:
		r = m.newRun(name, kyma, settings, now)
	default:
		r = m.reconsider(name, kyma, r, settings, now)
	}
	state, wait := r.due(now)
	if state != r.state {
		report(kyma, state, now)
		_, err := m.client.Resource(Resource).Namespace(name.Namespace).UpdateStatus(ctx, kyma, metav1.UpdateOptions{FieldManager: "lifecycle-manager"})
		if err != nil {
			return 0, err
		}
		r.state = state
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[name] = r; state == "Ready" {
		delete(m.runs, name)
	}
	return wait, nil
}

// run returns what is going on for the specification that the Kyma has.
func (m *Manager) run(name cache.ObjectName, kyma *unstructured.Unstructured) (run, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.runs[name]
	return r, ok && r.uid == kyma.GetUID() && r.generation == kyma.GetGeneration()
}

func (m *Manager) newRun(name cache.ObjectName, kyma *unstructured.Unstructured, settings Settings, now time.Time) run {
	m.mu.Lock()
	defer m.mu.Unlock()
	shoot, seed := kyma.GetLabels()[ShootLabel], settings.Plan.Seed
	r := run{uid: kyma.GetUID(), generation: kyma.GetGeneration(), began: now}
	spread := 0.5 + faults.Draw(seed, "kyma time", shoot, strconv.FormatInt(r.generation, 10))
	r.lasting = settings.real(time.Duration(float64(settings.Lasting) * spread))
	r.outcome = settings.Plan.Kyma.Outcome(seed, "kyma", shoot, m.hits[name])
	if r.outcome != faults.Succeed {
		m.hits[name]++
	}
	if r.outcome == faults.Slow {
		r.lasting *= 10
	}
	return r
}

// reconsider lets a run that is in trouble go on as the plan wants it now.
func (m *Manager) reconsider(name cache.ObjectName, kyma *unstructured.Unstructured, r run, settings Settings, now time.Time) run {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r.outcome {
	case faults.Succeed, faults.Recover, faults.Slow:
		// They end by themselves.
	case faults.Fail, faults.Stuck, faults.Warn:
		if outcome := settings.Plan.Kyma.Outcome(settings.Plan.Seed, "kyma", kyma.GetLabels()[ShootLabel], m.hits[name]-1); outcome != r.outcome {
			r.outcome, r.began = outcome, now
		}
	}
	return r
}

// due returns the state that the Kyma has to be in, and when to look again.
func (r run) due(now time.Time) (state string, wait time.Duration) {
	passed := now.Sub(r.began)
	half, end := r.lasting/2-passed, r.lasting-passed
	switch {
	case r.outcome == faults.Stuck:
		return "Processing", 0
	case r.state == "":
		// Whatever comes next, everybody gets to see that it has begun.
		return "Processing", max(half, time.Millisecond)
	case r.outcome == faults.Fail && half <= 0:
		return "Error", 0
	case r.outcome == faults.Recover && half <= 0 && end > 0:
		return "Error", end
	case half > 0:
		return "Processing", half
	case end > 0:
		return "Processing", end
	case r.outcome == faults.Warn:
		return "Warning", 0
	}
	return "Ready", 0
}

// observed is the generation that the status was made from.
func observed(kyma *unstructured.Unstructured) int64 {
	conditions, _, _ := unstructured.NestedSlice(kyma.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Modules" {
			generation, _ := c["observedGeneration"].(int64)
			return generation
		}
	}
	return 0
}

// report writes the status that Lifecycle Manager gives a Kyma in a state.
func report(kyma *unstructured.Unstructured, state string, now time.Time) {
	wanted, _, _ := unstructured.NestedString(kyma.Object, "spec", "channel")
	active, _, _ := unstructured.NestedString(kyma.Object, "status", "activeChannel")
	at := now.UTC().Format(time.RFC3339)
	there, words := "False", "waiting for all modules to become ready"
	if state == "Ready" {
		there, words = "True", "kyma is ready"
	}
	if state == "Ready" || state == "Warning" {
		active = wanted
	}
	specified, _, _ := unstructured.NestedSlice(kyma.Object, "spec", "modules")
	modules := []any{}
	for index, m := range specified {
		m, ok := m.(map[string]any)
		if !ok {
			continue
		}
		name, _ := m["name"].(string)
		own, _ := m["channel"].(string)
		module := map[string]any{"name": name, "fqdn": "kyma-project.io/module/" + name, "channel": active, "state": state}
		if own != "" {
			module["channel"], module["state"] = own, "Ready"
		}
		if managed, ok := m["managed"].(bool); ok && !managed {
			module["state"] = "Unmanaged"
		}
		if troubled := state == "Error" || state == "Warning"; troubled && module["state"] == state {
			// One module is in trouble, the others are fine.
			module["state"] = "Ready"
			if index == 0 {
				module["state"], module["message"] = state, "simulated "+strings.ToLower(state)+" of the module"
			}
		}
		channel, _ := module["channel"].(string)
		module["version"] = version(name, channel)
		modules = append(modules, module)
	}
	kyma.Object["status"] = map[string]any{
		"state": state, "activeChannel": active, "modules": modules,
		"lastOperation": map[string]any{"operation": words, "lastUpdateTime": at},
		"conditions": []any{map[string]any{
			"type": "Modules", "status": there, "reason": "Ready", "message": words,
			"observedGeneration": kyma.GetGeneration(), "lastTransitionTime": at,
		}},
	}
}

// version invents the version of a module in a channel.
func version(module, channel string) string {
	minor := map[string]int{"regular": 4, "fast": 5, "experimental": 6}[channel]
	return "1." + strconv.Itoa(minor) + "." + strconv.Itoa(len(module)%5)
}
