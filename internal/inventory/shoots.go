package inventory

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	listers "github.com/gardener/gardener/pkg/client/core/listers/core/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/feed"
)

// Shoots is a cache of the Shoots of one project, kept up to date by a watch. Everything that reads many Shoots shares it.
type Shoots struct {
	informer cache.SharedIndexInformer
	lister   listers.ShootNamespaceLister
	clock    func() time.Time
	feed     *feed.Feed
}

// NewShoots returns a cache that Run fills.
func NewShoots(client versioned.Interface, namespace string, logger *slog.Logger, clock func() time.Time) (*Shoots, error) {
	s := &Shoots{clock: clock, feed: feed.New("the Shoots of "+namespace, logger, clock)}
	shoots := client.CoreV1beta1().Shoots(namespace)
	source := s.feed.Source(&cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (k8sruntime.Object, error) { return shoots.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return shoots.Watch(ctx, o) },
	})
	informer := cache.NewSharedIndexInformer(
		cache.ToListWatcherWithWatchListSemantics(source, client), &gardencorev1beta1.Shoot{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	)
	s.informer, s.lister = informer, listers.NewShootLister(informer.GetIndexer()).Shoots(namespace)
	if err := informer.SetTransform(slim); err != nil {
		return nil, fmt.Errorf("set up the cache of Shoots: %w", err)
	}
	if err := s.feed.Attach(informer); err != nil {
		return nil, err
	}
	return s, nil
}

// Run keeps the cache up to date until ctx ends.
func (s *Shoots) Run(ctx context.Context) { s.informer.RunWithContext(ctx) }

// WaitForSync waits until the cache has been filled for the first time, and reports whether it has before ctx ended.
func (s *Shoots) WaitForSync(ctx context.Context) bool { return s.feed.Wait(ctx) }

// Informer returns the informer behind the cache.
func (s *Shoots) Informer() cache.SharedIndexInformer { return s.informer }

// Lister returns the Shoots of the project.
func (s *Shoots) Lister() listers.ShootNamespaceLister { return s.lister }

// Healthy returns nil while the cache is filled and follows its source. A cache that has lost its source keeps the last good picture.
func (s *Shoots) Healthy(ctx context.Context) error { return s.feed.Healthy(ctx) }

// Following reports whether the cache is filled and follows its source, so that what it shows is not old.
func (s *Shoots) Following() bool { return s.feed.Following() }
