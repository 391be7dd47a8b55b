package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenerfake "github.com/gardener/gardener/pkg/client/core/clientset/versioned/fake"
	gardenerclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	gardenerinformers "github.com/gardener/gardener/pkg/client/core/informers/externalversions"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// pagedGardener is a Gardener whose lists have pages; the fake clientset of Gardener knows none.
type pagedGardener struct {
	gardenerclient.CoreV1beta1Interface
	gardenerclient.ShootInterface

	list func(options metav1.ListOptions) (*gardencorev1beta1.ShootList, error)
}

func (g pagedGardener) Shoots(namespace string) gardenerclient.ShootInterface {
	if namespace != gardenNamespace {
		panic("asked for namespace " + namespace)
	}
	return g
}

func (g pagedGardener) List(ctx context.Context, options metav1.ListOptions) (*gardencorev1beta1.ShootList, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return g.list(options)
}

// pagesOf answers with pages of two Shoots whatever limit is asked for, as a server may.
func pagesOf(t *testing.T, shoots ...*gardencorev1beta1.Shoot) func(metav1.ListOptions) (*gardencorev1beta1.ShootList, error) {
	t.Helper()
	return func(options metav1.ListOptions) (*gardencorev1beta1.ShootList, error) {
		require.Positive(t, options.Limit)
		begin := 0
		if options.Continue != "" {
			var err error
			begin, err = strconv.Atoi(options.Continue)
			require.NoError(t, err)
		}
		end := min(begin+2, len(shoots))
		page := &gardencorev1beta1.ShootList{}
		for _, shoot := range shoots[begin:end] {
			page.Items = append(page.Items, *shoot)
		}
		if end < len(shoots) {
			page.Continue = strconv.Itoa(end)
		}
		return page, nil
	}
}

// manyShoots makes n Shoots with their runtimes.
func manyShoots(n int) ([]*gardencorev1beta1.Shoot, []runtime.RuntimeDTO, []string) {
	shoots, runtimes, ids := []*gardencorev1beta1.Shoot{}, []runtime.RuntimeDTO{}, []string{}
	for i := range n {
		id := fmt.Sprintf("rt-%02d", i)
		shoots = append(shoots, newShoot(fmt.Sprintf("c-%02d", i), id))
		runtimes = append(runtimes, provisioned(id))
		ids = append(ids, id)
	}
	return shoots, runtimes, ids
}

func TestResolveReadsAllPages(t *testing.T) {
	t.Parallel()
	shoots, runtimes, ids := manyShoots(7)
	lister := listing(runtimes...)
	resolver := orchestration.NewGardenerRuntimeResolver(pagedGardener{list: pagesOf(t, shoots...)}, gardenNamespace, lister, nil)
	resolved, err := resolver.Resolve(all())
	require.NoError(t, err)
	require.Equal(t, ids, runtimeIDs(resolved))
	require.Equal(t, 1, lister.calls)
}

// A list that expires on the way begins again, without the Shoots that were read before: they may be gone.
func TestResolveBeginsExpiredListAgain(t *testing.T) {
	t.Parallel()
	for name, expired := range map[string]error{
		"expired": apierrors.NewResourceExpired("the continue token is too old"),
		"gone":    &apierrors.StatusError{ErrStatus: metav1.Status{Code: 410, Reason: metav1.StatusReasonGone, Message: "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoots, runtimes, ids := manyShoots(7)
			failures := 0
			resolver := orchestration.NewGardenerRuntimeResolver(pagedGardener{list: func(options metav1.ListOptions) (*gardencorev1beta1.ShootList, error) {
				if options.Continue == "4" && failures < 3 {
					failures++
					return nil, expired
				}
				if failures == 3 {
					return pagesOf(t, shoots[1:]...)(options)
				}
				return pagesOf(t, shoots...)(options)
			}}, gardenNamespace, listing(runtimes...), nil)
			resolved, err := resolver.Resolve(all())
			require.NoError(t, err)
			require.Equal(t, ids[1:], runtimeIDs(resolved))
		})
	}

	t.Run("but not for ever", func(t *testing.T) {
		t.Parallel()
		shoots, runtimes, _ := manyShoots(5)
		begun := 0
		resolver := orchestration.NewGardenerRuntimeResolver(pagedGardener{list: func(options metav1.ListOptions) (*gardencorev1beta1.ShootList, error) {
			if options.Continue != "" {
				return nil, apierrors.NewResourceExpired("too old")
			}
			begun++
			return pagesOf(t, shoots...)(options)
		}}, gardenNamespace, listing(runtimes...), nil)
		resolved, err := resolver.Resolve(all())
		require.True(t, apierrors.IsResourceExpired(err), "%v", err)
		require.Nil(t, resolved)
		require.Equal(t, 6, begun)
	})
	t.Run("not without a token", func(t *testing.T) {
		t.Parallel()
		begun := 0
		resolver := orchestration.NewGardenerRuntimeResolver(pagedGardener{list: func(metav1.ListOptions) (*gardencorev1beta1.ShootList, error) {
			begun++
			return nil, apierrors.NewResourceExpired("too old")
		}}, gardenNamespace, listing(), nil)
		_, err := resolver.Resolve(all())
		require.True(t, apierrors.IsResourceExpired(err), "%v", err)
		require.Equal(t, 1, begun)
	})
	t.Run("a server that turns in a circle", func(t *testing.T) {
		t.Parallel()
		resolver := orchestration.NewGardenerRuntimeResolver(pagedGardener{list: func(metav1.ListOptions) (*gardencorev1beta1.ShootList, error) {
			return &gardencorev1beta1.ShootList{ListMeta: metav1.ListMeta{Continue: "same"}}, nil
		}}, gardenNamespace, listing(), nil)
		_, err := resolver.Resolve(all())
		require.ErrorContains(t, err, "same empty page")
	})
}

// When a source fails there is an error and no list, whatever was read before.
func TestResolveReturnsNoPart(t *testing.T) {
	t.Parallel()
	shoots, runtimes, _ := manyShoots(7)
	away := errors.New("connection refused")

	broken := pagedGardener{list: func(options metav1.ListOptions) (*gardencorev1beta1.ShootList, error) {
		if options.Continue == "4" {
			return nil, away
		}
		return pagesOf(t, shoots...)(options)
	}}
	resolved, err := orchestration.NewGardenerRuntimeResolver(broken, gardenNamespace, listing(runtimes...), nil).Resolve(all())
	require.ErrorIs(t, err, away)
	require.ErrorContains(t, err, "list Shoots in garden-demo")
	require.Nil(t, resolved)

	lister := listing(runtimes...)
	lister.err = away
	resolution, err := orchestration.NewGardenerRuntimeResolver(gardener(shoots...), gardenNamespace, lister, nil).Preview(t.Context(), all())
	require.ErrorIs(t, err, away)
	require.ErrorContains(t, err, "list runtimes")
	require.Zero(t, resolution)

	_, err = orchestration.NewCachedGardenerRuntimeResolver(brokenCache{away}, lister, nil).Resolve(all())
	require.ErrorIs(t, err, away)
}

type brokenCache struct{ err error }

func (c brokenCache) List(labels.Selector) ([]*gardencorev1beta1.Shoot, error) { return nil, c.err }

// Targets that are refused are refused before anybody is asked.
func TestResolveAsksNobodyForRefusedTargets(t *testing.T) {
	t.Parallel()
	lister := listing()
	resolver := orchestration.NewGardenerRuntimeResolver(pagedGardener{list: func(metav1.ListOptions) (*gardencorev1beta1.ShootList, error) {
		t.Error("Gardener was asked")
		return nil, errors.New("asked")
	}}, gardenNamespace, lister, nil)
	_, err := resolver.Resolve(orchestration.TargetSpec{})
	require.Error(t, err)
	require.Zero(t, lister.calls)
}

func TestResolveUnderContext(t *testing.T) {
	t.Parallel()
	shoots, runtimes, ids := manyShoots(3)
	ctx, cancel := context.WithCancel(t.Context())
	listed := orchestration.NewGardenerRuntimeResolver(pagedGardener{list: pagesOf(t, shoots...)}, gardenNamespace, listing(runtimes...), nil)
	cached := orchestration.NewCachedGardenerRuntimeResolver(cacheOf(t, shoots...), listing(runtimes...), nil)
	for _, resolver := range []*orchestration.GardenerRuntimeResolver{listed, cached} {
		resolved, err := resolver.ResolveContext(ctx, all())
		require.NoError(t, err)
		require.Equal(t, ids, runtimeIDs(resolved))
	}
	cancel()
	for _, resolver := range []*orchestration.GardenerRuntimeResolver{listed, cached} {
		_, err := resolver.ResolveContext(ctx, all())
		require.ErrorIs(t, err, context.Canceled)
	}
}

// A resolver that lacks something says what, and does not panic.
func TestResolverWithoutItsParts(t *testing.T) {
	t.Parallel()
	var none *orchestration.GardenerRuntimeResolver
	for want, resolver := range map[string]*orchestration.GardenerRuntimeResolver{
		"without a Gardener client":    orchestration.NewGardenerRuntimeResolver(nil, gardenNamespace, listing(), nil),
		"without a Gardener namespace": orchestration.NewGardenerRuntimeResolver(gardener(), "", listing(), nil),
		"without a lister of runtimes": orchestration.NewGardenerRuntimeResolver(gardener(), gardenNamespace, nil, nil),
		"without a lister of Shoots":   orchestration.NewCachedGardenerRuntimeResolver(nil, listing(), nil),
		"with its constructor":         {},
		"not made":                     none,
	} {
		resolved, err := resolver.Resolve(all())
		require.ErrorContains(t, err, want)
		require.Nil(t, resolved)
	}
}

// cacheOf is the lister of an informer that has synced.
func cacheOf(t *testing.T, shoots ...*gardencorev1beta1.Shoot) orchestration.ShootLister {
	t.Helper()
	clientset := gardenerfake.NewSimpleClientset()
	for _, shoot := range shoots {
		require.NoError(t, clientset.Tracker().Add(shoot))
	}
	factory := gardenerinformers.NewSharedInformerFactoryWithOptions(clientset, 0, gardenerinformers.WithNamespace(gardenNamespace))
	informer := factory.Core().V1beta1().Shoots()
	synced := informer.Informer().HasSynced
	stop := make(chan struct{})
	factory.Start(stop)
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	require.True(t, cache.WaitForCacheSync(stop, synced))
	return informer.Lister().Shoots(gardenNamespace)
}

// The resolver over an informer's cache gives what the one that lists gives, and leaves the cache as it is.
func TestResolveFromInformer(t *testing.T) {
	t.Parallel()
	shoots, runtimes, _ := manyShoots(9)
	shoots[3].Labels, shoots[3].Annotations = nil, nil
	shoots[4].Spec.Maintenance = nil
	beingDeleted(shoots[5])
	other := newShoot("c-other", "rt-01")
	other.Namespace = "garden-other"
	targets := including(orchestration.RuntimeTarget{Shoot: "c-07"}, orchestration.RuntimeTarget{Target: "all"})

	shootCache := cacheOf(t, append(shoots, other)...)
	before, err := shootCache.List(labels.Everything())
	require.NoError(t, err)
	copies := map[string]*gardencorev1beta1.Shoot{}
	for _, shoot := range before {
		copies[shoot.Name] = shoot.DeepCopy()
	}

	cached, err := orchestration.NewCachedGardenerRuntimeResolver(shootCache, listing(runtimes...), nil).Preview(t.Context(), targets)
	require.NoError(t, err)
	listed, err := orchestration.NewGardenerRuntimeResolver(gardener(append(shoots, other)...), gardenNamespace, listing(runtimes...), nil).
		Preview(t.Context(), targets)
	require.NoError(t, err)
	require.Equal(t, listed, cached)
	require.Equal(t, []string{"rt-07", "rt-00", "rt-01", "rt-02", "rt-04", "rt-06", "rt-08"}, runtimeIDs(cached.Runtimes))
	require.Equal(t, map[string]orchestration.LeftOutReason{
		"c-03": orchestration.LeftOutNoRuntimeID, "c-05": orchestration.LeftOutShootBeingDeleted,
	}, reasons(cached.LeftOut))
	for _, shoot := range before {
		require.Equal(t, copies[shoot.Name], shoot)
	}
}

// One resolver serves many goroutines, while what its sources say changes.
func TestResolveConcurrently(t *testing.T) {
	t.Parallel()
	shoots, runtimes, ids := manyShoots(20)
	lister := listing(runtimes...)
	resolver := orchestration.NewCachedGardenerRuntimeResolver(cacheOf(t, shoots...), lister, nil)
	done := make(chan error)
	for range 8 {
		go func() {
			for range 20 {
				resolved, err := resolver.Resolve(including(orchestration.RuntimeTarget{GlobalAccount: "^ga-", Region: "demo"}))
				if err != nil {
					done <- err
					return
				}
				if len(resolved) != len(ids) && len(resolved) != 5 {
					done <- fmt.Errorf("%d targets", len(resolved))
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		lister.set(runtimes[:5]...)
		require.NoError(t, <-done)
		lister.set(runtimes...)
	}
}
