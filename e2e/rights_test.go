package e2e_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

// noRights are ways in which a server may lose its access in the middle of a run, with what operations in progress say then.
var noRights = map[string]struct{ plan, says string }{
	"the right to write is revoked": {
		`{action: status, code: 403, verbs: [patch]}`, `access is refused: a right is missing: .* is forbidden: User "landscape:user" cannot patch resource "`},
	"all rights are revoked":  {`{action: status, code: 403}`, `access is refused: a right is missing: .* is forbidden: User "landscape:user" cannot get resource "`},
	"the credentials expired": {`{action: status, code: 401}`, `access is refused: the credentials are not accepted: Unauthorized$`},
}

// awaitShutOut waits until everything that is pending waits for the backend and something in progress says what is missing.
func awaitShutOut(t *testing.T, s server.Clients, id, says string) {
	t.Helper()
	await.That(t, "it is seen that access is refused", func() error {
		waiting, telling := 0, 0
		for _, op := range s.Operations(t, id) {
			switch op.State {
			case orchestration.Pending:
				if op.WaitReason != orchestration.WaitBackendUnavailable {
					return fmt.Errorf("%s waits for %q", op.ShootName, op.WaitReason)
				}
				waiting++
			case orchestration.InProgress:
				if regexp.MustCompile(says).MatchString(op.Description) {
					telling++
				}
			}
		}
		if waiting == 0 || telling == 0 {
			return fmt.Errorf("%d are pending, %d say what is missing", waiting, telling)
		}
		return nil
	})
}

// A right that is revoked for a while in the middle of a run fails nothing: operations say what is missing, nothing new starts, and all goes on by itself.
func TestRightsVanishForAWhile(t *testing.T) {
	t.Parallel()
	for title, lost := range noRights {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			f := landscape.New(t, landscape.Options{Shoots: 8, Version: "1.34.5", ReconcileTime: time.Second})
			s := startLocal(t, f, nil)
			id := s.Upgrade(t, toTarget(2, all))
			await.That(t, "the first ones are done", func() error {
				if n := s.Orchestration(t, id).OperationStats[orchestration.Succeeded]; n < 2 {
					return fmt.Errorf("%d are", n)
				}
				return nil
			})
			f.SetFaults(t, "api: ["+lost.plan+"]")
			awaitShutOut(t, s.Clients, id, lost.says)
			require.Regexp(t, `"name":"upgradeCluster through gardener","status":"failed","optional":true,"message":"no upgradeCluster starts since [^"]*: gardener refuses access"`,
				s.Send(t, "GET", "/readyz", "").Body)
			require.Positive(t, s.Metric(t, `swell_engine_backend_down{backend="gardener"}`))
			require.Positive(t, s.Metric(t, `swell_engine_steps_total{backend="gardener",outcome="no_access"}`))

			f.ClearFaults(t)
			o := s.Ended(t, id, orchestration.Succeeded)
			require.Equal(t, map[string]int{orchestration.Succeeded: 8}, o.OperationStats)
			requireOneWriteForEach(t, f)
			require.Zero(t, s.Metric(t, `swell_engine_backend_down{backend="gardener"}`))
			s.Ready(t)
		})
	}
}

// The same holds for the control plane that has the Kymas.
func TestRightsOnKymasVanishForAWhile(t *testing.T) {
	t.Parallel()
	for title, lost := range noRights {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			f := landscape.New(t, landscape.Options{Shoots: 8, Kymas: true, ReconcileTime: time.Second})
			s := server.StartLocal(t, nil, with(settingsFor(t, f), "executor-upgrade-kyma", "kyma", "kyma-kubeconfig", f.KymaKubeconfig, "kyma-namespace", f.Namespace))
			s.Ready(t)
			s.Import(t, f.Runtimes(t))
			p := kymaTo("fast", false)
			p.Strategy.Parallel.Workers = 2
			f.SetFaults(t, "api: ["+lost.plan+"]")
			id := upgradeKyma(t, s.Clients, p)
			awaitShutOut(t, s.Clients, id, lost.says)
			f.ClearFaults(t)
			o := s.Ended(t, id, orchestration.Succeeded)
			require.Equal(t, map[string]int{orchestration.Succeeded: 8}, o.OperationStats)
			for name, channel := range f.Channels(t) {
				require.Equal(t, "fast", channel, name)
			}
		})
	}
}

// A cache of Kymas that has lost its source says so, and nobody relies on its picture meanwhile.
func TestKymasCannotBeWatched(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 2, Kymas: true})
	s := server.StartLocal(t, nil, with(settingsFor(t, f), "executor-upgrade-kyma", "kyma", "kyma-kubeconfig", f.KymaKubeconfig, "kyma-namespace", f.Namespace))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	require.Positive(t, s.Metric(t, `swell_cache_following{cache="kymas"}`))
	require.Positive(t, s.Metric(t, `swell_cache_following{cache="shoots"}`))

	f.SetFaults(t, `api: [{action: status, code: 403, verbs: [list, watch], resources: [kymas]}, {action: closeWatches, every: 100ms}]`)
	await.That(t, "it is seen that Kymas cannot be watched", func() error {
		if body := s.Send(t, "GET", "/readyz", "").Body; !regexp.MustCompile(`"name":"kymas","status":"failed","optional":true,"message":"the Kymas of [^"]* cannot be watched since `).MatchString(body) {
			return fmt.Errorf("%s", body)
		}
		return nil
	})
	require.Zero(t, s.Metric(t, `swell_cache_following{cache="kymas"}`))
	s.Ended(t, upgradeKyma(t, s.Clients, kymaTo("fast", false)), orchestration.Succeeded)

	f.ClearFaults(t)
	await.That(t, "the Kymas are watched again", func() error {
		if s.Metric(t, `swell_cache_following{cache="kymas"}`) == 0 {
			return fmt.Errorf("they are not")
		}
		return nil
	})
}
