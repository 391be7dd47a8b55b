package feed_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/feed"
	"github.com/swell-fleet/swell/internal/fleet"
)

var noon = time.Date(2026, 5, 15, 12, 0, 0, 0, time.UTC)

// source is where a cache is filled from.
type source struct{ fault error }

// IsWatchListSemanticsUnSupported makes a cache list before it watches.
func (*source) IsWatchListSemanticsUnSupported() bool { return true }

func (s *source) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return &unstructured.UnstructuredList{}, nil
}

func (s *source) watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), s.fault
}

// filled returns a feed whose cache has been filled, with what the cache uses.
func filled(t *testing.T, s *source) (*feed.Feed, *cache.ListWatch) {
	t.Helper()
	f := feed.New("the Kymas of kcp", slog.New(slog.DiscardHandler), func() time.Time { return noon })
	require.False(t, f.HasSynced())
	from := f.Source(&cache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch})
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(from, s), &unstructured.Unstructured{}, 0, cache.Indexers{})
	require.NoError(t, f.Attach(informer))
	require.ErrorContains(t, f.Healthy(t.Context()), "the Kymas of kcp have not been read yet")
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	require.True(t, f.Wait(t.Context()))
	cancel()
	<-ended
	require.ErrorContains(t, f.Attach(informer), "set up the cache of the Kymas of kcp", "a cache that runs is too late")
	return f, from
}

func TestAFeedSaysSinceWhenItIsCut(t *testing.T) {
	t.Parallel()
	s := &source{}
	f, from := filled(t, s)
	require.NoError(t, f.Healthy(t.Context()))
	for _, fault := range []error{errors.New("connection refused"), apierrors.NewUnauthorized("Unauthorized")} {
		s.fault = fault
		_, err := from.WatchFuncWithContext(t.Context(), metav1.ListOptions{})
		require.ErrorIs(t, err, fault)
		require.False(t, f.Following())
		err = f.Healthy(t.Context())
		require.ErrorIs(t, err, fleet.ErrUnavailable)
		require.ErrorIs(t, err, fault)
		require.ErrorContains(t, err, "the Kymas of kcp cannot be watched since 2026-05-15T12:00:00Z")
	}
	s.fault = nil
	_, err := from.WatchFuncWithContext(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.True(t, f.Following(), "a watch that begins is enough, however quiet it is")
}

// What ends every watch now and then is no loss.
func TestEndsThatBelongToWatches(t *testing.T) {
	t.Parallel()
	s := &source{}
	f, from := filled(t, s)
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, apierrors.NewResourceExpired("too old"), context.Canceled} {
		s.fault = end
		_, err := from.WatchFuncWithContext(t.Context(), metav1.ListOptions{})
		require.ErrorIs(t, err, end)
		require.True(t, f.Following(), end)
	}
}
