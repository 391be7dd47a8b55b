package shootstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Summary is what a change says about the Shoot before it.
type Summary struct {
	Version    string
	Generation int64
}

// Change is one committed change of a Shoot.
type Change struct {
	// Revision is etcd's revision of the change, which is the resourceVersion
	// that the Shoot has after it.
	Revision int64
	// Namespace and Name say which Shoot.
	Namespace, Name string
	// Before is nil when the Shoot was created, After when it was deleted.
	Before *Summary
	After  *gardencorev1beta1.Shoot
}

// Watch follows the changes of all Shoots.
type Watch struct {
	store *Store
	see   func(Change)
	last  map[string]Summary

	mu   sync.Mutex
	seen int64
	// moved is closed and replaced whenever seen has grown.
	moved chan struct{}
}

// NewWatch returns a watch that calls see for every change after the given
// revision, in order and exactly once, while it runs.
func (s *Store) NewWatch(after int64, see func(Change)) *Watch {
	return &Watch{store: s, see: see, last: map[string]Summary{}, seen: after, moved: make(chan struct{})}
}

// Run follows the changes until ctx ends. A nil error means that ctx has ended.
func (w *Watch) Run(ctx context.Context) error {
	channel := w.store.etcd.Watch(ctx, prefix,
		clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(w.seen+1))
	for response := range channel {
		if ended(ctx) {
			return nil
		}
		if err := response.Err(); err != nil {
			return fmt.Errorf("watch Shoots: %w", err)
		}
		for _, event := range response.Events {
			change, err := w.change(event)
			if err != nil {
				return err
			}
			w.see(change)
		}
		w.advance(response.Header.Revision)
	}
	if ended(ctx) {
		return nil
	}
	return errors.New("watch Shoots: closed by etcd")
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// Sync waits until every change that was committed before the call has been seen.
func (w *Watch) Sync(ctx context.Context) error {
	target, err := w.store.Revision(ctx)
	if err != nil {
		return err
	}
	// A revision that concerns no Shoot is not announced unless it is asked for.
	const ask = 10 * time.Millisecond
	ticker := time.NewTicker(ask)
	defer ticker.Stop()
	for {
		w.mu.Lock()
		seen, moved := w.seen, w.moved
		w.mu.Unlock()
		if seen >= target {
			return nil
		}
		if err := w.store.etcd.RequestProgress(ctx); err != nil {
			return fmt.Errorf("ask for progress: %w", err)
		}
		select {
		case <-moved:
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for revision %d: %w", target, ctx.Err())
		}
	}
}

func (w *Watch) advance(revision int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if revision > w.seen {
		w.seen = revision
		close(w.moved)
		w.moved = make(chan struct{})
	}
}

func (w *Watch) change(event *clientv3.Event) (Change, error) {
	key := string(event.Kv.Key)
	change := Change{Revision: event.Kv.ModRevision}
	change.Namespace, change.Name = splitKey(key)
	if event.PrevKv != nil {
		before, ok := w.last[key]
		if !ok {
			shoot, err := w.store.decode(event.PrevKv.Value, event.PrevKv.ModRevision)
			if err != nil {
				return Change{}, err
			}
			before = summarize(shoot)
		}
		change.Before = &before
	}
	if event.Type == clientv3.EventTypeDelete {
		delete(w.last, key)
		return change, nil
	}
	after, err := w.store.decode(event.Kv.Value, event.Kv.ModRevision)
	if err != nil {
		return Change{}, err
	}
	change.After = after
	w.last[key] = summarize(after)
	return change, nil
}

func summarize(shoot *gardencorev1beta1.Shoot) Summary {
	return Summary{Version: shoot.Spec.Kubernetes.Version, Generation: shoot.Generation}
}
