package fleet

import (
	"context"
	"sync"
)

// sending is a guard on its way to where a request leaves the process, and what it said there.
type sending struct {
	guard Guard

	mu      sync.Mutex
	refused error
}

type sendingKey struct{}

// WithGuard returns a context that carries a guard to the transport of a client. Clients may hold a request back, for a budget or because the backend
// asked for patience, so only the transport is just before the socket. The function returns what the guard refused the request with, or nil.
func WithGuard(ctx context.Context, guard Guard) (guarded context.Context, refused func() error) {
	s := &sending{guard: guard}
	return context.WithValue(ctx, sendingKey{}, s), func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.refused
	}
}

// AskGuard asks the guard that a context carries whether a request may leave now. Without one it may.
func AskGuard(ctx context.Context) error {
	s, ok := ctx.Value(sendingKey{}).(*sending)
	if !ok {
		return nil
	}
	err := s.guard(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = err
	return err
}
