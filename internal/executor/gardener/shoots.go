package gardener

import (
	"context"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// live reads a Shoot from Gardener.
func (e *Executor) live(ctx context.Context, name string) (*gardencorev1beta1.Shoot, error) {
	return e.client.Shoots(e.namespace).Get(ctx, name, metav1.GetOptions{})
}

// cached reads a Shoot from the informer, as long as that shows how things are now. A Shoot that is not there may still exist, so the caller then asks Gardener.
func (e *Executor) cached(name string) (*gardencorev1beta1.Shoot, bool) {
	if e.informer == nil || !e.informer.HasSynced() || !e.following() {
		return nil, false
	}
	item, ok, err := e.informer.GetStore().GetByKey(e.namespace + "/" + name)
	if err != nil || !ok {
		return nil, false
	}
	shoot, ok := item.(*gardencorev1beta1.Shoot)
	return shoot, ok
}

// Watch wakes operations when the informer sees a change of their Shoot that may matter to them. It returns when ctx ends.
func (e *Executor) Watch(ctx context.Context, wake func(shootName string)) error {
	if e.informer == nil {
		<-ctx.Done()
		return nil
	}
	registration, err := e.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			was, ok1 := before.(*gardencorev1beta1.Shoot)
			is, ok2 := after.(*gardencorev1beta1.Shoot)
			if ok1 && ok2 && matters(was, is) {
				wake(is.Name)
			}
		},
		DeleteFunc: func(item any) {
			if tomb, ok := item.(cache.DeletedFinalStateUnknown); ok {
				item = tomb.Obj
			}
			if shoot, ok := item.(*gardencorev1beta1.Shoot); ok {
				wake(shoot.Name)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch the Shoots: %w", err)
	}
	<-ctx.Done()
	if err := e.informer.RemoveEventHandler(registration); err != nil {
		return fmt.Errorf("stop to watch the Shoots: %w", err)
	}
	return nil
}

// matters says whether an operation on the Shoot would see something new.
func matters(was, is *gardencorev1beta1.Shoot) bool {
	if was.Generation != is.Generation || was.Status.ObservedGeneration != is.Status.ObservedGeneration ||
		(was.DeletionTimestamp == nil) != (is.DeletionTimestamp == nil) ||
		was.Spec.Kubernetes.Version != is.Spec.Kubernetes.Version || runtimeID(was) != runtimeID(is) || ignored(was) != ignored(is) ||
		was.Annotations[constants.GardenerOperation] != is.Annotations[constants.GardenerOperation] {
		return true
	}
	a, b := was.Status.LastOperation, is.Status.LastOperation
	if a == nil || b == nil {
		return a != b
	}
	return a.State != b.State || a.Type != b.Type || a.Progress != b.Progress
}
