package kyma_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/swell-fleet/swell/landscape/internal/apiserver"
	"github.com/swell-fleet/swell/landscape/internal/etcd"
	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/kyma"
)

// patience bounds every wait. It is generous, for busy machines.
const patience = 60 * time.Second

// One server serves all tests; each takes a namespace of its own.
var (
	server  *kyma.Server
	manager *kyma.Manager

	mu       sync.Mutex
	settings = map[string]kyma.Settings{}
)

func TestMain(m *testing.M) { os.Exit(run(m)) } //nolint:forbidigo // the tests end here

func run(m *testing.M) int {
	apiserver.Quiet()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	member, err := etcd.Start(ctx)
	if err != nil {
		panic(err)
	}
	if server, err = kyma.Start(ctx, member.Endpoint(), apiserver.NewIdentities()); err != nil {
		panic(err)
	}
	manager, err = kyma.NewManager(server, func(namespace string) (kyma.Settings, bool) {
		mu.Lock()
		defer mu.Unlock()
		s, ok := settings[namespace]
		return s, ok
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	managing, stop := context.WithCancel(context.Background())
	managed := make(chan struct{})
	go func() {
		defer close(managed)
		manager.Run(managing)
	}()
	code := m.Run()
	stop()
	<-managed
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "close server:", err)
		code = 1
	}
	if err := member.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "close etcd:", err)
		code = 1
	}
	return code
}

// fleet makes Kymas in the namespace of a test.
func fleet(t *testing.T, namespace string, s kyma.Settings, shoots ...string) {
	t.Helper()
	change(namespace, s)
	var members []kyma.Member
	for _, shoot := range shoots {
		members = append(members, kyma.Member{Namespace: namespace, RuntimeID: "rt-" + shoot, Shoot: shoot, Labels: map[string]string{"region": "eu-demo-1"}})
	}
	require.NoError(t, server.LayDown(t.Context(), members))
}

func change(namespace string, s kyma.Settings) {
	mu.Lock()
	settings[namespace] = s
	mu.Unlock()
	manager.Wake(namespace)
}

func move(t *testing.T, namespace, name, channel string, dry ...string) error {
	t.Helper()
	_, err := server.Client().Resource(kyma.Resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType,
		[]byte(`{"spec":{"channel":"`+channel+`"}}`), metav1.PatchOptions{DryRun: dry})
	return err
}

// until waits until a Kyma is as wanted.
func until(t *testing.T, namespace, name string, wanted func(s kyma.Summary) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		list, err := server.Summaries(t.Context(), namespace)
		require.NoError(t, err)
		for _, s := range list {
			if s.Name == name {
				return wanted(s)
			}
		}
		return false
	}, patience, 5*time.Millisecond)
}

func TestKymaMovesToAnotherChannel(t *testing.T) {
	t.Parallel()
	fleet(t, "moves", kyma.Settings{Lasting: 20 * time.Millisecond}, "c-1", "c-2")
	require.NoError(t, move(t, "moves", "rt-c-1", "fast", metav1.DryRunAll))
	require.NoError(t, move(t, "moves", "rt-c-2", "fast"))
	until(t, "moves", "rt-c-2", func(s kyma.Summary) bool { return s.State == "Ready" && s.ActiveChannel == "fast" && s.Generation == 2 })
	until(t, "moves", "rt-c-1", func(s kyma.Summary) bool {
		return s.Channel == "regular" && s.ActiveChannel == "regular" && s.Generation == 1 && s.State == "Ready"
	})
}

func TestDefinitionIsStrict(t *testing.T) {
	t.Parallel()
	fleet(t, "strict", kyma.Settings{}, "c-1")
	for _, channel := range []string{"", "x", "Fast", "1.2"} {
		require.True(t, apierrors.IsInvalid(move(t, "strict", "rt-c-1", channel)), channel)
	}
	require.True(t, apierrors.IsNotFound(move(t, "strict", "rt-c-9", "fast")))
}

// What the plan says happens, and ends when the plan changes.
func TestFaults(t *testing.T) {
	t.Parallel()
	for outcome, state := range map[faults.Outcome]string{faults.Fail: "Error", faults.Stuck: "Processing", faults.Warn: "Warning"} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			namespace := "fault-" + string(outcome)
			s := kyma.Settings{Lasting: 10 * time.Millisecond}
			s.Plan.Kyma.Shoots = map[string]faults.Outcome{"c-1": outcome}
			fleet(t, namespace, s, "c-1")
			require.NoError(t, move(t, namespace, "rt-c-1", "fast"))
			until(t, namespace, "rt-c-1", func(s kyma.Summary) bool { return s.State == state && s.Channel == "fast" })
			s.Plan = faults.Plan{}
			change(namespace, s)
			until(t, namespace, "rt-c-1", func(s kyma.Summary) bool { return s.State == "Ready" && s.ActiveChannel == "fast" })
		})
	}
}

func TestErrorThatRecovers(t *testing.T) {
	t.Parallel()
	s := kyma.Settings{Lasting: 100 * time.Millisecond}
	s.Plan.Kyma.Error = 1
	fleet(t, "recovers", s, "c-1")
	require.NoError(t, move(t, "recovers", "rt-c-1", "fast"))
	until(t, "recovers", "rt-c-1", func(s kyma.Summary) bool { return s.State == "Ready" && s.ActiveChannel == "fast" })
}

func TestRemoveAll(t *testing.T) {
	t.Parallel()
	fleet(t, "removed", kyma.Settings{}, "c-1", "c-2")
	require.NoError(t, server.RemoveAll(t.Context(), "removed"))
	list, err := server.Summaries(t.Context(), "removed")
	require.NoError(t, err)
	require.Empty(t, list)
}
