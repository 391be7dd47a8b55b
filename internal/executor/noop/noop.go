// Package noop is an executor without a backend: it finds every runtime in need of an upgrade and says at once that the upgrade is done. It
// measures what the engine costs.
package noop

import (
	"context"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Executor upgrades nothing. The zero value is ready for use by many goroutines.
type Executor struct{}

var _ fleet.Executor = Executor{}

// Observe says that the upgrade has to be started.
func (Executor) Observe(context.Context, fleet.Task) (fleet.Result, error) {
	return fleet.Result{Outcome: fleet.NeedsStart}, nil
}

// Start asks the guard, as an executor with a backend would, and is done.
func (Executor) Start(ctx context.Context, _ fleet.Task, guard fleet.Guard) (fleet.Result, error) {
	if err := guard(ctx); err != nil {
		return fleet.Result{}, err
	}
	return fleet.Result{Outcome: fleet.Done, Sent: true, Description: "nothing was changed"}, nil
}

// Check is done.
func (Executor) Check(context.Context, fleet.Task, fleet.Guard) (fleet.Result, error) {
	return fleet.Result{Outcome: fleet.Done, Sent: true, Description: "nothing was changed"}, nil
}
