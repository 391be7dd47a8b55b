package inventory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	listers "github.com/gardener/gardener/pkg/client/core/listers/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Shoots is a cache of the Shoots of one project, kept up to date by a watch. Everything that reads many Shoots shares it.
type Shoots struct {
	namespace string
	informer  cache.SharedIndexInformer
	lister    listers.ShootNamespaceLister
	logger    *slog.Logger
	clock     func() time.Time

	mu      sync.Mutex
	failure error
	failed  time.Time
	handled cache.ResourceEventHandlerRegistration
}

// NewShoots returns a cache that Run fills.
func NewShoots(client versioned.Interface, namespace string, logger *slog.Logger, clock func() time.Time) (*Shoots, error) {
	s := &Shoots{namespace: namespace, logger: logger, clock: clock}
	informer := cache.NewSharedIndexInformer(
		cache.ToListWatcherWithWatchListSemantics(s.source(client), client), &gardencorev1beta1.Shoot{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	)
	s.informer, s.lister = informer, listers.NewShootLister(informer.GetIndexer()).Shoots(namespace)
	if err := informer.SetTransform(slim); err != nil {
		return nil, fmt.Errorf("set up the cache of Shoots: %w", err)
	}
	// client-go's own handler would log every attempt as an error.
	if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) { s.fail(ctx, err) }); err != nil {
		return nil, fmt.Errorf("set up the cache of Shoots: %w", err)
	}
	// Whatever arrives shows that the watch works again.
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.recovered() },
		UpdateFunc: func(any, any) { s.recovered() },
		DeleteFunc: func(any) { s.recovered() },
	})
	if err != nil {
		return nil, fmt.Errorf("set up the cache of Shoots: %w", err)
	}
	s.handled = registration
	return s, nil
}

// source reads the Shoots. A watch that begins shows that the cache follows: a quiet fleet has no events that would. One that is refused shows that it does
// not: the informer tries some of these again by itself and tells nobody.
func (s *Shoots) source(client versioned.Interface) *cache.ListWatch {
	shoots := client.CoreV1beta1().Shoots(s.namespace)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (k8sruntime.Object, error) {
			return shoots.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := shoots.Watch(ctx, options)
			if err != nil {
				s.fail(ctx, err)
				return nil, err
			}
			s.recovered()
			return w, nil
		},
	}
}

// Run keeps the cache up to date until ctx ends.
func (s *Shoots) Run(ctx context.Context) { s.informer.RunWithContext(ctx) }

// WaitForSync waits until the cache has been filled for the first time, and reports whether it has before ctx ended.
func (s *Shoots) WaitForSync(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), s.handled.HasSynced)
}

// Informer returns the informer behind the cache.
func (s *Shoots) Informer() cache.SharedIndexInformer { return s.informer }

// Lister returns the Shoots of the project.
func (s *Shoots) Lister() listers.ShootNamespaceLister { return s.lister }

// Healthy returns nil while the cache is filled and follows its source. A cache that has lost its source keeps the last good picture.
func (s *Shoots) Healthy(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil {
		return fleet.Unavailable(fmt.Sprintf("the Shoots of %s cannot be watched since %s", s.namespace, s.failed.UTC().Format(time.RFC3339)), s.failure)
	}
	if !s.handled.HasSynced() {
		return fleet.Unavailable(fmt.Sprintf("the Shoots of %s have not been read yet", s.namespace), nil)
	}
	return nil
}

// Following reports whether the cache is filled and follows its source, so that what it shows is not old.
func (s *Shoots) Following() bool { return s.Healthy(context.Background()) == nil }

func (s *Shoots) fail(ctx context.Context, err error) {
	if errors.Is(err, context.Canceled) || passes(err) {
		return
	}
	s.mu.Lock()
	first := s.failure == nil
	s.failure = err
	if first {
		s.failed = s.clock()
	}
	s.mu.Unlock()
	if first {
		s.logger.WarnContext(ctx, "shoots cannot be watched", "namespace", s.namespace, "error", err)
		return
	}
	s.logger.DebugContext(ctx, "shoots still cannot be watched", "namespace", s.namespace, "error", err)
}

func (s *Shoots) recovered() {
	s.mu.Lock()
	again := s.failure != nil
	s.failure = nil
	s.mu.Unlock()
	if again {
		s.logger.Info("shoots are watched again", "namespace", s.namespace)
	}
}

// passes reports whether a watch ended in a way that belongs to watches: its connection was closed, or what it was to begin from is too old.
func passes(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
