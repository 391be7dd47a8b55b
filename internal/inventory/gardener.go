package inventory

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// SourceGardener is the name of the source that reads Shoots.
const SourceGardener = "gardener"

// GardenerSource makes a runtime of every Shoot that has a runtime ID, and keeps it in step with the Shoot.
type GardenerSource struct {
	shoots *Shoots
	store  fleet.Store
	logger *slog.Logger
	// settle is how long changes are collected before they are written together.
	settle time.Duration
	// full is how often everything is compared, also without a change.
	full time.Duration
}

// NewGardenerSource returns a source; Run drives it.
func NewGardenerSource(shoots *Shoots, store fleet.Store, logger *slog.Logger) *GardenerSource {
	return &GardenerSource{shoots: shoots, store: store, logger: logger, settle: 2 * time.Second, full: 5 * time.Minute}
}

// Run writes changes of Shoots into the store until ctx ends. A store that is away is tried again with the next change and with every full
// comparison.
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
		timer.Reset(g.full)
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

// Sync compares all Shoots with the store once.
func (g *GardenerSource) Sync(ctx context.Context) error {
	shoots, err := g.shoots.lister.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the Shoots: %w", err)
	}
	docs := make([]runtime.RuntimeDTO, 0, len(shoots))
	for _, shoot := range shoots {
		if doc, ok := runtimeOf(shoot); ok {
			docs = append(docs, doc)
		}
	}
	return g.store.Update(ctx, func(ctx context.Context, tx fleet.Tx) error {
		_, err := tx.PutRuntimes(ctx, SourceGardener, docs)
		return err
	})
}

// runtimeOf describes the runtime of a Shoot; false when the Shoot has no runtime ID. A Shoot does not know the instance ID: the store looks for it by the
// runtime ID.
func runtimeOf(shoot *gardencorev1beta1.Shoot) (runtime.RuntimeDTO, bool) {
	id := shoot.Annotations[orchestration.RuntimeIDAnnotation]
	if id == "" {
		id = shoot.Annotations[orchestration.InfrastructureManagerRuntimeIDAnnotation]
	}
	if id == "" {
		return runtime.RuntimeDTO{}, false
	}
	doc := runtime.RuntimeDTO{
		RuntimeID:       id,
		GlobalAccountID: shoot.Labels[orchestration.GlobalAccountLabel],
		SubAccountID:    shoot.Labels[orchestration.SubAccountLabel],
		ProviderRegion:  shoot.Spec.Region,
		ShootName:       shoot.Name,
		Provider:        strings.ToLower(shoot.Spec.Provider.Type),
	}
	created := shoot.CreationTimestamp.UTC()
	doc.Status.CreatedAt, doc.Status.ModifiedAt = created, created
	last := shoot.Status.LastOperation
	if last == nil {
		return doc, true
	}
	op := &runtime.Operation{
		Description: "as the Shoot's last operation says", CreatedAt: created, UpdatedAt: created,
		OperationID: "shoot-" + string(shoot.UID), FinishedStages: []string{},
	}
	switch last.Type {
	case gardencorev1beta1.LastOperationTypeCreate:
		op.Type, op.State = runtime.Provision, stateOf(last.State)
		doc.Status.Provisioning = op
	case gardencorev1beta1.LastOperationTypeDelete:
		op.Type, op.State = runtime.Deprovision, stateOf(last.State)
		if shoot.DeletionTimestamp != nil {
			op.CreatedAt = shoot.DeletionTimestamp.UTC()
		}
		doc.Status.Deprovisioning = op
	case gardencorev1beta1.LastOperationTypeReconcile, gardencorev1beta1.LastOperationTypeMigrate,
		gardencorev1beta1.LastOperationTypeRestore, gardencorev1beta1.LastOperationTypeLiveMigrate:
		// What is reconciled, moved or restored was created before.
		op.Type, op.State = runtime.Provision, string(fleet.Succeeded)
		doc.Status.Provisioning = op
	}
	return doc, true
}

func stateOf(s gardencorev1beta1.LastOperationState) string {
	switch s {
	case gardencorev1beta1.LastOperationStateSucceeded:
		return string(fleet.Succeeded)
	case gardencorev1beta1.LastOperationStateFailed, gardencorev1beta1.LastOperationStateAborted:
		return string(fleet.Failed)
	case gardencorev1beta1.LastOperationStateProcessing, gardencorev1beta1.LastOperationStatePending, gardencorev1beta1.LastOperationStateError:
		return string(fleet.InProgress)
	default:
		return string(fleet.InProgress)
	}
}
