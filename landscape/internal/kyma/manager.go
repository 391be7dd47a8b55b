package kyma

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// workers is how many Kymas are looked at in parallel. Looking is short; the time
// that an installation takes is spent in the queue.
const workers = 4

// Settings say how the Kymas of one fleet are looked after.
type Settings struct {
	// Lasting is how long moving to another channel takes on average, in
	// simulated time; single ones take from half to one and a half of it.
	Lasting time.Duration
	// Speed is how many simulated seconds pass in a real one. 0 means 1.
	Speed float64
	// Plan says what goes wrong.
	Plan faults.Plan
}

func (s Settings) real(simulated time.Duration) time.Duration {
	if s.Speed > 0 {
		simulated = time.Duration(float64(simulated) / s.Speed)
	}
	return max(simulated, time.Millisecond)
}

// Manager simulates Lifecycle Manager for the Kymas of all fleets. Run it once.
type Manager struct {
	log      *slog.Logger
	client   dynamic.Interface
	informer cache.SharedIndexInformer
	queue    workqueue.TypedDelayingInterface[cache.ObjectName]
	// settings returns those of a fleet, and false for a namespace of none.
	settings func(namespace string) (Settings, bool)

	mu   sync.Mutex
	runs map[cache.ObjectName]run
	hits map[cache.ObjectName]int
}

// NewManager returns a manager of the Kymas of a server.
func NewManager(server *Server, settings func(namespace string) (Settings, bool), log *slog.Logger) (*Manager, error) {
	m := &Manager{
		log: log, client: server.Client(), settings: settings,
		informer: dynamicinformer.NewFilteredDynamicInformer(server.Client(), Resource, "", 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, nil).Informer(),
		queue:    workqueue.NewTypedDelayingQueue[cache.ObjectName](),
		runs:     map[cache.ObjectName]run{}, hits: map[cache.ObjectName]int{},
	}
	enqueue := func(item any) {
		if name, err := cache.DeletionHandlingObjectToName(item); err == nil {
			m.queue.Add(name)
		}
	}
	if _, err := m.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, item any) { enqueue(item) }, DeleteFunc: enqueue,
	}); err != nil {
		return nil, fmt.Errorf("watch Kymas: %w", err)
	}
	return m, nil
}

// Run looks after Kymas until ctx ends, and returns when all that it began has
// stopped.
func (m *Manager) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { m.informer.RunWithContext(ctx) })
	for range workers {
		running.Go(func() {
			for {
				name, shutdown := m.queue.Get()
				if shutdown {
					return
				}
				if ctx.Err() == nil {
					m.look(ctx, name)
				}
				m.queue.Done(name)
			}
		})
	}
	<-ctx.Done()
	m.queue.ShutDown()
	running.Wait()
}

// Wake has every Kyma of a namespace looked at again, as when its settings have
// changed.
func (m *Manager) Wake(namespace string) {
	names, err := m.informer.GetIndexer().IndexKeys(cache.NamespaceIndex, namespace)
	if err != nil {
		return // The index was made above.
	}
	for _, key := range names {
		if name, err := cache.ParseObjectName(key); err == nil {
			m.queue.Add(name)
		}
	}
}

func (m *Manager) look(ctx context.Context, name cache.ObjectName) {
	settings, ours := m.settings(name.Namespace)
	item, exists, err := m.informer.GetStore().GetByKey(name.String())
	if err != nil || !ours || !exists {
		m.forget(name)
		return
	}
	kyma, ok := item.(*unstructured.Unstructured)
	if !ok {
		return
	}
	again, err := m.reconcile(ctx, name, kyma.DeepCopy(), settings)
	switch {
	case ctx.Err() != nil:
	case apierrors.IsNotFound(err):
		m.forget(name)
	case err != nil:
		if !apierrors.IsConflict(err) {
			m.log.WarnContext(ctx, "kyma not reconciled", "kyma", name.String(), "error", err)
		}
		m.queue.AddAfter(name, 50*time.Millisecond)
	case again > 0:
		m.queue.AddAfter(name, again)
	}
}

func (m *Manager) forget(name cache.ObjectName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, name)
	delete(m.hits, name)
}
