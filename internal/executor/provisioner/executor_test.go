package provisioner_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/executor/provisioner"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

const kyma, cluster = orchestration.UpgradeKymaOrchestration, orchestration.UpgradeClusterOrchestration

var types = map[string]orchestration.Type{"upgradeKyma": kyma, "upgradeCluster": cluster}

// keep does with a result what is stored between two steps.
func keep(task *fleet.Task, r fleet.Result) {
	if r.Memo != nil {
		task.Memo = r.Memo
	}
	if r.Version != "" {
		task.Version = r.Version
	}
	task.Sent = task.Sent || r.Sent
}

// start goes through the steps until the Provisioner was asked, and returns the last result.
func start(t *testing.T, e *provisioner.Executor, task *fleet.Task) fleet.Result {
	t.Helper()
	for range 5 {
		r, err := e.Observe(t.Context(), *task)
		require.NoError(t, err)
		if r.Outcome == fleet.NeedsStart {
			keep(task, r)
			r, err = e.Start(t.Context(), *task, allowed(t))
			require.NoError(t, err)
		}
		keep(task, r)
		if r.Outcome != fleet.Again || !r.NextObserve || r.Sent {
			return r
		}
	}
	require.FailNow(t, "nothing was asked for")
	return fleet.Result{}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []provisioner.Options{
		{}, {URL: "localhost:3000/graphql", Type: kyma}, {URL: "ftp://example.com", Type: kyma}, {URL: "http://", Type: kyma},
		{URL: "http://example.com/graphql"}, {URL: "http://example.com/graphql", Type: "upgradeEverything"},
	} {
		_, err := provisioner.New(o)
		require.Error(t, err, "%+v", o)
	}
	_, err := provisioner.New(provisioner.Options{URL: "https://example.com/graphql", Type: cluster})
	require.NoError(t, err)
}

func TestParametersWithoutTargetAreRefused(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	for _, kind := range []orchestration.Type{kyma, cluster} {
		err := b.executor(t, kind).Validate(t.Context(), orchestration.Parameters{})
		require.ErrorIs(t, err, fleet.ErrInvalid)
		require.ErrorContains(t, err, "version")
		require.NoError(t, b.executor(t, kind).Validate(t.Context(), orchestration.Parameters{Version: "1.34.7"}))
	}
	image := orchestration.Parameters{Kubernetes: &orchestration.KubernetesParameters{MachineImage: "gardenlinux"}}
	require.NoError(t, b.executor(t, cluster).Validate(t.Context(), image))
}

func TestStatesOfTheOperation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		state   gqlschema.OperationState
		outcome fleet.Outcome
		says    string
	}{
		{gqlschema.OperationStatePending, fleet.Again, "step Upgrade"},
		{gqlschema.OperationStateInProgress, fleet.Again, "step Upgrade"},
		{gqlschema.OperationStateSucceeded, fleet.Done, "has version 2.20.5"},
		{gqlschema.OperationStateFailed, fleet.Refused, "the Provisioner's operation failed: step Upgrade"},
		{"Paused", fleet.Again, `"Paused", which is not known`},
	}
	for _, test := range tests {
		t.Run(string(test.state), func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			task := b.task("rt-1")
			e := b.executor(t, kyma)
			require.Equal(t, "upgrade_requested", start(t, e, &task).Stage)
			b.end("rt-1", test.state, nil)

			checked, err := e.Check(t.Context(), task, allowed(t))
			require.NoError(t, err)
			observed, err := b.executor(t, kyma).Observe(t.Context(), task)
			require.NoError(t, err)
			require.Equal(t, checked, observed, "a new process has to see the same")
			require.Equal(t, test.outcome, checked.Outcome)
			require.Contains(t, checked.Description, test.says)
			require.True(t, checked.Sent)
		})
	}
}

func TestLastErrorBecomesTheReason(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		last *provisioner.LastError
		want string
	}{
		{"none", nil, "the Provisioner's operation failed: step Upgrade"},
		{"empty", &provisioner.LastError{}, "the Provisioner's operation failed: step Upgrade"},
		{"message", &provisioner.LastError{ErrMessage: "timed\nout"}, "the Provisioner's operation failed: timed out"},
		{"all", &provisioner.LastError{ErrMessage: "no quota", Reason: "ERR_INFRA_QUOTA_EXCEEDED", Component: "gardener"},
			"the Provisioner's operation failed: no quota (reason ERR_INFRA_QUOTA_EXCEEDED, component gardener)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			task := b.task("rt-1")
			e := b.executor(t, kyma)
			start(t, e, &task)
			b.end("rt-1", gqlschema.OperationStateFailed, test.last)
			r, err := e.Check(t.Context(), task, allowed(t))
			require.NoError(t, err)
			require.Equal(t, test.want, r.Reason)
		})
	}
}

// An operation that somebody else has started and that brings what is wanted is followed; nothing is sent.
func TestRunningUpgradeToTheWantedVersionIsFollowed(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	task := b.task("rt-1")
	b.change("rt-1", func(s *provisioner.Status) { s.RuntimeConfiguration.KymaConfig.Version = "2.20.5" })
	b.begin("rt-1", gqlschema.OperationTypeUpgrade, gqlschema.OperationStatePending)
	e := b.executor(t, kyma)
	r := start(t, e, &task)
	require.Equal(t, fleet.Again, r.Outcome)
	require.False(t, r.NextObserve)
	b.end("rt-1", gqlschema.OperationStateSucceeded, nil)
	r, err := e.Check(t.Context(), task, allowed(t))
	require.NoError(t, err)
	require.Equal(t, fleet.Done, r.Outcome)
	require.Zero(t, b.starts("rt-1"))
}

// Another operation holds the runtime: ours waits, says so, and goes on when the other one has ended.
func TestBusyRuntimeIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, other := range []gqlschema.OperationType{gqlschema.OperationTypeUpgrade, gqlschema.OperationTypeUpgradeShoot, gqlschema.OperationTypeHibernate, "SomethingNew"} {
		t.Run(string(other), func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			task := b.task("rt-1")
			b.begin("rt-1", other, gqlschema.OperationStateInProgress)
			e := b.executor(t, kyma)
			for range 3 {
				r, err := e.Observe(t.Context(), task)
				require.NoError(t, err)
				require.Equal(t, fleet.Again, r.Outcome)
				require.True(t, r.NextObserve)
				require.False(t, r.Sent)
				require.Contains(t, r.Description, string(other))
				keep(&task, r)
			}
			b.end("rt-1", gqlschema.OperationStateSucceeded, nil)
			require.True(t, start(t, e, &task).Sent)
			require.Equal(t, 1, b.starts("rt-1"))
		})
	}
}

// Somebody else is faster between our look and our request: the Provisioner refuses a second operation, as a bad request.
func TestRefusalOfASecondOperationIsNoFailure(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	task := b.task("rt-1")
	e := b.executor(t, kyma)
	r, err := e.Start(t.Context(), task, allowed(t))
	require.NoError(t, err)
	keep(&task, r)
	r, err = e.Start(t.Context(), task, func(context.Context) error {
		b.begin("rt-1", gqlschema.OperationTypeUpgradeShoot, gqlschema.OperationStateInProgress)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, fleet.Again, r.Outcome)
	require.True(t, r.NextObserve)
	require.False(t, r.Sent)
	keep(&task, r)
	b.end("rt-1", gqlschema.OperationStateFailed, nil)
	require.True(t, start(t, e, &task).Sent)
	require.Equal(t, 1, b.starts("rt-1"))
}

// The answer that names the operation is lost, the process dies, and the upgrade fails before the next one looks, even with its
// configuration taken back: it is ours, and is not started a second time.
func TestUpgradeThatFailedUnseenIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	for _, takenBack := range []bool{false, true} {
		b := newBackend(t)
		task := b.task("rt-1")
		e := b.executor(t, kyma)
		r, err := e.Start(t.Context(), task, allowed(t))
		require.NoError(t, err)
		require.Equal(t, fleet.Again, r.Outcome)
		require.Zero(t, b.starts("rt-1"), "the newest operation has to be kept before anything is sent")
		keep(&task, r)
		b.loseNext()
		_, err = e.Start(t.Context(), task, allowed(t))
		require.Error(t, err)

		b.end("rt-1", gqlschema.OperationStateFailed, &provisioner.LastError{ErrMessage: "broken"})
		if takenBack {
			b.change("rt-1", func(s *provisioner.Status) { s.RuntimeConfiguration.KymaConfig.Version = "2.20.4" })
		}
		r, err = b.executor(t, kyma).Observe(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, fleet.Refused, r.Outcome)
		require.Contains(t, r.Reason, "broken")
		require.Equal(t, 1, b.starts("rt-1"))
	}
}

// A failure that was there before is no end: the version stands in the configuration, and the upgrade is tried again.
func TestFailedUpgradeOfBeforeIsStartedAgain(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	task := b.task("rt-1")
	b.change("rt-1", func(s *provisioner.Status) { s.RuntimeConfiguration.KymaConfig.Version = "2.20.5" })
	b.begin("rt-1", gqlschema.OperationTypeUpgrade, gqlschema.OperationStateFailed)
	e := b.executor(t, kyma)
	require.True(t, start(t, e, &task).Sent)
	require.Equal(t, 1, b.starts("rt-1"))
	b.end("rt-1", gqlschema.OperationStateSucceeded, nil)
	r, err := e.Check(t.Context(), task, allowed(t))
	require.NoError(t, err)
	require.Equal(t, fleet.Done, r.Outcome)
}

// Our operation stays known by its ID when others follow it.
func TestNewerOperationDoesNotHideOurs(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	task := b.task("rt-1")
	e := b.executor(t, kyma)
	start(t, e, &task)
	b.end("rt-1", gqlschema.OperationStateSucceeded, nil)
	b.begin("rt-1", gqlschema.OperationTypeUpgradeShoot, gqlschema.OperationStateInProgress)
	r, err := b.executor(t, kyma).Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.Done, r.Outcome)
}

// An operation that the Provisioner has forgotten is judged by what the runtime has, and never started again.
func TestForgottenOperation(t *testing.T) {
	t.Parallel()
	for _, has := range []bool{false, true} {
		b := newBackend(t)
		task := b.task("rt-1")
		e := b.executor(t, kyma)
		start(t, e, &task)
		b.change("rt-1", func(s *provisioner.Status) {
			delete(b.operations, s.LastOperationStatus.Id)
			s.LastOperationStatus = nil
			if !has {
				s.RuntimeConfiguration.KymaConfig.Version = "2.20.4"
			}
		})
		r, err := e.Check(t.Context(), task, allowed(t))
		require.NoError(t, err)
		if has {
			require.Equal(t, fleet.Done, r.Outcome)
		} else {
			require.Equal(t, fleet.Refused, r.Outcome)
			require.Contains(t, r.Reason, "does not know the operation any more")
		}
		require.Equal(t, 1, b.starts("rt-1"))
	}
}

func TestRuntimeThatIsBeingRemovedIsGone(t *testing.T) {
	t.Parallel()
	for _, kind := range []gqlschema.OperationType{gqlschema.OperationTypeDeprovision, gqlschema.OperationTypeDeprovisionNoInstall} {
		for _, state := range gqlschema.AllOperationState {
			b := newBackend(t)
			task := b.task("rt-1")
			b.begin("rt-1", kind, state)
			r, err := b.executor(t, kyma).Observe(t.Context(), task)
			require.NoError(t, err)
			require.Equal(t, fleet.Gone, r.Outcome)
			require.NotEmpty(t, r.Reason)
		}
	}
}

// upgradeRuntime replaces the whole configuration, so a runtime without one is not touched.
func TestRuntimeWithoutKymaIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*provisioner.Status){
		"no configuration":        func(s *provisioner.Status) { s.RuntimeConfiguration = nil },
		"no Kyma":                 func(s *provisioner.Status) { s.RuntimeConfiguration.KymaConfig = nil },
		"neither, nor operations": func(s *provisioner.Status) { *s = provisioner.Status{} },
	} {
		for _, dry := range []bool{false, true} {
			b := newBackend(t)
			task := b.task("rt-1")
			task.DryRun = dry
			b.change("rt-1", change)
			r, err := b.executor(t, kyma).Observe(t.Context(), task)
			require.NoError(t, err)
			require.Equal(t, fleet.Refused, r.Outcome, name)
			require.Contains(t, r.Reason, "no configuration of Kyma")
		}
	}
}

func TestDryRunSaysWhatWouldHappen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(b *backend)
		says    string
	}{
		{"free", func(*backend) {}, "would be asked for version 2.20.5; nothing was changed"},
		{"busy", func(b *backend) {
			b.begin("rt-1", gqlschema.OperationTypeHibernate, gqlschema.OperationStateInProgress)
		}, "after the operation that it is busy with (Hibernate)"},
		{"has it", func(b *backend) {
			b.change("rt-1", func(s *provisioner.Status) { s.RuntimeConfiguration.KymaConfig.Version = "2.20.5" })
		}, "already has version 2.20.5"},
		{"runs", func(b *backend) {
			b.change("rt-1", func(s *provisioner.Status) { s.RuntimeConfiguration.KymaConfig.Version = "2.20.5" })
			b.begin("rt-1", gqlschema.OperationTypeUpgrade, gqlschema.OperationStateInProgress)
		}, "is already upgrading to version 2.20.5"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			task := b.task("rt-1")
			task.DryRun = true
			test.prepare(b)
			r, err := b.executor(t, kyma).Observe(t.Context(), task)
			require.NoError(t, err)
			require.Equal(t, fleet.Done, r.Outcome)
			require.False(t, r.Sent)
			require.Contains(t, r.Description, test.says)
			require.Zero(t, b.starts("rt-1"))
		})
	}
}

func TestLooksAsOftenAsItIsTold(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	task := b.task("rt-1")
	e, err := provisioner.New(provisioner.Options{URL: b.url, Client: b.client, Type: kyma, CheckEvery: 42 * time.Second})
	require.NoError(t, err)
	require.Equal(t, 42*time.Second, start(t, e, &task).After)
}

func TestUnreadableMemoIsAnError(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	task := b.task("rt-1")
	task.Memo = json.RawMessage(`{"watched":"yes"}`)
	e := b.executor(t, kyma)
	_, err := e.Observe(t.Context(), task)
	require.Error(t, err)
	_, err = e.Start(t.Context(), task, allowed(t))
	require.Error(t, err)
	_, err = e.Check(t.Context(), task, allowed(t))
	require.Error(t, err)
	require.Zero(t, b.starts("rt-1"))
}
