package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	"github.com/gardener/gardener/pkg/client/core/clientset/versioned/fake"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/inventory"
	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
)

func TestShootsBeforeTheFirstList(t *testing.T) {
	t.Parallel()
	shoots, err := inventory.NewShoots(fake.NewSimpleClientset(), testNamespace, silent, newClock().Now)
	require.NoError(t, err)
	err = shoots.Healthy(t.Context())
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	require.ErrorContains(t, err, "have not been read yet")
	require.False(t, shoots.Following())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, shoots.WaitForSync(ctx), "not filled when the wait ended")
}

// A cache that has lost its source says so and since when, keeps its picture, and is well again as soon as a watch begins, also when nothing happens in
// the fleet.
func TestShootsLoseTheirSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		client := fake.NewSimpleClientset(newShoot(1))
		var away atomic.Bool
		watches := make(chan *watch.FakeWatcher, 100)
		client.PrependReactor("list", "shoots", func(clienttesting.Action) (bool, k8sruntime.Object, error) {
			return away.Load(), nil, errors.New("connection refused")
		})
		client.PrependWatchReactor("shoots", func(clienttesting.Action) (bool, watch.Interface, error) {
			if away.Load() {
				return true, nil, errors.New("connection refused")
			}
			w := watch.NewFakeWithOptions(watch.FakeOptions{})
			watches <- w
			return true, w, nil
		})
		shoots := runCache(t, client, testNamespace, clock.Now)
		require.NoError(t, shoots.Healthy(t.Context()))

		for range 2 {
			away.Store(true)
			since := clock.Now()
			(<-watches).Stop()
			var err error
			await.That(t, "the loss", func() error {
				if err = shoots.Healthy(t.Context()); err == nil {
					return errors.New("still well")
				}
				return nil
			})
			require.ErrorIs(t, err, fleet.ErrUnavailable)
			require.ErrorContains(t, err, "the Shoots of garden-demo cannot be watched since "+since.Format(time.RFC3339))
			clock.Advance(time.Hour)
			require.ErrorContains(t, shoots.Healthy(t.Context()), since.Format(time.RFC3339))
			all, err := shoots.Lister().List(labels.Everything())
			require.NoError(t, err)
			require.Len(t, all, 1, "the last good picture stays")
			away.Store(false)
			await.That(t, "the recovery", func() error { return shoots.Healthy(t.Context()) })
			require.True(t, shoots.Following())
		}
	})
}

// An end that belongs to watches is not a loss.
func TestShootsWatchExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewSimpleClientset(newShoot(1))
		watches := make(chan *watch.FakeWatcher, 100)
		client.PrependWatchReactor("shoots", func(clienttesting.Action) (bool, watch.Interface, error) {
			w := watch.NewFakeWithOptions(watch.FakeOptions{})
			watches <- w
			return true, w, nil
		})
		shoots := runCache(t, client, testNamespace, newClock().Now)
		(<-watches).Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old"})
		next := <-watches
		require.NoError(t, shoots.Healthy(t.Context()))
		next.Stop()
		<-watches
		require.NoError(t, shoots.Healthy(t.Context()))
	})
}

// clientFor returns a client that leads through the fleet's door.
func clientFor(t testing.TB, f *landscape.Fleet) versioned.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", f.Kubeconfig)
	require.NoError(t, err)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.QPS, config.Burst = 1000, 1000
	config.WarningHandlerWithContext = rest.NoWarnings{}
	connections, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(connections.Transport) })
	client, err := versioned.NewForConfigAndClient(config, connections)
	require.NoError(t, err)
	return client
}

// With Gardener's own API server: an outage is seen and over when it is over, closed watches lose nothing.
func TestShootsOfALandscape(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 3, Version: "1.34.5"})
	shoots := runCache(t, clientFor(t, f), f.Namespace, time.Now)
	require.NoError(t, shoots.Healthy(t.Context()))

	f.SetFaults(t, "api: [{action: closeWatches, every: 50ms}, {action: refuse}]\n")
	await.That(t, "the loss", func() error {
		if shoots.Following() {
			return errors.New("still following")
		}
		return nil
	})
	f.ClearFaults(t)
	await.That(t, "the recovery", func() error { return shoots.Healthy(t.Context()) })

	f.SetFaults(t, "api: [{action: closeWatches, every: 100ms}]\n")
	name := f.Names(t)[0]
	f.Patch(t, name, `{"metadata":{"labels":{"account":"ga-new"}}}`)
	await.That(t, "the change", func() error {
		shoot, err := shoots.Lister().Get(name)
		if err != nil {
			return err
		}
		if shoot.Labels["account"] != "ga-new" {
			return fmt.Errorf("the label is %q", shoot.Labels["account"])
		}
		return nil
	})
}
