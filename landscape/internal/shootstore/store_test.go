package shootstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/landscape/internal/etcd"
)

// recorder collects what a watch sees.
type recorder struct {
	mu      sync.Mutex
	changes []Change
}

func (r *recorder) see(change Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = append(r.changes, change)
}

func shoot(name, version string, generation int64) *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-a", Name: name, Generation: generation},
		Spec:       gardencorev1beta1.ShootSpec{Kubernetes: gardencorev1beta1.Kubernetes{Version: version}},
	}
}

func TestWatchSeesEveryChangeOnceUnderItsOwnRevision(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	member, err := etcd.Start(ctx)
	require.NoError(t, err)
	store := New(member.Client())
	begin, err := store.Revision(ctx)
	require.NoError(t, err)
	seen := &recorder{}
	watch := store.NewWatch(begin, seen.see)
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- watch.Run(run) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, member.Close())
	})

	const count = 100
	var shoots []*gardencorev1beta1.Shoot
	for index := range count {
		shoots = append(shoots, shoot(fmt.Sprintf("c-%d", index), "1.33.9", 1))
	}
	require.NoError(t, store.Put(ctx, shoots))
	require.NoError(t, store.Put(ctx, []*gardencorev1beta1.Shoot{shoot("c-7", "1.34.7", 2)}))
	require.NoError(t, store.DeleteAll(ctx, "garden-b"), "a namespace without Shoots")
	require.NoError(t, store.DeleteAll(ctx, "garden-a"))
	require.NoError(t, watch.Sync(ctx))

	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Len(t, seen.changes, 2*count+1)
	revision := begin
	for _, change := range seen.changes {
		require.Greater(t, change.Revision, revision, "two changes of one revision")
		revision = change.Revision
		require.Equal(t, "garden-a", change.Namespace)
	}
	for _, change := range seen.changes[:count] {
		require.Nil(t, change.Before)
		require.Equal(t, "1.33.9", change.After.Spec.Kubernetes.Version)
		require.Equal(t, fmt.Sprint(change.Revision), change.After.ResourceVersion)
	}
	upgrade := seen.changes[count]
	require.Equal(t, &Summary{Version: "1.33.9", Generation: 1}, upgrade.Before)
	require.Equal(t, "1.34.7", upgrade.After.Spec.Kubernetes.Version)
	for _, change := range seen.changes[count+1:] {
		require.NotNil(t, change.Before)
		require.Nil(t, change.After)
	}
}

func TestWatchThatBeginsLaterKnowsWhatWasBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	member, err := etcd.Start(ctx)
	require.NoError(t, err)
	store := New(member.Client())
	require.NoError(t, store.Put(ctx, []*gardencorev1beta1.Shoot{shoot("c-1", "1.33.9", 4)}))
	begin, err := store.Revision(ctx)
	require.NoError(t, err)
	seen := &recorder{}
	watch := store.NewWatch(begin, seen.see)
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- watch.Run(run) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, member.Close())
	})
	require.NoError(t, store.Delete(ctx, "garden-a", "c-1"))
	require.NoError(t, watch.Sync(ctx))
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Equal(t, []Change{{
		Revision: seen.changes[0].Revision, Namespace: "garden-a", Name: "c-1", Before: &Summary{Version: "1.33.9", Generation: 4},
	}}, seen.changes)
}
