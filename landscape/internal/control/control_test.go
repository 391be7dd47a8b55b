package control_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/swell-fleet/swell/landscape/internal/control"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/landscape"
)

func TestInfoNamesAllFleets(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 2})
	var info control.Info
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, "/info", nil, &info))
	require.Equal(t, landscape.Name, info.Simulator)
	require.Contains(t, info.Fleets, f.info)
	var list []control.FleetInfo
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, "/fleets", nil, &list))
	require.Contains(t, list, f.info)
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, "/healthz", nil, nil))
}

func TestKubeconfigSaysThatItIsASimulator(t *testing.T) {
	t.Parallel()
	for _, file := range []string{landscape.KubeconfigFile, landscape.AdminKubeconfigFile} {
		config, err := clientcmd.LoadFromFile(filepath.Join(mainDir, file))
		require.NoError(t, err)
		require.Contains(t, config.CurrentContext, "simulator")
		require.Contains(t, config.Contexts, config.CurrentContext)
		require.True(t, strings.HasPrefix(config.Clusters[config.CurrentContext].Server, "https://127.0.0.1:"))
	}
}

func TestRoutesWithoutNamespaceSpeakOfTheMainFleet(t *testing.T) {
	t.Parallel()
	var list []control.ShootSummary
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, "/shoots", nil, &list))
	require.Len(t, list, 5)
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodDelete, "/fleets/garden-main", nil, nil))
}

func TestWhatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1})
	base := "/fleets/" + f.info.Namespace
	for _, request := range []struct {
		method, path, body string
		code               int
	}{
		{http.MethodPost, "/fleets", `{"namespace":"default"}`, 400},
		{http.MethodPost, "/fleets", `{"namespace":"garden-x","colour":"blue"}`, 400},
		{http.MethodPost, "/fleets", `{"namespace":"garden-x","reconcileTime":5}`, 400},
		{http.MethodPost, "/fleets", `{"namespace":"` + f.info.Namespace + `"}`, 409},
		{http.MethodPost, base + "/faults", `{"api":[{"action":"burn"}]}`, 400},
		{http.MethodPost, base + "/clock", `{"speed":-1}`, 400},
		{http.MethodPost, base + "/shoots", `{"shoots":0}`, 400},
		{http.MethodGet, base + "/audit?since=yesterday", "", 400},
		{http.MethodGet, base + "/audit?colour=blue", "", 400},
		{http.MethodGet, base + "/shoots/c-none", "", 404},
		{http.MethodPut, base + "/shoots/c-none/status", `{}`, 404},
		{http.MethodDelete, base + "/shoots/c-none", "", 404},
		{http.MethodGet, "/fleets/garden-none", "", 404},
		{http.MethodGet, "/fleets/garden-none/faults", "", 404},
		{http.MethodGet, "/fleets/garden-none/clock", "", 404},
		{http.MethodPost, "/fleets/garden-none/clock", "{}", 404},
		{http.MethodPost, "/fleets/garden-none/reset", "", 404},
		{http.MethodGet, "/fleets/garden-none/audit", "", 404},
		{http.MethodGet, "/fleets/garden-none/shoots", "", 404},
		{http.MethodDelete, "/fleets/garden-none", "", 404},
		{http.MethodPut, base + "/shoots/" + f.names()[0] + "/status", `{"lastOperation":"wrong"}`, 422},
	} {
		require.Equal(t, request.code, call(t, request.method, request.path, request.body, nil), request)
	}
}

func TestForeignPageCannotDriveTheSimulator(t *testing.T) {
	t.Parallel()
	request, err := http.NewRequest(http.MethodPost, address+"/reset", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Origin", "https://evil.example")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusForbidden, response.StatusCode)
}

func TestAuditTellsRequestsFromCommits(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 2, "kubernetesVersion": "1.33.9"})
	names := f.names()
	var records control.AuditRecords
	f.control(http.MethodGet, "/audit", nil, &records)
	require.Empty(t, records.Requests)
	require.Empty(t, records.Commits, "laying down a fleet is no commit")

	_, err := f.upgrade(names[0], "1.99.0", false)
	require.Error(t, err)
	_, err = f.upgrade(names[0], fleetgen.UpgradeTarget, true)
	require.NoError(t, err)
	written, err := f.upgrade(names[0], fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	f.until(names[0], state(succeeded))

	f.control(http.MethodGet, "/audit", nil, &records)
	require.Len(t, records.Requests, 3)
	require.EqualValues(t, 422, records.Requests[0].Code)
	require.NotEmpty(t, records.Requests[0].Reason)
	require.True(t, records.Requests[1].DryRun)
	accepted := records.Requests[2]
	require.True(t, accepted.Accepted())
	require.Equal(t, "patch", accepted.Verb)
	require.Equal(t, names[0], accepted.Name)
	require.JSONEq(t, `{"spec":{"kubernetes":{"version":"1.34.7"}}}`, string(accepted.Body))
	require.Equal(t, written.Generation, accepted.Generation)
	require.Len(t, records.Commits, 1, "the gardenlet's writes change the status only")
	commit := records.Commits[0]
	require.Equal(t, accepted.Revision, commit.Revision)
	require.Equal(t, accepted.User, commit.User)
	require.Equal(t, "1.33.9", commit.OldVersion)
	require.Equal(t, "1.34.7", commit.NewVersion)
	require.EqualValues(t, 1, commit.OldGeneration)
	require.EqualValues(t, 2, commit.NewGeneration)

	f.control(http.MethodGet, "/audit?accepted=true&dryRun=false&versionChanged=true&name="+names[0], nil, &records)
	require.Len(t, records.Requests, 1)
	require.Len(t, records.Commits, 1)
	require.Zero(t, f.upgrades("?name="+names[1]).Total)

	file, err := os.ReadFile(filepath.Join(mainDir, landscape.AuditFile))
	require.NoError(t, err)
	lines := 0
	for line := range strings.Lines(string(file)) {
		require.True(t, json.Valid([]byte(line)))
		if strings.Contains(line, `"`+f.info.Namespace+`"`) {
			lines++
		}
	}
	require.Equal(t, 4, lines)

	f.control(http.MethodPost, "/audit/reset", nil, nil)
	require.Zero(t, f.upgrades("").Total)
}

func TestResetBringsTheFleetBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 10, "kubernetesVersion": "1.33.9", "reconcileTime": "0s"})
	names := f.names()
	f.control(http.MethodDelete, "/shoots/"+names[1]+"?now=true", nil, nil)
	_, err := f.upgrade(names[0], fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	f.until(names[0], state(succeeded))
	before := f.get(names[0])
	f.control(http.MethodPost, "/reset", nil, nil)
	require.Equal(t, names, f.names())
	after := f.get(names[0])
	require.Equal(t, "1.33.9", after.Spec.Kubernetes.Version)
	require.EqualValues(t, 1, after.Generation)
	require.NotEqual(t, before.UID, after.UID)
	require.Zero(t, f.upgrades("").Total)
	_, err = f.upgrade(names[0], fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	f.until(names[0], state(succeeded))
}

func TestGrowAddsShoots(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 3, "seed": 21})
	before := f.names()
	f.control(http.MethodPost, "/shoots", map[string]any{"shoots": 8}, &f.info)
	require.Equal(t, 8, f.info.Shoots)
	require.Subset(t, f.names(), before)
	data, err := os.ReadFile(f.info.Runtimes)
	require.NoError(t, err)
	var page fleetgen.RuntimesPage
	require.NoError(t, json.Unmarshal(data, &page))
	require.Equal(t, 8, page.Count)
}

func TestSameSeedSameFleet(t *testing.T) {
	t.Parallel()
	dump := func(f *fleet) (dump []string) {
		for _, name := range f.names() {
			shoot := f.get(name)
			window := shoot.Spec.Maintenance.TimeWindow
			dump = append(dump, strings.Join([]string{name, shoot.Spec.Kubernetes.Version, window.Begin, window.End, shoot.Spec.Region, shoot.Annotations[fleetgen.RuntimeIDAnnotation]}, " "))
		}
		return dump
	}
	request := map[string]any{"shoots": 15, "seed": 77, "mix": "varied"}
	first := dump(newFleet(t, request))
	require.Len(t, first, 15)
	require.Equal(t, first, dump(newFleet(t, request)))
	require.NotEqual(t, first, dump(newFleet(t, map[string]any{"shoots": 15, "seed": 78, "mix": "varied"})))
}

func TestForcedStatusStays(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1, "kubernetesVersion": "1.33.9", "reconcileTime": "0s"})
	name := f.names()[0]
	f.control(http.MethodPut, "/shoots/"+name+"/status", map[string]any{"lastOperation": map[string]any{"state": "Aborted", "type": "Reconcile"}}, nil)
	_, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	var shoot gardencorev1beta1.Shoot
	f.control(http.MethodGet, "/shoots/"+name, nil, &shoot)
	require.Equal(t, gardencorev1beta1.LastOperationStateAborted, shoot.Status.LastOperation.State)
	require.EqualValues(t, 1, shoot.Status.ObservedGeneration)
	f.control(http.MethodDelete, "/shoots/"+name+"/status", nil, nil)
	f.until(name, state(succeeded))
}

func TestClockRunsAtItsSpeed(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1, "kubernetesVersion": "1.33.9", "reconcileTime": "1h", "speed": 100_000, "offset": "1000h"})
	name := f.names()[0]
	var clock control.ClockStatus
	f.control(http.MethodGet, "/clock", nil, &clock)
	require.Greater(t, time.Until(clock.Now), 999*time.Hour)
	_, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	began := time.Now()
	f.until(name, state(succeeded))
	require.Less(t, time.Since(began), 30*time.Minute)
}

func TestDeletedFleetIsGone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 2, "namespace": "garden-gone1"})
	base := "/fleets/" + f.info.Namespace
	require.Equal(t, http.StatusNoContent, call(t, http.MethodDelete, base, nil, nil))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, base, nil, nil))
	_, err := f.client.CoreV1beta1().Shoots(f.info.Namespace).List(context.Background(), metav1.ListOptions{})
	require.Error(t, err)
	// The name is free again; the clean-up of the fleet removes this one.
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, "/fleets", map[string]any{"namespace": f.info.Namespace, "shoots": 1}, nil))
}
