package landscape

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// removalTime bounds how long removing a fleet may take. It goes on when who asked
// for it has gone: half of a fleet is of no use to anybody.
const removalTime = time.Minute

// DeleteFleet closes the door and removes the project with all its Shoots.
func (l *Landscape) DeleteFleet(ctx context.Context, namespace string) error {
	l.mu.Lock()
	fleet, ok := l.fleets[namespace]
	if !ok || !fleet.ready {
		l.mu.Unlock()
		return fmt.Errorf("fleet %q: %w", namespace, ErrNotFound)
	}
	// The namespace stays taken until nothing of the fleet is left.
	fleet.ready = false
	l.mu.Unlock()
	return l.unmake(ctx, fleet)
}

// unmake removes a fleet, however much of it has been made.
func (l *Landscape) unmake(ctx context.Context, fleet *Fleet) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalTime)
	defer cancel()
	l.gardenlet.Abandon(fleet.Namespace)
	l.identities.Remove(fleet.token)
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	problems := []error{fleet.close()}
	if !closed {
		problems = append(problems, l.removeObjects(ctx, fleet))
	}
	if fleet.ownFolder {
		problems = append(problems, os.RemoveAll(fleet.Folder))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.fleets, fleet.Namespace)
	return errors.Join(problems...)
}

// close ends what a fleet runs.
func (f *Fleet) close() error {
	if f.door == nil {
		return nil
	}
	return errors.Join(f.door.Close(), f.plane.close())
}

// removeObjects removes what is stored about a fleet.
func (l *Landscape) removeObjects(ctx context.Context, fleet *Fleet) error {
	if err := l.removeKymas(ctx, fleet.Namespace); err != nil {
		return err
	}
	if err := l.store.DeleteAll(ctx, fleet.Namespace); err != nil {
		return err
	}
	if err := l.waitForShoots(ctx, fleet.Namespace, 0); err != nil {
		return err
	}
	return l.removeProject(ctx, fleet.Namespace, fleet.Generated().Project())
}
