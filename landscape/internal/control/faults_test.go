package control_test

import (
	"context"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/swell-fleet/swell/landscape/internal/audit"
	"github.com/swell-fleet/swell/landscape/internal/control"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
)

func (f *fleet) upgrades(query string) audit.Upgrades {
	f.t.Helper()
	var upgrades audit.Upgrades
	f.control(http.MethodGet, "/audit/upgrades"+query, nil, &upgrades)
	return upgrades
}

func TestLostAnswerIsCounted(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 2, "kubernetesVersion": "1.33.9"})
	names := f.names()
	f.control(http.MethodPost, "/faults", `{"api":[{"action":"lose","verbs":["patch"],"resources":["shoots"],"dryRun":false,"times":1}]}`, nil)
	_, err := f.upgrade(names[0], fleetgen.UpgradeTarget, true)
	require.NoError(t, err)
	_, err = f.upgrade(names[0], fleetgen.UpgradeTarget, false)
	require.Error(t, err)
	_, err = f.upgrade(names[1], fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	require.Equal(t, map[string]int{names[0]: 1, names[1]: 1}, f.upgrades("").PerShoot)

	var status control.FaultStatus
	f.control(http.MethodGet, "/faults", nil, &status)
	require.Equal(t, []int64{1}, status.Hits)
}

func TestWriteOfAClientThatVanishedIsCounted(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 30, "kubernetesVersion": "1.33.9"})
	names := f.names()
	patch := []byte(`{"spec":{"kubernetes":{"version":"` + fleetgen.UpgradeTarget + `"}}}`)
	for index, name := range names {
		// The later ones have time enough, the first ones have not.
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(index*index)*time.Millisecond/4)
		_, _ = f.client.CoreV1beta1().Shoots(f.info.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		cancel()
	}
	stored := func() map[string]int {
		upgraded := map[string]int{}
		for _, name := range names {
			if f.get(name).Spec.Kubernetes.Version == fleetgen.UpgradeTarget {
				upgraded[name] = 1
			}
		}
		return upgraded
	}
	require.NotEmpty(t, stored())
	// A write whose client is gone may still be on its way into the storage.
	require.Eventually(t, func() bool { return maps.Equal(stored(), f.upgrades("").PerShoot) }, patience, 10*time.Millisecond)
}

func TestFaultsStayInTheirFleet(t *testing.T) {
	t.Parallel()
	f, other := newFleet(t, map[string]any{"shoots": 1}), newFleet(t, map[string]any{"shoots": 1})
	ctx := context.Background()
	f.control(http.MethodPost, "/faults", "api: [{action: status, code: 503}]", nil)
	_, err := f.client.CoreV1beta1().CloudProfiles().List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsServiceUnavailable(err), err)
	_, err = other.client.CoreV1beta1().CloudProfiles().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	f.control(http.MethodDelete, "/faults", nil, nil)
	_, err = f.client.CoreV1beta1().CloudProfiles().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
}

func TestConflictIsToldAsOne(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1, "kubernetesVersion": "1.33.9"})
	name := f.names()[0]
	f.control(http.MethodPost, "/faults", "api: [{action: status, code: 409, verbs: [patch], times: 1}]", nil)
	_, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
	require.True(t, apierrors.IsConflict(err), err)
	_, err = f.upgrade(name, fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	require.Equal(t, 1, f.upgrades("").Total)
}

func TestAPIServerIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1})
	ctx := context.Background()
	f.control(http.MethodPost, "/faults", "api: [{action: refuse, for: 3s}]", nil)
	list := func() error {
		_, err := f.client.CoreV1beta1().CloudProfiles().List(ctx, metav1.ListOptions{})
		return err
	}
	require.Eventually(t, func() bool { return list() != nil }, patience, time.Millisecond)
	require.Eventually(t, func() bool { return list() == nil }, patience, 5*time.Millisecond)
}

func TestGarbageIsAnErrorForTheClient(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1})
	f.control(http.MethodPost, "/faults", "api: [{action: garbage, times: 1}]", nil)
	_, err := f.client.CoreV1beta1().CloudProfiles().List(context.Background(), metav1.ListOptions{})
	require.Error(t, err)
}

func TestWatchesEnd(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1})
	watcher, err := f.client.CoreV1beta1().Shoots(f.info.Namespace).Watch(context.Background(), metav1.ListOptions{ResourceVersion: "0"})
	require.NoError(t, err)
	f.control(http.MethodPost, "/faults", "api: [{action: closeWatches}]", nil)
	require.Eventually(t, func() bool {
		select {
		case _, open := <-watcher.ResultChan():
			return !open
		default:
			return false
		}
	}, patience, time.Millisecond)
}
