package landscape

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/swell-fleet/swell/runtime"
)

// Target is the Kubernetes version that every Shoot of a plain fleet can go to.
const Target = "1.34.7"

// Options say what fleet to make.
type Options struct {
	// Shoots is the number of Shoots.
	Shoots int
	// Seed decides what they look like; fleets with the same seed are the same.
	Seed int64
	// Mix is "plain", the default, or "varied".
	Mix string
	// Version is the Kubernetes version of all Shoots; empty means a mix of several.
	Version string
	// Window is the maintenance window of all Shoots as begin/end, such as "220000+0000/020000+0000"; empty means a mix of several.
	Window string
	// Confined makes Gardener roll changes out in the window of the Shoot only.
	Confined bool
	// ReconcileTime is how long reconciling a Shoot takes on average. The default is 200 ms.
	ReconcileTime time.Duration
	// Steps is how often progress is reported in between. The default is 1.
	Steps int
	// Kymas gives every runtime a Kyma resource.
	Kymas bool
	// Faults is the plan that is in force from the start, as YAML.
	Faults string
}

// Fleet is a project of its own with its Shoots.
type Fleet struct {
	// Namespace is the namespace of the project.
	Namespace string `json:"namespace"`
	// Kubeconfig is the file that leads through the fleet's door, where faults happen.
	Kubeconfig string `json:"kubeconfig"`
	// RuntimesFile is the file with the broker's view of the runtimes.
	RuntimesFile string `json:"runtimes"`
	// Provisioner is the address of the fleet's Provisioner.
	Provisioner string `json:"provisioner"`
	// KymaKubeconfig is the file that leads to the fleet's Kymas, which are in its namespace; empty without them.
	KymaKubeconfig string `json:"kymaKubeconfig"`

	process *process
	admin   versioned.Interface
}

// fleets counts the fleets of this program, because each needs a name.
var fleets atomic.Int64

// New makes a fleet for a test and removes it at its end. Without the simulator the test fails with one line that says what to do.
func New(t testing.TB, o Options) *Fleet {
	t.Helper()
	p, err := sharedProcess()
	if err != nil {
		t.Fatal(err)
	}
	if o.ReconcileTime == 0 {
		o.ReconcileTime = 200 * time.Millisecond
	}
	if o.Steps == 0 {
		o.Steps = 1
	}
	f := &Fleet{Namespace: fmt.Sprintf("garden-t%d", fleets.Add(1)), process: p}
	request := map[string]any{
		"namespace": f.Namespace, "shoots": o.Shoots, "seed": max(o.Seed, 1), "confined": o.Confined,
		"reconcileTime": o.ReconcileTime.String(), "steps": o.Steps, "kymas": o.Kymas,
	}
	for key, value := range map[string]string{"mix": o.Mix, "kubernetesVersion": o.Version, "window": o.Window} {
		if value != "" {
			request[key] = value
		}
	}
	require.NoError(t, p.call(t.Context(), http.MethodPost, "/fleets", request, f))
	t.Cleanup(func() {
		if err := p.call(context.Background(), http.MethodDelete, "/fleets/"+f.Namespace, nil, nil); err != nil {
			t.Errorf("remove the fleet: %v", err)
		}
	})
	if o.Faults != "" {
		f.SetFaults(t, o.Faults)
	}
	f.admin = admin(t, p.AdminKubeconfig)
	return f
}

// admin returns a client that leads past all doors, and closes its connections at the end of the test.
func admin(t testing.TB, kubeconfig string) versioned.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	config.QPS = -1 // no limit
	config.WarningHandlerWithContext = rest.NoWarnings{}
	connections, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(connections.Transport) })
	client, err := versioned.NewForConfigAndClient(config, connections)
	require.NoError(t, err)
	return client
}

// Runtimes returns the broker's view of the fleet.
func (f *Fleet) Runtimes(t testing.TB) runtime.RuntimesPage {
	t.Helper()
	text, err := os.ReadFile(f.RuntimesFile)
	require.NoError(t, err)
	var page runtime.RuntimesPage
	require.NoError(t, json.Unmarshal(text, &page))
	return page
}

// Names returns the names of the Shoots, in order.
func (f *Fleet) Names(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, shoot := range f.Shoots(t) {
		names = append(names, shoot.Name)
	}
	return names
}

// Get returns a Shoot as the API server has it.
func (f *Fleet) Get(t testing.TB, name string) *gardencorev1beta1.Shoot {
	t.Helper()
	shoot, err := f.admin.CoreV1beta1().Shoots(f.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return shoot
}

// Patch changes a Shoot by a merge patch, past the fleet's door.
func (f *Fleet) Patch(t testing.TB, name, patch string) {
	t.Helper()
	_, err := f.admin.CoreV1beta1().Shoots(f.Namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

// SetWindow gives a Shoot a maintenance window.
func (f *Fleet) SetWindow(t testing.TB, name, begin, end string) {
	t.Helper()
	f.Patch(t, name, fmt.Sprintf(`{"spec":{"maintenance":{"timeWindow":{"begin":%q,"end":%q}}}}`, begin, end))
}
