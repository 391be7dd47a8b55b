package inventory_test

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	"github.com/gardener/gardener/pkg/client/core/clientset/versioned/fake"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/inventory"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

const testNamespace = "garden-demo"

// start is when the clocks of these tests begin: a Wednesday at noon.
var start = time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)

// testClock stands still until it is moved.
type testClock struct{ us atomic.Int64 }

func newClock() *testClock {
	c := &testClock{}
	c.us.Store(start.UnixMicro())
	return c
}

func (c *testClock) Now() time.Time          { return time.UnixMicro(c.us.Load()).UTC() }
func (c *testClock) Advance(d time.Duration) { c.us.Add(d.Microseconds()) }

var silent = slog.New(slog.DiscardHandler)

// newShoot returns the Shoot c-N of the runtime rt-N, created N seconds before start less a day.
func newShoot(n int, changes ...func(*gardencorev1beta1.Shoot)) *gardencorev1beta1.Shoot {
	created := metav1.NewTime(start.Add(-24*time.Hour + time.Duration(n)*time.Second))
	shoot := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("c-%d", n), Namespace: testNamespace, UID: types.UID(fmt.Sprintf("uid-%d", n)), CreationTimestamp: created,
			Labels:      map[string]string{orchestration.GlobalAccountLabel: fmt.Sprintf("ga-%d", n%3), orchestration.SubAccountLabel: fmt.Sprintf("sa-%d", n%5)},
			Annotations: map[string]string{orchestration.RuntimeIDAnnotation: fmt.Sprintf("rt-%d", n)},
		},
		Spec: gardencorev1beta1.ShootSpec{
			Region:      "eu-demo-1",
			Provider:    gardencorev1beta1.Provider{Type: "AWS"},
			Kubernetes:  gardencorev1beta1.Kubernetes{Version: "1.33.4"},
			Maintenance: &gardencorev1beta1.Maintenance{TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{Begin: "220000+0000", End: "020000+0000"}},
		},
		Status: gardencorev1beta1.ShootStatus{LastOperation: &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationTypeReconcile, State: gardencorev1beta1.LastOperationStateSucceeded, Progress: 100, LastUpdateTime: created,
		}},
	}
	for _, change := range changes {
		change(shoot)
	}
	return shoot
}

func lastOperation(kind gardencorev1beta1.LastOperationType, state gardencorev1beta1.LastOperationState) func(*gardencorev1beta1.Shoot) {
	return func(s *gardencorev1beta1.Shoot) {
		s.Status.LastOperation.Type, s.Status.LastOperation.State = kind, state
	}
}

func deleted(s *gardencorev1beta1.Shoot) {
	s.DeletionTimestamp = &metav1.Time{Time: start}
	s.Finalizers = []string{"gardener"}
}

// newDocument returns what a broker tells of the runtime rt-N.
func newDocument(n int) runtime.RuntimeDTO {
	at := start.Add(-24*time.Hour + time.Duration(n)*time.Second)
	return runtime.RuntimeDTO{
		InstanceID: fmt.Sprintf("i-%d", n), RuntimeID: fmt.Sprintf("rt-%d", n), GlobalAccountID: fmt.Sprintf("ga-%d", n%3), ServicePlanName: "aws", ServicePlanID: "plan-aws",
		Status: runtime.RuntimeStatus{
			CreatedAt: at, ModifiedAt: at,
			Provisioning: &runtime.Operation{State: "succeeded", Type: runtime.Provision, OperationID: fmt.Sprintf("prov-%d", n), CreatedAt: at, UpdatedAt: at, FinishedStages: []string{}},
		},
	}
}

// counting is a store that counts writing transactions and can be away.
type counting struct {
	*store.Store

	updates atomic.Int64
	away    atomic.Pointer[error]
}

func (c *counting) Update(ctx context.Context, f func(ctx context.Context, tx fleet.Tx) error) error {
	if err := c.away.Load(); err != nil {
		return *err
	}
	c.updates.Add(1)
	return c.Store.Update(ctx, f)
}

func openSQLite(t testing.TB, clock func() time.Time) *counting {
	t.Helper()
	s, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: t.TempDir(), Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &counting{Store: s}
}

func openPostgres(t testing.TB, clock func() time.Time) *counting {
	t.Helper()
	s, err := store.OpenPostgres(t.Context(), store.PostgresOptions{URL: postgres.URL(t), Clock: clock, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &counting{Store: s}
}

// cached is a cache of Shoots that runs until the end of the test.
type cached struct {
	*inventory.Shoots

	client *fake.Clientset
}

func newCache(t testing.TB, clock func() time.Time, objects ...k8sruntime.Object) *cached {
	t.Helper()
	client := fake.NewSimpleClientset(objects...)
	return &cached{Shoots: runCache(t, client, testNamespace, clock), client: client}
}

func runCache(t testing.TB, client versioned.Interface, namespace string, clock func() time.Time) *inventory.Shoots {
	t.Helper()
	shoots, err := inventory.NewShoots(client, namespace, silent, clock)
	require.NoError(t, err)
	start := runInBackground(t, shoots.Run)
	start()
	require.True(t, shoots.WaitForSync(t.Context()))
	return shoots
}

// runInBackground returns a function that starts f, which ends with the test.
func runInBackground(t testing.TB, f func(ctx context.Context)) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	return func() { running.Go(func() { f(ctx) }) }
}

// set puts Shoots in place and waits until the cache has them; nil takes one away.
func (c *cached) set(t testing.TB, shoots map[int]*gardencorev1beta1.Shoot) {
	t.Helper()
	api := c.client.CoreV1beta1().Shoots(testNamespace)
	for n, shoot := range shoots {
		name := fmt.Sprintf("c-%d", n)
		_, err := api.Get(t.Context(), name, metav1.GetOptions{})
		switch {
		case shoot == nil:
			require.NoError(t, api.Delete(t.Context(), name, metav1.DeleteOptions{}))
		case err != nil:
			_, err = api.Create(t.Context(), shoot, metav1.CreateOptions{})
			require.NoError(t, err)
		default:
			_, err = api.Update(t.Context(), shoot, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
	}
	await.That(t, "the Shoots in the cache", func() error {
		for n, shoot := range shoots {
			have, err := c.Lister().Get(fmt.Sprintf("c-%d", n))
			if shoot == nil {
				if err == nil {
					return fmt.Errorf("c-%d is still there", n)
				}
				continue
			}
			if err != nil {
				return err
			}
			want, err := inventory.Slim(shoot)
			if err != nil {
				return err
			}
			if !equal(have, want) {
				return fmt.Errorf("c-%d is not up to date", n)
			}
		}
		return nil
	})
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// put imports documents.
func put(t testing.TB, s fleet.Store, source string, docs ...runtime.RuntimeDTO) fleet.ImportResult {
	t.Helper()
	var result fleet.ImportResult
	require.NoError(t, s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) (err error) {
		result, err = tx.PutRuntimes(ctx, source, docs)
		return err
	}))
	// The numbers are what most tests are about.
	result.Changes = nil
	return result
}

// list returns the runtimes of a store by instance ID.
func list(t testing.TB, s fleet.Reader) map[string]fleet.Runtime {
	t.Helper()
	out := map[string]fleet.Runtime{}
	for number := 1; ; number++ {
		rows, total, err := s.ListRuntimes(t.Context(), fleet.RuntimeFilter{States: []runtime.State{runtime.AllState}}, fleet.Page{Number: number, Size: 1000})
		require.NoError(t, err)
		for _, r := range rows {
			out[r.DTO.InstanceID] = r
		}
		if len(out) == total {
			return out
		}
	}
}
