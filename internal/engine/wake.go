package engine

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

const (
	// wakeEvery is how often wakes are delivered; several of one operation between two deliveries count once.
	wakeEvery = 200 * time.Millisecond
	// watchAgain is how long to wait before a watch that ended is begun anew.
	watchAgain = 5 * time.Second
)

// flights knows the operations in progress by what backends call their runtimes, so that a watch can wake them.
type flights struct {
	mu   sync.Mutex
	byID map[string]fleet.InFlight
	// byName has the IDs of the operations on a Shoot or on a runtime.
	byName map[backendName]map[string]bool
	// added has the operations that were added since the last mark.
	added map[string]bool
	// woken has the operations to be woken with the next delivery.
	woken  map[string]bool
	signal chan struct{}
}

// backendName is what a backend calls a runtime: one of the fields is set.
type backendName struct{ shoot, runtime string }

func namesOf(flight fleet.InFlight) [2]backendName {
	return [2]backendName{{shoot: flight.ShootName}, {runtime: flight.RuntimeID}}
}

func newFlights() *flights {
	return &flights{byID: map[string]fleet.InFlight{}, byName: map[backendName]map[string]bool{}, added: map[string]bool{}, woken: map[string]bool{}, signal: make(chan struct{}, 1)}
}

func (f *flights) add(flight fleet.InFlight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added[flight.OperationID] = true
	f.put(flight)
}

// mark is called before the store is asked for what replace takes.
func (f *flights) mark() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.added)
}

func (f *flights) put(flight fleet.InFlight) {
	f.byID[flight.OperationID] = flight
	for _, name := range namesOf(flight) {
		if f.byName[name] == nil {
			f.byName[name] = map[string]bool{}
		}
		f.byName[name][flight.OperationID] = true
	}
}

func (f *flights) remove(operationID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	flight, ok := f.byID[operationID]
	if !ok {
		return
	}
	delete(f.byID, operationID)
	delete(f.woken, operationID)
	delete(f.added, operationID)
	for _, name := range namesOf(flight) {
		delete(f.byName[name], operationID)
		if len(f.byName[name]) == 0 {
			delete(f.byName, name)
		}
	}
}

// replace takes what the store says, and keeps what was added since it was asked.
func (f *flights) replace(all []fleet.InFlight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.added {
		if flight, ok := f.byID[id]; ok {
			all = append(all, flight)
		}
	}
	f.byID = make(map[string]fleet.InFlight, len(all))
	f.byName = make(map[backendName]map[string]bool, 2*len(all))
	for _, flight := range all {
		f.put(flight)
	}
}

// wake asks for a look at the operations of a type on what a backend calls by a name.
func (f *flights) wake(t orchestration.Type, name backendName) {
	f.mu.Lock()
	found := false
	for id := range f.byName[name] {
		if f.byID[id].Type == t {
			f.woken[id] = true
			found = true
		}
	}
	f.mu.Unlock()
	if found {
		select {
		case f.signal <- struct{}{}:
		default:
		}
	}
}

// wakeAll asks for a look at all operations of a type.
func (f *flights) wakeAll(t orchestration.Type) { f.wakeSome(t, math.MaxInt) }

// wakeSome asks for a look at a number of operations of a type, whichever they are.
func (f *flights) wakeSome(t orchestration.Type, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, flight := range f.byID {
		if n == 0 {
			break
		}
		if flight.Type == t {
			f.woken[id] = true
			n--
		}
	}
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// take returns what is to be woken, and forgets it.
func (f *flights) take() []fleet.InFlight {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := make([]fleet.InFlight, 0, len(f.woken))
	for id := range f.woken {
		if flight, ok := f.byID[id]; ok {
			taken = append(taken, flight)
		}
	}
	clear(f.woken)
	return taken
}

// again keeps an operation for the next delivery.
func (f *flights) again(operationID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.woken[operationID] = true
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// watches returns the watches of an executor; each wakes operations of the type until ctx ends.
func (e *Engine) watches(t orchestration.Type, executor fleet.Executor) []func(ctx context.Context) error {
	var list []func(ctx context.Context) error
	if w, ok := executor.(fleet.Watcher); ok {
		list = append(list, func(ctx context.Context) error {
			return w.Watch(ctx, func(shootName string) { e.flights.wake(t, backendName{shoot: shootName}) })
		})
	}
	if w, ok := executor.(fleet.RuntimeWatcher); ok {
		list = append(list, func(ctx context.Context) error {
			return w.WatchRuntimes(ctx, func(runtimeID string) { e.flights.wake(t, backendName{runtime: runtimeID}) })
		})
	}
	return list
}

// watch lets a watch wake operations, and begins it anew when it ends.
func (e *Engine) watch(ctx context.Context, backend fleet.Backend, watch func(ctx context.Context) error) {
	for {
		err := watch(ctx)
		if ctx.Err() != nil {
			return
		}
		e.log.WarnContext(ctx, "a watch ended; operations are looked at less often until it runs again", "backend", backend, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchAgain):
		}
	}
}

// deliverWakes delivers wakes a little while after they came, so that many of them count once.
func (e *Engine) deliverWakes(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.flights.signal:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wakeEvery):
		}
		e.deliver(ctx)
	}
}

// deliver makes the jobs of woken operations due. A running step is followed by another one; a job whose step has just ended may not be back in
// the queue yet, so it is tried again with the next delivery.
func (e *Engine) deliver(ctx context.Context) {
	flights := map[int64]string{}
	var jobs []int64
	for _, flight := range e.flights.take() {
		if !e.running.wake(flight.OperationID) && flight.JobID != 0 {
			flights[flight.JobID] = flight.OperationID
			jobs = append(jobs, flight.JobID)
		}
	}
	if len(jobs) == 0 {
		return
	}
	woken, err := e.queue.Wake(ctx, jobs)
	if err != nil {
		e.log.WarnContext(ctx, "wake operations", "operations", len(jobs), "error", err)
	}
	for _, id := range woken {
		delete(flights, id)
	}
	for _, operationID := range flights {
		if err != nil || e.running.justEnded(operationID) {
			e.flights.again(operationID)
		}
	}
}
