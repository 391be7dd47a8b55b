// Package gardenlet simulates the component of Gardener that reconciles Shoots.
// It follows the status protocol of the real one: which generation it works on,
// the state of the last operation with its progress, conditions, error codes,
// the maintenance window of Shoots that confine their rollouts, and the
// operation annotations. There is no cluster behind it; reconciling takes time
// and does nothing.
package gardenlet

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	coreclientset "github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	coreinformers "github.com/gardener/gardener/pkg/client/core/informers/externalversions"
	corelisters "github.com/gardener/gardener/pkg/client/core/listers/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// workers is how many Shoots are looked at in parallel. Looking is short; the
// time that a reconciliation takes is spent in the queue.
const workers = 6

// Gardenlet reconciles the Shoots of all fleets. Run it once.
type Gardenlet struct {
	log    *slog.Logger
	client coreclientset.Interface
	lister corelisters.ShootLister
	synced cache.InformerSynced
	queue  workqueue.TypedDelayingInterface[cache.ObjectName]

	mu     sync.Mutex
	fleets map[string]*fleet
}

// New returns a gardenlet over the client, and registers it with the informers,
// which the caller starts.
func New(client coreclientset.Interface, informers coreinformers.SharedInformerFactory, log *slog.Logger) (*Gardenlet, error) {
	shoots := informers.Core().V1beta1().Shoots()
	g := &Gardenlet{
		log:    log,
		client: client,
		lister: shoots.Lister(),
		queue:  workqueue.NewTypedDelayingQueue[cache.ObjectName](),
		fleets: map[string]*fleet{},
	}
	registration, err := shoots.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { g.enqueue(object) },
		UpdateFunc: func(_, object any) { g.enqueue(object) },
		DeleteFunc: func(object any) { g.enqueue(object) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Shoots: %w", err)
	}
	g.synced = registration.HasSynced
	return g, nil
}

func (g *Gardenlet) enqueue(object any) {
	if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
		g.queue.Add(name)
	}
}

// Run reconciles until ctx ends, and returns when all that it began has stopped.
func (g *Gardenlet) Run(ctx context.Context) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() { g.work(ctx) })
	}
	<-ctx.Done()
	g.queue.ShutDown()
	running.Wait()
}

func (g *Gardenlet) work(ctx context.Context) {
	for {
		name, shutdown := g.queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() == nil {
			g.look(ctx, name)
		}
		g.queue.Done(name)
	}
}

// Adopt makes the gardenlet responsible for a namespace. Shoots of other
// namespaces are left alone.
func (g *Gardenlet) Adopt(namespace string, settings Settings) {
	g.mu.Lock()
	g.fleets[namespace] = newFleet(settings)
	g.mu.Unlock()
	g.wake(namespace)
}

// Abandon ends the responsibility for a namespace and forgets what was going on.
func (g *Gardenlet) Abandon(namespace string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.fleets, namespace)
}

// Change replaces the settings of a namespace. Reconciliations that are under
// way go on under the new ones; stuck ones that need not be go on too.
func (g *Gardenlet) Change(namespace string, change func(*Settings)) bool {
	fleet := g.fleet(namespace)
	if fleet == nil {
		return false
	}
	fleet.change(change)
	g.wake(namespace)
	return true
}

// Hold keeps the gardenlet away from a Shoot until Release. What it was doing to
// it ends as it is.
func (g *Gardenlet) Hold(namespace, shoot string) {
	if fleet := g.fleet(namespace); fleet != nil {
		fleet.hold(shoot, true)
	}
}

// Release lets the gardenlet look after a Shoot again.
func (g *Gardenlet) Release(namespace, shoot string) {
	if fleet := g.fleet(namespace); fleet != nil {
		fleet.hold(shoot, false)
		g.queue.Add(cache.ObjectName{Namespace: namespace, Name: shoot})
	}
}

// Settings returns the settings of a namespace.
func (g *Gardenlet) Settings(namespace string) (Settings, bool) {
	fleet := g.fleet(namespace)
	if fleet == nil {
		return Settings{}, false
	}
	fleet.mu.Lock()
	defer fleet.mu.Unlock()
	return fleet.settings, true
}

// Now returns the time of the simulated clock of a namespace.
func (g *Gardenlet) Now(namespace string) time.Time {
	if fleet := g.fleet(namespace); fleet != nil {
		return fleet.now()
	}
	return time.Now()
}

func (g *Gardenlet) fleet(namespace string) *fleet {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fleets[namespace]
}

// wake has every Shoot of a namespace looked at again.
func (g *Gardenlet) wake(namespace string) {
	shoots, err := g.lister.Shoots(namespace).List(everything)
	if err != nil {
		return // A lister over a cache has no way to fail.
	}
	for _, shoot := range shoots {
		g.queue.Add(cache.ObjectName{Namespace: namespace, Name: shoot.Name})
	}
}

// look does what is due for one Shoot, if anything, and has it looked at again
// when something else will be.
func (g *Gardenlet) look(ctx context.Context, name cache.ObjectName) {
	fleet := g.fleet(name.Namespace)
	if fleet == nil {
		return
	}
	shoot, err := g.lister.Shoots(name.Namespace).Get(name.Name)
	if err != nil {
		fleet.forget(name.Name)
		return
	}
	if fleet.isHeld(name.Name) || fleet.outdated(shoot) {
		return // Its event is on the way.
	}
	again, err := g.reconcile(ctx, fleet, shoot)
	switch {
	case ctx.Err() != nil:
	case apierrors.IsNotFound(err):
		fleet.forget(name.Name)
	case err != nil:
		// Somebody else wrote in between, most likely; the event about that is
		// on the way, and this is for when there is none.
		if !apierrors.IsConflict(err) {
			g.log.WarnContext(ctx, "shoot not reconciled", "shoot", name.String(), "error", err)
		}
		g.queue.AddAfter(name, 50*time.Millisecond)
	case again > 0:
		g.queue.AddAfter(name, again)
	}
}

// revision reads a resourceVersion, which is a number here: it is etcd's.
func revision(shoot *gardencorev1beta1.Shoot) int64 {
	number, err := strconv.ParseInt(shoot.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return number
}
