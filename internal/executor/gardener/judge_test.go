package gardener

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

const (
	succeededState  = gardencorev1beta1.LastOperationStateSucceeded
	processingState = gardencorev1beta1.LastOperationStateProcessing
	errorState      = gardencorev1beta1.LastOperationStateError
	failedState     = gardencorev1beta1.LastOperationStateFailed
	abortedState    = gardencorev1beta1.LastOperationStateAborted
)

// The upgrade was written as generation 8. That generation 7 succeeded says nothing about it, and a status without a last operation is no
// reason to fall over.
func TestCase_E1(t *testing.T) {
	t.Parallel()
	raw := func(text string) func(*gardencorev1beta1.Shoot) {
		return func(s *gardencorev1beta1.Shoot) {
			s.Status = gardencorev1beta1.ShootStatus{}
			require.NoError(t, json.Unmarshal([]byte(text), &s.Status))
		}
	}
	task := newTask("1.34.7", written("1.34.7", 8))
	for i, step := range []struct {
		status string
		want   fleet.Outcome
	}{
		{`{"observedGeneration": 7, "lastOperation": {"type": "Reconcile", "state": "Succeeded", "progress": 100}}`, fleet.Again},
		{`{"observedGeneration": 8}`, fleet.Again},
		{`{"observedGeneration": 8, "lastOperation": {"type": "Reconcile", "state": "Processing", "progress": 40}}`, fleet.Again},
		{`{"observedGeneration": 8, "lastOperation": {"type": "Reconcile", "state": "Succeeded", "progress": 100}}`, fleet.Done},
		// The neighbours: nothing at all, and an end of another kind or another generation.
		{`{}`, fleet.Again},
		{`{"observedGeneration": 7}`, fleet.Again},
		{`{"observedGeneration": 8, "lastOperation": {"type": "Migrate", "state": "Succeeded", "progress": 100}}`, fleet.Again},
		{`{"observedGeneration": 8, "lastOperation": {"type": "Delete", "state": "Succeeded", "progress": 100}}`, fleet.Again},
		{`{"observedGeneration": 8, "lastOperation": {"type": "Create", "state": "Succeeded", "progress": 100}}`, fleet.Done},
		{`{"observedGeneration": 7, "lastOperation": {"type": "Reconcile", "state": "Failed", "progress": 100}}`, fleet.Again},
		{`{"observedGeneration": 8, "lastOperation": {"type": "Reconcile", "state": "", "progress": 100}}`, fleet.Again},
		{`{"observedGeneration": 9, "lastOperation": {"type": "Reconcile", "state": "Succeeded", "progress": 100}}`, fleet.Done},
	} {
		shoot := newShoot(kubernetes("1.34.7"), generations(8, 0), raw(step.status))
		e, _ := newExecutor(t, shoot, newProfile())
		for _, look := range []func() (fleet.Result, error){
			func() (fleet.Result, error) { return e.Check(t.Context(), task, pass) },
			func() (fleet.Result, error) { return e.Observe(t.Context(), task) },
		} {
			got, err := look()
			require.NoError(t, err)
			require.Equal(t, step.want, got.Outcome, "status %d: %+v", i+1, got)
			require.True(t, got.Sent)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	before, after := now.Add(-time.Hour), now.Add(-time.Second)
	at8 := []func(*gardencorev1beta1.Shoot){kubernetes("1.34.7"), generations(8, 8)}
	for name, test := range map[string]struct {
		shoot []func(*gardencorev1beta1.Shoot)
		task  []func(*fleet.Task)
		want  fleet.Outcome
		says  string
	}{
		"another version": {want: fleet.NeedsStart},
		"another version, reconciling": {
			shoot: []func(*gardencorev1beta1.Shoot){reconcile(processingState, after)}, want: fleet.NeedsStart},
		"another version, failed": {
			shoot: []func(*gardencorev1beta1.Shoot){reconcile(failedState, before)}, want: fleet.NeedsStart},
		"there already": {shoot: at8, want: fleet.Done, says: "has Kubernetes 1.34.7"},
		"written by somebody, not taken up": {
			shoot: append(at8, generations(8, 7)), want: fleet.Again, says: "waiting for Gardener to begin"},
		"written by somebody, under way": {
			shoot: append(at8, reconcile(processingState, after)), want: fleet.Again, says: "reconcile processing, 40 %"},
		"pending": {
			shoot: append(at8, reconcile(gardencorev1beta1.LastOperationStatePending, after)), want: fleet.Again, says: "reconcile pending"},
		"an error that Gardener tries again by itself": {
			shoot: append(at8, reconcile(errorState, after), lastError("no quota\nleft", "ERR_INFRA_QUOTA_EXCEEDED")),
			want:  fleet.Again, says: "reconcile error, 40 %: no quota left [ERR_INFRA_QUOTA_EXCEEDED]"},
		"failed before the start": {
			shoot: append(at8, reconcile(failedState, before)), want: fleet.NeedsStart},
		"aborted before the start": {
			shoot: append(at8, reconcile(abortedState, before)), want: fleet.NeedsStart},
		"failed before the start, and told to try again already": {
			shoot: append(at8, reconcile(failedState, before), annotated(constants.GardenerOperation, constants.ShootOperationRetry)), want: fleet.Again},
		"failed before the start, to be tried again in its window": {
			shoot: append(at8, reconcile(failedState, before), annotated(constants.FailedShootNeedsRetryOperation, "true")), want: fleet.Again},
		"failed after the start, without a write that is known": {
			shoot: append(at8, reconcile(failedState, after), lastError("boom")), want: fleet.Refused, says: "Gardener gave up: boom"},
		"failed after our write": {
			shoot: append(at8, reconcile(failedState, before), lastError("boom"), lastError("", "ERR_X"), lastError("")),
			task:  []func(*fleet.Task){written("1.34.7", 8)}, want: fleet.Refused, says: "Gardener gave up: boom; [ERR_X]"},
		"failed after our write without a word": {
			shoot: append(at8, reconcile(abortedState, after)), task: []func(*fleet.Task){written("1.34.7", 8)}, want: fleet.Refused,
			says: "Gardener gave up: reconcile aborted, 40 %"},
		"our write is not taken up": {
			shoot: append(at8, generations(9, 8)), task: []func(*fleet.Task){written("1.34.7", 9)}, want: fleet.Again, says: "waiting for Gardener to begin"},
		"somebody changed something else after our write": {
			shoot: append(at8, generations(11, 9)), task: []func(*fleet.Task){written("1.34.7", 9)}, want: fleet.Done},
		"raised further after our write": {
			shoot: append(at8, kubernetes("1.35.0"), generations(10, 10)), task: []func(*fleet.Task){written("1.34.7", 9)}, want: fleet.Refused,
			says: "somebody changed the Shoot after Kubernetes 1.34.7 was written: it has Kubernetes 1.35.0"},
		"ignored after our write": {
			shoot: append(at8, generations(9, 8), annotated(constants.ShootIgnore, "true")), task: []func(*fleet.Task){written("1.34.7", 9)},
			want: fleet.Again, says: "ignores the Shoot"},
		"ignored": {
			shoot: []func(*gardencorev1beta1.Shoot){annotated(constants.ShootIgnore, "true")}, want: fleet.Refused, says: constants.ShootIgnore},
		"not ignored": {
			shoot: []func(*gardencorev1beta1.Shoot){annotated(constants.ShootIgnore, "false")}, want: fleet.NeedsStart},
		"being deleted": {
			shoot: []func(*gardencorev1beta1.Shoot){func(s *gardencorev1beta1.Shoot) { s.DeletionTimestamp = &metav1.Time{Time: now} }},
			want:  fleet.Gone, says: "is being deleted"},
		"being deleted after our write": {
			shoot: append(at8, func(s *gardencorev1beta1.Shoot) { s.DeletionTimestamp = &metav1.Time{Time: now} }),
			task:  []func(*fleet.Task){written("1.34.7", 9)}, want: fleet.Gone},
		"another runtime": {
			shoot: []func(*gardencorev1beta1.Shoot){annotated(orchestration.RuntimeIDAnnotation, "rt-\x1b[31m2")}, want: fleet.Gone,
			says: "belongs to another runtime now: rt- [31m2"},
		"no runtime": {
			shoot: []func(*gardencorev1beta1.Shoot){annotated(orchestration.RuntimeIDAnnotation, "")}, want: fleet.Gone, says: "does not carry a runtime ID"},
		"the runtime under the other annotation": {
			shoot: []func(*gardencorev1beta1.Shoot){
				annotated(orchestration.RuntimeIDAnnotation, ""), annotated(orchestration.InfrastructureManagerRuntimeIDAnnotation, "rt-1")},
			want: fleet.NeedsStart},
		"another Shoot of the same name and runtime": {
			shoot: append(at8, func(s *gardencorev1beta1.Shoot) { s.UID = "uid-2" }), task: []func(*fleet.Task){written("1.34.7", 9)},
			want: fleet.Gone, says: "was deleted and another one was created"},
		"worker pools with versions of their own": {
			shoot: append(at8, func(s *gardencorev1beta1.Shoot) {
				pool := s.Spec.Provider.Workers[0]
				older, same := pool, pool
				older.Name, older.Kubernetes = "older", &gardencorev1beta1.WorkerKubernetes{Version: ptr("1.33.4")}
				same.Name, same.Kubernetes = "same", &gardencorev1beta1.WorkerKubernetes{Version: ptr("1.34.7")}
				s.Spec.Provider.Workers = append(s.Spec.Provider.Workers, older, same)
			}), want: fleet.Done, says: "worker pools with a version of their own: older (1.33.4)"},
		"hibernated": {
			shoot: append(at8, func(s *gardencorev1beta1.Shoot) {
				s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr(true)}
			}),
			want: fleet.Done, says: "hibernated"},
		"no worker pools and no maintenance": {
			shoot: append(at8, func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers, s.Spec.Maintenance = nil, nil }), want: fleet.Done},
		"another machine image": {
			shoot: at8, task: []func(*fleet.Task){imageTo("gardenlinux", "1592.2.0")}, want: fleet.NeedsStart},
		"the machine image is there": {
			shoot: at8, task: []func(*fleet.Task){imageTo("gardenlinux", "1592.1.0")}, want: fleet.Done, says: "machine image gardenlinux 1592.1.0"},
		"the machine image is there, in whatever version": {
			shoot: at8, task: []func(*fleet.Task){imageTo("gardenlinux", "")}, want: fleet.Done},
		"a pool without an image": {
			shoot: append(at8, func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers[0].Machine.Image = nil }),
			task:  []func(*fleet.Task){imageTo("gardenlinux", "")}, want: fleet.NeedsStart},
		"a dry run of what is there": {
			shoot: append(at8, reconcile(processingState, after)), task: []func(*fleet.Task){dryRun}, want: fleet.Done,
			says: "dry run: the Shoot already has Kubernetes 1.34.7"},
		"a dry run of what has failed": {
			shoot: append(at8, reconcile(failedState, before)), task: []func(*fleet.Task){dryRun}, want: fleet.NeedsStart},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, client := newExecutor(t, newShoot(test.shoot...), newProfile())
			got, err := e.Observe(t.Context(), newTask("1.34.7", test.task...))
			require.NoError(t, err)
			require.Equal(t, test.want, got.Outcome, "%+v", got)
			require.Contains(t, got.Description+got.Reason, test.says)
			for _, action := range client.Actions() {
				require.Equal(t, "get", action.GetVerb(), "looking changed something")
			}
			switch got.Outcome {
			case fleet.Refused, fleet.Gone:
				require.NotEmpty(t, got.Reason)
			case fleet.NeedsStart, fleet.Done:
				require.Equal(t, "1.34.7", got.Version)
				require.NotEmpty(t, got.ClusterConfig)
			case fleet.Again:
			}
		})
	}
}

func dryRun(t *fleet.Task) { t.DryRun = true }

func lastError(description string, codes ...gardencorev1beta1.ErrorCode) func(*gardencorev1beta1.Shoot) {
	return func(s *gardencorev1beta1.Shoot) {
		s.Status.LastErrors = append(s.Status.LastErrors, gardencorev1beta1.LastError{Description: description, Codes: codes})
	}
}

// What Gardener says is foreign text: it stays one clean line of bounded length.
func TestForeignText(t *testing.T) {
	t.Parallel()
	hostile := "no \x1b[31mquota\r\n\tleft\u202e\u2028 \x00\xff" + strings.Repeat("x", 1<<20)
	shoot := newShoot(kubernetes("1.34.7"), generations(8, 8), reconcile(failedState, now))
	for range 50 {
		lastError(hostile, gardencorev1beta1.ErrorCode(hostile))(shoot)
	}
	shoot.Status.LastOperation.Description = hostile
	e, _ := newExecutor(t, shoot, newProfile())
	got, err := e.Check(t.Context(), newTask("1.34.7", written("1.34.7", 8)), pass)
	require.NoError(t, err)
	require.Equal(t, fleet.Refused, got.Outcome)
	require.True(t, strings.HasPrefix(got.Reason, "Gardener gave up: no [31mquota left "), "%.100q", got.Reason)
	requireClean(t, got.Reason)
	require.Less(t, len(got.Reason), 4*maxText)

	processing := newShoot(kubernetes("1.34.7"), generations(8, 8), reconcile(processingState, now))
	processing.Status.LastOperation.Description = hostile
	e, _ = newExecutor(t, processing, newProfile())
	got, err = e.Check(t.Context(), newTask("1.34.7", written("1.34.7", 8)), pass)
	require.NoError(t, err)
	requireClean(t, got.Description)
	require.Less(t, len(got.Description), 2*maxText)
}

// A memo that cannot be read is an error: going on without it could write a second time.
func TestUnreadableMemo(t *testing.T) {
	t.Parallel()
	e, _ := newExecutor(t, newShoot(), newProfile())
	task := newTask("1.34.7", func(t *fleet.Task) { t.Memo = json.RawMessage(`{"generation":"x"}`) })
	for _, look := range []func(context.Context, fleet.Task) (fleet.Result, error){
		e.Observe,
		func(ctx context.Context, t fleet.Task) (fleet.Result, error) { return e.Check(ctx, t, pass) },
		func(ctx context.Context, t fleet.Task) (fleet.Result, error) { return e.Start(ctx, t, pass) },
	} {
		_, err := look(t.Context(), task)
		require.ErrorContains(t, err, "read what the last step kept")
	}
}
