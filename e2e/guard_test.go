package e2e_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

// TestNothingIsSentAfterACancel: the budget of requests holds writes back for seconds, so that operations are in progress whose write is still to come when
// the cancel is answered. They end as canceled.
func TestNothingIsSentAfterACancel(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 30, Version: "1.34.5"})
	s := server.StartLocal(t, nil, with(settingsFor(t, f), "gardener-qps", "4", "gardener-burst", "10"))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	id := s.Upgrade(t, toTarget(30, all))
	await.That(t, "the first write", func() error {
		if n := len(f.Upgrades(t)); n == 0 {
			return fmt.Errorf("none of the Shoots was written")
		}
		return nil
	})
	require.NoError(t, s.CancelOrchestration(id))
	before := len(f.Upgrades(t))
	o := s.Ended(t, id, orchestration.Canceled)
	// One write may have been between the guard and the socket when the cancel was answered.
	require.LessOrEqual(t, len(f.Upgrades(t)), before+1)
	require.Less(t, before, 25, "the budget must have held writes back, else this shows nothing")
	require.Equal(t, len(f.Upgrades(t)), o.OperationStats[orchestration.Succeeded], "what was sent ran to its end")
	require.Equal(t, 30-len(f.Upgrades(t)), o.OperationStats[orchestration.Canceled])
}

// TestAWriteThatIsPutOffIsNotRepeatedBehindACancel: Gardener asks for patience; the client must not send the write again by itself later.
func TestAWriteThatIsPutOffIsNotRepeatedBehindACancel(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 3, Version: "1.34.5", Faults: `
api:
  - {action: status, code: 429, retryAfter: 3s, verbs: [patch], resources: [shoots]}
`})
	s := server.StartLocal(t, nil, settingsFor(t, f))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	id := s.Upgrade(t, toTarget(3, all))
	await.That(t, "a write that was put off", func() error {
		if hits := f.Hits(t); len(hits) == 0 || hits[0] == 0 {
			return fmt.Errorf("none yet")
		}
		return nil
	})
	require.NoError(t, s.CancelOrchestration(id))
	f.ClearFaults(t)
	s.Ended(t, id, orchestration.Canceled)
	require.Empty(t, f.Upgrades(t))
}

// TestACancelDoesNotWaitForABackendThatWasNeverReached: operations in progress that have sent nothing end as canceled while Gardener is away.
func TestACancelDoesNotWaitForABackendThatWasNeverReached(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 5, Version: "1.34.5"})
	s := server.StartLocal(t, nil, settingsFor(t, f))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	f.SetFaults(t, `{"api":[{"action":"refuse"}]}`)
	id := s.Upgrade(t, toTarget(3, all))
	await.That(t, "operations that wait for Gardener", func() error {
		if n := s.Orchestration(t, id).OperationStats[orchestration.InProgress]; n == 0 {
			return fmt.Errorf("none is in progress")
		}
		return nil
	})
	require.NoError(t, s.CancelOrchestration(id))
	o := s.Ended(t, id, orchestration.Canceled)
	require.Equal(t, map[string]int{orchestration.Canceled: 5}, o.OperationStats)
	f.ClearFaults(t)
	require.Empty(t, f.Upgrades(t))
}
