package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// byRuntime is an executor whose backend knows runtimes by their IDs.
type byRuntime struct {
	fleet.Executor

	fake *executortest.Fake
}

func (b byRuntime) WatchRuntimes(ctx context.Context, wake func(runtimeID string)) error {
	return b.fake.Watch(ctx, wake)
}

// A backend may name the runtime that has changed; a Shoot of the same name is another thing.
func TestAWatchMayNameRuntimes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.fake.Checks, s.fake.After = 1, time.Hour
	p := s.start(t, func(o *engine.Options) {
		for kind, b := range o.Executors {
			b.Executor = byRuntime{Executor: s.fake, fake: s.fake}
			o.Executors[kind] = b
		}
	})
	id := p.create(t, request(2, orchestration.Immediate))
	<-s.fake.Watched()
	for i := range 2 {
		s.waitForOperation(t, id, target(i).RuntimeID, func(op fleet.Operation) bool { return op.Following })
	}
	s.fake.Wake("c-1")
	s.fake.Wake("rt-0")
	s.waitForOperation(t, id, "rt-0", func(op fleet.Operation) bool { return op.State == fleet.Succeeded })
	require.Equal(t, fleet.InProgress, s.operations(t, id)["rt-1"].State)
}
