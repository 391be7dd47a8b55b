package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	coreclientset "github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/swell-fleet/swell/landscape/internal/apiserver"
	"github.com/swell-fleet/swell/landscape/internal/control"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/gardenlet"
	"github.com/swell-fleet/swell/landscape/internal/issuer"
	"github.com/swell-fleet/swell/landscape/internal/landscape"
)

// patience bounds every wait of these tests. It is generous, for busy machines.
const patience = 60 * time.Second

// One landscape serves all tests; each takes fleets of its own.
var (
	shared  *landscape.Landscape
	address string
	mainDir string
)

func TestMain(m *testing.M) {
	apiserver.Quiet()
	issuer.Quiet()
	dir, err := os.MkdirTemp("", "landscape-test-")
	must(err)
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	shared, err = landscape.Start(ctx, dir, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	must(err)
	mainDir = dir
	fleet, err := shared.CreateFleet(ctx, landscape.FleetOptions{
		Generate: fleetgen.Options{Namespace: "garden-main", Shoots: 5}, Settings: gardenlet.Settings{Steps: 1}, Folder: dir,
	})
	must(err)
	server := httptest.NewServer(control.New(shared, fleet.Namespace, func() control.Info { return control.Info{Simulator: landscape.Name} }))
	address = server.URL
	m.Run()
	server.Close()
	must(shared.Close())
}

// must ends the test binary: without a landscape there is nothing to test.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// fleet is a fleet for one test.
type fleet struct {
	t      *testing.T
	info   control.FleetInfo
	client coreclientset.Interface
}

var fleetNumber atomic.Int64

// newFleet makes a fleet from the fields of a request, as in "shoots": 3.
func newFleet(t *testing.T, fields map[string]any) *fleet {
	t.Helper()
	request := map[string]any{"namespace": fmt.Sprintf("garden-t%d", fleetNumber.Add(1)), "reconcileTime": "60ms", "steps": 2}
	for key, value := range fields {
		request[key] = value
	}
	f := &fleet{t: t}
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, "/fleets", request, &f.info))
	f.client = clientOf(t, f.info.Kubeconfig)
	t.Cleanup(func() {
		require.Equal(t, http.StatusNoContent, call(t, http.MethodDelete, "/fleets/"+f.info.Namespace, nil, nil))
	})
	return f
}

// clientOf returns an unthrottled client for a kubeconfig.
func clientOf(t testing.TB, kubeconfig string) coreclientset.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	client, err := coreclientset.NewForConfig(config)
	require.NoError(t, err)
	return client
}

// call sends a request to the control interface and returns the status.
func call(t *testing.T, method, path string, body, into any) int {
	t.Helper()
	var content io.Reader = http.NoBody
	switch body := body.(type) {
	case nil:
	case string:
		content = bytes.NewBufferString(body)
	default:
		data, err := json.Marshal(body)
		require.NoError(t, err)
		content = bytes.NewReader(data)
	}
	request, err := http.NewRequest(method, address+path, content)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if response.StatusCode >= http.StatusBadRequest {
		t.Logf("%s %s: %s", method, path, data)
	}
	if into != nil && len(data) > 0 {
		require.NoError(t, json.Unmarshal(data, into), string(data))
	}
	return response.StatusCode
}

// control sends a request about the fleet and wants it to succeed.
func (f *fleet) control(method, path string, body, into any) {
	f.t.Helper()
	code := call(f.t, method, "/fleets/"+f.info.Namespace+path, body, into)
	require.Less(f.t, code, http.StatusMultipleChoices, path)
}

func (f *fleet) names() []string {
	f.t.Helper()
	var list []control.ShootSummary
	f.control(http.MethodGet, "/shoots", nil, &list)
	names := make([]string, 0, len(list))
	for _, shoot := range list {
		names = append(names, shoot.Name)
	}
	return names
}

func (f *fleet) get(name string) *gardencorev1beta1.Shoot {
	f.t.Helper()
	// Past the door, so that faults do not disturb the looking.
	shoot, err := shared.Shoot(context.Background(), f.info.Namespace, name)
	require.NoError(f.t, err)
	return shoot
}

// upgrade sends a patch of the version through the fleet's door.
func (f *fleet) upgrade(name, version string, dryRun bool) (*gardencorev1beta1.Shoot, error) {
	f.t.Helper()
	options := metav1.PatchOptions{}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	patch := fmt.Sprintf(`{"spec":{"kubernetes":{"version":%q}}}`, version)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return f.client.CoreV1beta1().Shoots(f.info.Namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), options)
}

// until waits for a Shoot to be as wanted, and returns it.
func (f *fleet) until(name string, wanted func(*gardencorev1beta1.Shoot) bool) *gardencorev1beta1.Shoot {
	f.t.Helper()
	var shoot *gardencorev1beta1.Shoot
	require.Eventually(f.t, func() bool {
		shoot = f.get(name)
		return wanted(shoot)
	}, patience, 5*time.Millisecond)
	return shoot
}

// state is a condition for until: the last operation is in the given state, on
// the generation that the Shoot has now.
func state(wanted gardencorev1beta1.LastOperationState) func(*gardencorev1beta1.Shoot) bool {
	return func(shoot *gardencorev1beta1.Shoot) bool {
		last := shoot.Status.LastOperation
		return shoot.Status.ObservedGeneration == shoot.Generation && last != nil && last.State == wanted
	}
}
