package kyma

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is what Kymas are in the Kubernetes API of the control plane.
var Resource = schema.GroupVersionResource{Group: "operator.kyma-project.io", Version: "v1beta2", Resource: "kymas"}

// The labels of Kymas that matter here.
const (
	// RuntimeIDLabel names the runtime that a Kyma belongs to.
	RuntimeIDLabel = "kyma-project.io/runtime-id"
	// skipLabel keeps Lifecycle Manager away from a Kyma while it is true.
	skipLabel = "operator.kyma-project.io/skip-reconciliation"
	// managedByLabel names who looks after a Kyma.
	managedByLabel   = "operator.kyma-project.io/managed-by"
	lifecycleManager = "lifecycle-manager"
)

// The states of Kymas and modules.
const (
	stateReady      = "Ready"
	stateProcessing = "Processing"
	stateWarning    = "Warning"
	stateError      = "Error"
	stateDeleting   = "Deleting"
	stateUnmanaged  = "Unmanaged"
)

// modulesCondition is the condition in which Lifecycle Manager says what it knows of all modules.
const modulesCondition = "Modules"

// resource is a Kyma, as far as this package reads it.
type resource struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Channel string   `json:"channel"`
		Modules []module `json:"modules"`
	} `json:"spec"`
	Status struct {
		State         string         `json:"state"`
		ActiveChannel string         `json:"activeChannel"`
		Modules       []moduleStatus `json:"modules"`
		Conditions    []condition    `json:"conditions"`
		LastOperation struct {
			Operation      string       `json:"operation"`
			LastUpdateTime *metav1.Time `json:"lastUpdateTime"`
		} `json:"lastOperation"`
	} `json:"status"`
}

// module is a module that the runtime is to have.
type module struct {
	Name string `json:"name"`
	// Channel and Version are set when the module does not follow the channel of the Kyma.
	Channel string `json:"channel"`
	Version string `json:"version"`
	// Managed is false when Lifecycle Manager leaves the module alone; null means true.
	Managed *bool `json:"managed"`
}

// follows says whether the module takes its channel from the Kyma.
func (m module) follows() bool {
	return m.Channel == "" && m.Version == "" && (m.Managed == nil || *m.Managed)
}

// moduleStatus is how a module stands.
type moduleStatus struct {
	Name    string `json:"name"`
	Channel string `json:"channel"`
	Version string `json:"version"`
	State   string `json:"state"`
	Message string `json:"message"`
}

type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

func parse(u *unstructured.Unstructured) (*resource, error) {
	var k resource
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &k); err != nil {
		return nil, fmt.Errorf("read the Kyma %s: %w", u.GetName(), err)
	}
	return &k, nil
}

// skipped says whether Lifecycle Manager is told to leave the Kyma alone.
func (k *resource) skipped() bool {
	skip, err := strconv.ParseBool(k.Labels[skipLabel])
	return err == nil && skip
}

func (k *resource) deleting() bool {
	return k.DeletionTimestamp != nil || k.Status.State == stateDeleting
}

// writtenAt is when we changed the Kyma last by the API server's clock, in whole seconds; zero when that is not known.
func (k *resource) writtenAt() time.Time {
	var at time.Time
	for _, f := range k.ManagedFields {
		if f.Manager == fieldManager && f.Subresource == "" && f.Time != nil && f.Time.After(at) {
			at = f.Time.Time
		}
	}
	return at
}

// statusOf returns how a module stands, and false when the status says nothing about it.
func (k *resource) statusOf(name string) (moduleStatus, bool) {
	index := slices.IndexFunc(k.Status.Modules, func(m moduleStatus) bool { return m.Name == name })
	if index < 0 {
		return moduleStatus{}, false
	}
	return k.Status.Modules[index], true
}

// behind returns the modules that take their channel from the Kyma and are not shown on it.
func (k *resource) behind(channel string) []string {
	var names []string
	for _, m := range k.Spec.Modules {
		if !m.follows() {
			continue
		}
		if s, ok := k.statusOf(m.Name); !ok || s.Channel != channel {
			names = append(names, m.Name)
		}
	}
	return names
}

// own returns the modules that do not follow the channel of the Kyma, with what they follow instead.
func (k *resource) own(channel string) []string {
	var list []string
	for _, m := range k.Spec.Modules {
		switch {
		case m.Managed != nil && !*m.Managed:
			list = append(list, m.Name+" (not managed)")
		case m.Version != "":
			list = append(list, m.Name+" (version "+m.Version+")")
		case m.Channel != "" && m.Channel != channel:
			list = append(list, m.Name+" (channel "+m.Channel+")")
		}
	}
	return list
}

// complaints returns what the modules in a state say, and how many modules are ready.
func (k *resource) complaints(state string) (list []string, ready int) {
	for _, m := range k.Status.Modules {
		switch m.State {
		case state:
			text := m.Name
			if m.Message != "" {
				text += ": " + m.Message
			}
			list = append(list, text)
		case stateReady, stateUnmanaged:
			ready++
		}
	}
	return list, ready
}

// few joins a list and cuts it to what fits a line.
func few(list []string) string {
	const most = 5
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return strings.Join(list, ", ")
}
