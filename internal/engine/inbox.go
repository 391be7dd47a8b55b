package engine

import (
	"context"
	"sync"
	"time"
)

// inbox collects requests for one goroutine that serves many at a time. Putting never blocks: who puts a request waits for its answer, so
// the number of steps bounds the length.
type inbox[T any] struct {
	mu     sync.Mutex
	items  []T
	signal chan struct{}
}

func newInbox[T any]() *inbox[T] { return &inbox[T]{signal: make(chan struct{}, 1)} }

func (b *inbox[T]) put(item T) {
	b.mu.Lock()
	b.items = append(b.items, item)
	b.mu.Unlock()
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// take waits for a request, then a little longer for others, and returns at most limit of them; none when ctx has ended and nothing is left.
func (b *inbox[T]) take(ctx context.Context, linger time.Duration, limit int) []T {
	if b.len() == 0 {
		select {
		case <-b.signal:
		case <-ctx.Done():
		}
	}
	if n := b.len(); n > 0 && n < limit && linger > 0 && ctx.Err() == nil {
		timer := time.NewTimer(linger)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(limit, len(b.items))
	taken := b.items[:n:n]
	b.items = append([]T(nil), b.items[n:]...)
	if len(b.items) > 0 {
		select {
		case b.signal <- struct{}{}:
		default:
		}
	}
	return taken
}

func (b *inbox[T]) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items)
}
