package kyma

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/feed"
)

// runtimeIndex finds Kymas by the ID of their runtime.
const runtimeIndex = "runtime"

// NewInformer returns an informer of the Kymas in a namespace, for Options; empty means DefaultNamespace. The caller runs it. Its client must
// not have a timeout for requests, since watches last longer. The feed, which New of package feed has made, hears whether it follows the control plane.
func NewInformer(client dynamic.Interface, namespace string, kymas *feed.Feed) (cache.SharedIndexInformer, error) {
	if namespace == "" {
		namespace = DefaultNamespace
	}
	resources := client.Resource(Resource).Namespace(namespace)
	source := kymas.Source(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return resources.List(ctx, withRuntime(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return resources.Watch(ctx, withRuntime(o))
		},
	})
	informer := cache.NewSharedIndexInformer(
		cache.ToListWatcherWithWatchListSemantics(source, client), &unstructured.Unstructured{}, 0, cache.Indexers{runtimeIndex: byRuntime},
	)
	if err := informer.SetTransform(slim); err != nil {
		return nil, fmt.Errorf("set up the cache of Kymas: %w", err)
	}
	if err := kymas.Attach(informer); err != nil {
		return nil, err
	}
	return informer, nil
}

// withRuntime leaves out Kymas that belong to no runtime.
func withRuntime(o metav1.ListOptions) metav1.ListOptions {
	o.LabelSelector = RuntimeIDLabel
	return o
}

func byRuntime(item any) ([]string, error) {
	if u, ok := item.(*unstructured.Unstructured); ok {
		return []string{u.GetLabels()[RuntimeIDLabel]}, nil
	}
	return nil, nil
}

// slim drops what nobody here reads: who owns which field, but for our own, and what tools have noted.
func slim(item any) (any, error) {
	u, ok := item.(*unstructured.Unstructured)
	if !ok {
		return item, nil
	}
	var ours []metav1.ManagedFieldsEntry
	for _, f := range u.GetManagedFields() {
		if f.Manager == fieldManager && f.Subresource == "" {
			f.FieldsV1 = nil
			ours = append(ours, f)
		}
	}
	u.SetManagedFields(ours)
	u.SetAnnotations(nil)
	return u, nil
}

// indexed returns what the cache has for a runtime, and nothing without a cache that shows how things are now.
func (e *Executor) indexed(runtimeID string) []any {
	if e.informer == nil || !e.informer.HasSynced() || !e.following() {
		return nil
	}
	items, err := e.informer.GetIndexer().ByIndex(runtimeIndex, runtimeID)
	if err != nil {
		return nil // an informer that was not made here
	}
	return items
}

// cached returns the Kyma of a runtime as the cache has it, and nil when it has none, or several, or one that cannot be read.
func (e *Executor) cached(runtimeID string) *resource {
	items := e.indexed(runtimeID)
	if len(items) != 1 {
		return nil
	}
	u, ok := items[0].(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	k, err := parse(u)
	if err != nil {
		return nil
	}
	return k
}

// WatchRuntimes wakes the operations of runtimes whose Kymas change, until ctx ends. Without an informer it only waits.
func (e *Executor) WatchRuntimes(ctx context.Context, wake func(runtimeID string)) error {
	if e.informer == nil {
		<-ctx.Done()
		return nil
	}
	tell := func(item any) {
		if tomb, ok := item.(cache.DeletedFinalStateUnknown); ok {
			item = tomb.Obj
		}
		if u, ok := item.(*unstructured.Unstructured); ok {
			wake(u.GetLabels()[RuntimeIDLabel])
		}
	}
	registration, err := e.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			was, ok1 := before.(*unstructured.Unstructured)
			is, ok2 := after.(*unstructured.Unstructured)
			if ok1 && ok2 && matters(was, is) {
				tell(is)
			}
		},
		DeleteFunc: tell,
	})
	if err != nil {
		return fmt.Errorf("watch the Kymas: %w", err)
	}
	<-ctx.Done()
	if err := e.informer.RemoveEventHandler(registration); err != nil {
		return fmt.Errorf("stop to watch the Kymas: %w", err)
	}
	return nil
}

// matters says whether an operation on the Kyma would see something new. Lifecycle Manager writes the time of its last look again and again.
func matters(was, is *unstructured.Unstructured) bool {
	a, err1 := parse(was)
	b, err2 := parse(is)
	if err1 != nil || err2 != nil {
		return true
	}
	if a.seen(memo{}) != b.seen(memo{}) || a.deleting() != b.deleting() || a.skipped() != b.skipped() {
		return true
	}
	a.Status.LastOperation.LastUpdateTime, b.Status.LastOperation.LastUpdateTime = nil, nil
	return !equality.Semantic.DeepEqual(a.Spec, b.Spec) || !equality.Semantic.DeepEqual(a.Status, b.Status)
}
