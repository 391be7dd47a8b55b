package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

// While the API server is away operations wait and say for what; nothing fails, nothing is sent twice, and all goes on when it is back.
func TestTheAPIServerGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 12, Version: "1.34.5", ReconcileTime: time.Second})
	s := startLocal(t, f, nil)
	id := s.Upgrade(t, toTarget(4, all))
	await.That(t, "the first ones are done", func() error {
		if n := s.Orchestration(t, id).OperationStats[orchestration.Succeeded]; n < 2 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	f.SetFaults(t, "api: [{action: refuse}]")
	began := time.Now()
	await.That(t, "it is seen that the API server is away", func() error {
		running := 0
		for _, op := range s.Operations(t, id) {
			switch op.State {
			case orchestration.Pending:
				if op.WaitReason != orchestration.WaitBackendUnavailable {
					return fmt.Errorf("%s waits for %q", op.ShootName, op.WaitReason)
				}
			case orchestration.InProgress:
				running++
			}
		}
		if running == 0 {
			return fmt.Errorf("nothing is in progress")
		}
		return nil
	})
	s.Degraded(t)
	require.Positive(t, s.Metric(t, `swell_engine_backend_down{backend="gardener"}`))
	<-time.After(time.Until(began.Add(outage)))
	f.ClearFaults(t)
	back := time.Now()
	o := s.Ended(t, id, orchestration.Succeeded)
	t.Logf("all ended %s after the API server came back", time.Since(back))
	require.Equal(t, map[string]int{orchestration.Succeeded: 12}, o.OperationStats)
	requireOneWriteForEach(t, f)
}

// outage is how long the API server is away.
const outage = 20 * time.Second

// requireOneWriteForEach checks that every Shoot has the wanted version and got it with one write.
func requireOneWriteForEach(t *testing.T, f *landscape.Fleet) {
	t.Helper()
	want := map[string]int{}
	for _, shoot := range f.Shoots(t) {
		require.Equal(t, landscape.Target, shoot.Version)
		want[shoot.Name] = 1
	}
	require.Equal(t, want, f.Upgrades(t))
}

// Whatever passing trouble the API server makes, each Shoot is upgraded with one write.
func TestPassingTroubleOfTheAPIServer(t *testing.T) {
	t.Parallel()
	for title, plan := range map[string]string{
		"slow":           `{action: delay, delay: 700ms}`,
		"conflicts":      `{action: status, code: 409, verbs: [patch], resources: [shoots], share: 0.6}`,
		"too many":       `{action: status, code: 429, retryAfter: 1s, share: 0.15}`,
		"errors":         `{action: status, code: 500, share: 0.15}`,
		"unavailable":    `{action: status, code: 503, share: 0.15}`,
		"garbage":        `{action: garbage, verbs: [get, patch], share: 0.15}`,
		"dropped":        `{action: drop, share: 0.15}`,
		"lost answers":   `{action: lose, verbs: [patch], resources: [shoots], dryRun: false, share: 0.7}`,
		"closed watches": `{action: closeWatches, every: 300ms}`,
		"no watches":     `{action: status, code: 500, verbs: [watch]}`,
		"no lists":       `{action: status, code: 500, verbs: [list, watch], after: 500ms}`,
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			f := landscape.New(t, landscape.Options{Shoots: 8, Version: "1.34.5"})
			s := startLocal(t, f, nil)
			f.SetFaults(t, "seed: 3\napi: ["+plan+"]")
			id := s.Upgrade(t, toTarget(8, all))
			o := s.Ended(t, id, orchestration.Succeeded)
			require.Equal(t, map[string]int{orchestration.Succeeded: 8}, o.OperationStats)
			if !strings.Contains(plan, "atches") && !strings.Contains(plan, "watch]") {
				require.Positive(t, f.Hits(t)[0])
			}
			requireOneWriteForEach(t, f)
		})
	}
}

// A server that starts while the API server is away answers, says so, keeps what is asked for, and carries it out later.
func TestAServerStartsWithoutTheAPIServer(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.34.5"})
	f.SetFaults(t, "api: [{action: refuse}]")
	s := server.StartLocal(t, nil, settingsFor(t, f))
	s.Import(t, f.Runtimes(t))
	id := s.Upgrade(t, toTarget(2, all))
	await.That(t, "it is said that the targets cannot be resolved", func() error {
		if o := s.Orchestration(t, id); !strings.Contains(o.Description, "waiting until the targets can be resolved") {
			return fmt.Errorf("%s: %s", o.State, o.Description)
		}
		return nil
	})
	require.Equal(t, orchestration.Pending, s.Orchestration(t, id).State)
	s.Degraded(t)
	f.ClearFaults(t)
	s.Ended(t, id, orchestration.Succeeded)
	requireOneWriteForEach(t, f)
}
