package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// Store is what a source needs of the store.
type Store interface {
	// Update runs f in one writing transaction.
	Update(ctx context.Context, f func(ctx context.Context, tx fleet.Tx) error) error
	// RuntimesFrom returns the runtimes whose documents are of a source, without those that are deprovisioned.
	RuntimesFrom(ctx context.Context, source string) ([]fleet.SourcedRuntime, error)
	// ListRuntimes returns a page of the runtimes.
	ListRuntimes(ctx context.Context, f fleet.RuntimeFilter, p fleet.Page) ([]fleet.Runtime, int, error)
}

// firstAgain is after what time the first comparison is tried again.
const firstAgain = 5 * time.Second

// putChunk is how many documents go into one transaction, so that none keeps others waiting.
const putChunk = 500

// GardenerSource makes a runtime of every Shoot that has a runtime ID, and keeps it in step with the Shoot.
type GardenerSource struct {
	shoots *Shoots
	store  Store
	logger *slog.Logger
	clock  func() time.Time
	// settle is how long changes are collected before they are written together.
	settle time.Duration
	// full is how often everything is compared with the store, also without a change.
	full time.Duration
	// grace is how long a Shoot has to be missing before its runtime counts as gone.
	grace time.Duration

	metrics *sourceMetrics

	// syncing lets one comparison run at a time, and guards what follows.
	syncing sync.Mutex
	// written has the digest of each document that the store has, by runtime ID.
	written map[string]uint64
	// fullAt is when everything was last compared with the store.
	fullAt time.Time
	// missing has since when runtimes of this source have no Shoot, by instance ID.
	missing map[string]time.Time

	mu sync.Mutex
	// caughtUp is true from when the store has had every Shoot that it takes.
	caughtUp bool
	failure  error
	failed   time.Time
}

// NewGardenerSource returns a source; Run drives it.
func NewGardenerSource(shoots *Shoots, store Store, logger *slog.Logger) *GardenerSource {
	return &GardenerSource{
		shoots: shoots, store: store, logger: logger, clock: shoots.clock, settle: 2 * time.Second, full: 5 * time.Minute, grace: time.Minute,
		metrics: newSourceMetrics(fleet.SourceGardener), written: map[string]uint64{}, missing: map[string]time.Time{},
	}
}

// Register adds the metrics of the source to a registry.
func (g *GardenerSource) Register(r prometheus.Registerer) error { return g.metrics.register(r) }

// Run writes changes of Shoots into the store until ctx ends. A store that is away is tried again with the next change, and soon without one.
func (g *GardenerSource) Run(ctx context.Context) error {
	if !g.shoots.WaitForSync(ctx) {
		return nil
	}
	changed := make(chan struct{}, 1)
	note := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	registration, err := g.shoots.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { note() },
		UpdateFunc: func(before, after any) { noteUpdate(before, after, note) },
		DeleteFunc: func(any) { note() },
	})
	if err != nil {
		return fmt.Errorf("watch the Shoots: %w", err)
	}
	defer func() { _ = g.shoots.informer.RemoveEventHandler(registration) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			timer.Reset(g.settle)
			select {
			case <-ctx.Done():
				return nil
			case <-timer.C:
			}
		case <-timer.C:
		}
		// A change that comes from here on is written the next time.
		select {
		case <-changed:
		default:
		}
		if err := g.Sync(ctx); err != nil && ctx.Err() == nil {
			g.logger.WarnContext(ctx, "runtimes were not taken over from the shoots", "error", err)
		}
		timer.Reset(g.next())
	}
}

// next returns when to compare again without a change.
func (g *GardenerSource) next() time.Duration {
	g.syncing.Lock()
	defer g.syncing.Unlock()
	switch {
	case g.CaughtUp() != nil:
		// Orchestrations wait for it.
		return min(firstAgain, g.full)
	case len(g.missing) > 0 || g.Healthy(context.Background()) != nil:
		return min(g.grace, g.full)
	default:
		return g.full
	}
}

// noteUpdate notes an update unless it leaves what the runtime is made of as it was, as the progress of an operation does.
func noteUpdate(before, after any, note func()) {
	was, ok1 := before.(*gardencorev1beta1.Shoot)
	is, ok2 := after.(*gardencorev1beta1.Shoot)
	if ok1 && ok2 {
		a, hadID := runtimeOf(was)
		b, hasID := runtimeOf(is)
		if hadID == hasID && reflect.DeepEqual(a, b) {
			return
		}
	}
	note()
}

// Healthy returns nil while the runtimes follow the Shoots, as far as these are known.
func (g *GardenerSource) Healthy(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.failure != nil:
		return fleet.Unavailable("runtimes are not taken over from the Shoots since "+g.failed.UTC().Format(time.RFC3339), g.failure)
	case !g.caughtUp:
		return errNotCaughtUp
	default:
		return nil
	}
}

// CaughtUp returns nil once the store has had the runtimes of all Shoots that there were at the start, also when it cannot follow them any more.
func (g *GardenerSource) CaughtUp() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.caughtUp {
		return nil
	}
	return errNotCaughtUp
}

var errNotCaughtUp = fleet.Unavailable("the runtimes have not been taken over from the Shoots yet", nil)

// Sync brings the store in line with the Shoots once. Documents that have not changed since they were written are passed over; from time to time all are
// compared with the store.
func (g *GardenerSource) Sync(ctx context.Context) error {
	g.syncing.Lock()
	defer g.syncing.Unlock()
	err := g.sync(ctx)
	if ctx.Err() != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure == nil && err != nil {
		g.failed = g.clock()
	}
	g.failure = err
	g.caughtUp = g.caughtUp || inStep(err)
	g.metrics.synced(g.clock(), err)
	return err
}

func (g *GardenerSource) sync(ctx context.Context) error {
	shoots, err := g.shoots.lister.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the Shoots: %w", err)
	}
	now := g.clock()
	everything := g.fullAt.IsZero() || now.Sub(g.fullAt) >= g.full || now.Before(g.fullAt)
	if everything {
		clear(g.written)
	}
	byID := make(map[string]*gardencorev1beta1.Shoot, len(shoots))
	for _, shoot := range shoots {
		id := runtimeIDOf(shoot)
		if other := byID[id]; id != "" && (other == nil || speaksFirst(shoot, other)) {
			byID[id] = shoot
		}
	}
	err = worst(g.putChanged(ctx, byID), g.putAbsent(ctx, byID, now))
	if everything && inStep(err) {
		g.fullAt = now
	}
	g.metrics.known.Set(float64(len(byID)))
	return err
}

// document is a document to be written, with its digest.
type document struct {
	doc    runtime.RuntimeDTO
	digest uint64
}

// putChanged writes the documents that have changed since they were written.
func (g *GardenerSource) putChanged(ctx context.Context, shoots map[string]*gardencorev1beta1.Shoot) error {
	maps.DeleteFunc(g.written, func(id string, _ uint64) bool { return shoots[id] == nil })
	var changed []document
	for _, id := range slices.Sorted(maps.Keys(shoots)) {
		doc, _ := runtimeOf(shoots[id])
		digest, err := digestOf(&doc)
		if err != nil {
			return err
		}
		if known, ok := g.written[id]; !ok || known != digest {
			changed = append(changed, document{doc: doc, digest: digest})
		}
	}
	var total fleet.ImportResult
	var failures []error
	for chunk := range slices.Chunk(changed, putChunk) {
		result, err := g.put(ctx, chunk)
		total.Imported += result.Imported
		total.Updated += result.Updated
		if err != nil {
			failures = append(failures, err)
			if !inStep(err) {
				break
			}
		}
	}
	if total.Imported+total.Updated > 0 {
		g.logger.InfoContext(ctx, "runtimes taken over from the shoots", "new", total.Imported, "changed", total.Updated)
	}
	return worst(failures...)
}

// worst joins errors. One that is not the refusal of a document stands alone, so that inStep does not overlook it.
func worst(errs ...error) error {
	for _, err := range errs {
		if !inStep(err) {
			return err
		}
	}
	return errors.Join(errs...)
}

// inStep reports whether the store is in step with the Shoots after an error. What it refuses it will not take the next time either; the others are in it.
func inStep(err error) bool { return err == nil || fleet.KindOf(err) == fleet.KindInvalid }

// put writes documents in one transaction. When the store refuses one of them the others are written without it.
func (g *GardenerSource) put(ctx context.Context, documents []document) (fleet.ImportResult, error) {
	docs := make([]runtime.RuntimeDTO, len(documents))
	for i := range documents {
		docs[i] = documents[i].doc
	}
	var result fleet.ImportResult
	err := g.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) (err error) {
		result, err = tx.PutRuntimes(ctx, fleet.SourceGardener, docs)
		return err
	})
	if err == nil {
		for i := range documents {
			g.written[documents[i].doc.RuntimeID] = documents[i].digest
		}
		return result, nil
	}
	if !inStep(err) {
		return fleet.ImportResult{}, fmt.Errorf("write runtimes: %w", err)
	}
	if len(documents) == 1 {
		return fleet.ImportResult{}, fmt.Errorf("write the runtime of the Shoot %.100q: %w", docs[0].ShootName, err)
	}
	half := len(documents) / 2
	first, err1 := g.put(ctx, documents[:half])
	second, err2 := g.put(ctx, documents[half:])
	first.Add(second)
	return first, worst(err1, err2)
}

// digestOf tells documents apart.
func digestOf(doc *runtime.RuntimeDTO) (uint64, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return 0, fmt.Errorf("describe the runtime of the Shoot %s: %w", doc.ShootName, err)
	}
	h := fnv.New64a()
	_, _ = h.Write(text)
	return h.Sum64(), nil
}
