package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Feed is what fills one cache and keeps it up to date. It is safe for concurrent use.
type Feed struct {
	// what names the objects in messages, such as "the Shoots of garden-x".
	what   string
	logger *slog.Logger
	clock  func() time.Time

	mu      sync.Mutex
	failure error
	failed  time.Time
	handled cache.ResourceEventHandlerRegistration
}

// New returns the feed of a cache whose objects are called what, such as "the Shoots of garden-x". Attach joins it to the cache.
func New(what string, logger *slog.Logger, clock func() time.Time) *Feed {
	return &Feed{what: what, logger: logger, clock: clock}
}

// Source returns what a cache is to be filled from. A watch that begins shows that the cache follows: quiet objects have no events that would. One
// that is refused shows that it does not: the informer tries some of these again by itself and tells nobody.
func (f *Feed) Source(from *cache.ListWatch) *cache.ListWatch {
	followed := *from
	followed.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		w, err := from.WatchFuncWithContext(ctx, options)
		if err != nil {
			f.fail(ctx, err)
			return nil, err
		}
		f.recovered(ctx)
		return w, nil
	}
	return &followed
}

// Attach lets the feed hear what becomes of a cache that is filled from Source and does not run yet. It sets the cache's handler of watch errors.
func (f *Feed) Attach(informer cache.SharedIndexInformer) error {
	// client-go's own handler would log every attempt as an error.
	if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) { f.fail(ctx, err) }); err != nil {
		return fmt.Errorf("set up the cache of %s: %w", f.what, err)
	}
	// Whatever arrives shows that the watch works again.
	arrived := func() { f.recovered(context.Background()) }
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { arrived() }, UpdateFunc: func(any, any) { arrived() }, DeleteFunc: func(any) { arrived() },
	})
	if err != nil {
		return fmt.Errorf("set up the cache of %s: %w", f.what, err)
	}
	f.handled = registration
	return nil
}

// HasSynced reports whether the cache has been filled for the first time.
func (f *Feed) HasSynced() bool { return f.handled != nil && f.handled.HasSynced() }

// Wait waits until the cache has been filled for the first time, and reports whether it has before ctx ended.
func (f *Feed) Wait(ctx context.Context) bool { return cache.WaitForCacheSync(ctx.Done(), f.HasSynced) }

// Healthy returns nil while the cache is filled and follows its source. A cache that has lost its source keeps the last good picture.
func (f *Feed) Healthy(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure != nil {
		return fleet.Unavailable(fmt.Sprintf("%s cannot be watched since %s", f.what, f.failed.UTC().Format(time.RFC3339)), f.failure)
	}
	if !f.HasSynced() {
		return fleet.Unavailable(f.what+" have not been read yet", nil)
	}
	return nil
}

// Following reports whether the cache is filled and follows its source, so that what it shows is not old.
func (f *Feed) Following() bool { return f.Healthy(context.Background()) == nil }

func (f *Feed) fail(ctx context.Context, err error) {
	if errors.Is(err, context.Canceled) || passes(err) {
		return
	}
	f.mu.Lock()
	first := f.failure == nil
	f.failure = err
	if first {
		f.failed = f.clock()
	}
	f.mu.Unlock()
	if first {
		f.logger.WarnContext(ctx, "a cache does not follow its source any more", "cache", f.what, "error", err)
		return
	}
	f.logger.DebugContext(ctx, "a cache still does not follow its source", "cache", f.what, "error", err)
}

func (f *Feed) recovered(ctx context.Context) {
	f.mu.Lock()
	again := f.failure != nil
	f.failure = nil
	f.mu.Unlock()
	if again {
		f.logger.InfoContext(ctx, "a cache follows its source again", "cache", f.what)
	}
}

// passes reports whether a watch ended in a way that belongs to watches: its connection was closed, or what it was to begin from is too old.
func passes(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
