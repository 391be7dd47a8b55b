package gardener

import (
	"encoding/json"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/internal/fleet"
)

// writtenConfined is the state of a task whose write into a Shoot with confined rollouts left the generation at 7.
func writtenConfined(before *gardencorev1beta1.Shoot) func(*fleet.Task) {
	return func(t *fleet.Task) {
		t.Version, t.Sent = "1.34.7", true
		t.Memo, _ = json.Marshal(memo{AskedAt: now}.wrote(before, before))
	}
}

// check looks at a Shoot with the memo of the last look, and keeps the new one.
func check(t *testing.T, task *fleet.Task, shoot *gardencorev1beta1.Shoot) fleet.Result {
	t.Helper()
	e, _ := newExecutor(t, shoot)
	got, err := e.Check(t.Context(), *task, pass)
	require.NoError(t, err)
	require.NotNil(t, got.Memo)
	task.Memo = got.Memo
	return got
}

// Where rollouts are confined to the window, a change of the specification does not raise the generation: the success of the reconciliation
// before the change must not be taken for that of the upgrade.
func TestConfinedRollout(t *testing.T) {
	t.Parallel()
	before := newShoot(confinedTo("220000+0000", "230000+0000"))
	window := time.Date(2024, 5, 15, 22, 0, 0, 0, time.UTC)
	task := newTask("1.34.7", writtenConfined(before))
	shoot := func(changes ...func(*gardencorev1beta1.Shoot)) *gardencorev1beta1.Shoot {
		return newShoot(append([]func(*gardencorev1beta1.Shoot){kubernetes("1.34.7"), confinedTo("220000+0000", "230000+0000")}, changes...)...)
	}

	got := check(t, &task, shoot())
	require.Equal(t, fleet.Again, got.Outcome, "%+v", got)
	require.Equal(t, "Gardener rolls changes of this Shoot out in its own maintenance window only, next from 2024-05-15T22:00:00Z", got.Description)
	require.Equal(t, window, got.TimeLimitFrom)
	require.Equal(t, farLook, got.After)

	task.Now = window.Add(-time.Minute)
	got = check(t, &task, shoot())
	require.Equal(t, window, got.TimeLimitFrom)
	require.Equal(t, time.Minute, got.After, "the next look is not after the begin of the window")

	// The time limit counts from the begin of the window, also when nobody looked then, and when it passes and nothing happens.
	for _, at := range []time.Time{window, window.Add(time.Hour), window.Add(2 * time.Hour), window.Add(23 * time.Hour)} {
		task.Now = at
		got = check(t, &task, shoot())
		require.Equal(t, fleet.Again, got.Outcome)
		require.Equal(t, window, got.TimeLimitFrom)
		require.Equal(t, "waiting for Gardener to begin", got.Description)
	}

	task.Now = window.Add(time.Minute)
	got = check(t, &task, shoot(reconcile(processingState, window.Add(time.Minute))))
	require.Equal(t, fleet.Again, got.Outcome)
	require.Contains(t, got.Description, "reconcile processing")
	require.Equal(t, window, got.TimeLimitFrom)
	got = check(t, &task, shoot(reconcile(succeededState, window.Add(5*time.Minute))))
	require.Equal(t, fleet.Done, got.Outcome)

	// Gardener's own maintenance rolls it out by raising the generation.
	task = newTask("1.34.7", writtenConfined(before))
	require.Equal(t, fleet.Again, check(t, &task, shoot(generations(8, 7))).Outcome)
	require.Equal(t, fleet.Done, check(t, &task, shoot(generations(8, 8))).Outcome)

	// It fails in its window.
	task = newTask("1.34.7", writtenConfined(before))
	require.Equal(t, fleet.Refused, check(t, &task, shoot(reconcile(failedState, window.Add(time.Minute)))).Outcome)
}

// A reconciliation that ran already when the change was written ends without it.
func TestConfinedRolloutDuringAReconciliation(t *testing.T) {
	t.Parallel()
	confined := confinedTo("110000+0000", "130000+0000") // now is in the middle of it
	before := newShoot(confined, reconcile(processingState, now.Add(-time.Minute)))
	task := newTask("1.34.7", writtenConfined(before))
	for _, run := range []func(*gardencorev1beta1.Shoot){
		reconcile(processingState, now.Add(-time.Minute)), reconcile(processingState, now), reconcile(errorState, now.Add(time.Minute)),
		reconcile(processingState, now.Add(2*time.Minute)),
	} {
		require.Equal(t, fleet.Again, check(t, &task, newShoot(kubernetes("1.34.7"), confined, run)).Outcome)
	}
	// It ends, and Gardener does not begin another one in the same window.
	task.Now = now.Add(3 * time.Minute)
	got := check(t, &task, newShoot(kubernetes("1.34.7"), confined, reconcile(succeededState, now.Add(3*time.Minute))))
	require.Equal(t, fleet.Again, got.Outcome, "%+v", got)
	require.Contains(t, got.Description, "next from 2024-05-16T11:00:00Z")
	require.Equal(t, time.Date(2024, 5, 16, 11, 0, 0, 0, time.UTC), got.TimeLimitFrom)
	require.Equal(t, fleet.Done, check(t, &task, newShoot(kubernetes("1.34.7"), confined, reconcile(succeededState, now.Add(24*time.Hour)))).Outcome)
}

// A version that is in the specification without a write that is known, because somebody else wrote it or the answer was lost, counts as
// rolled out by an operation later than the write alone. The cache has no managed fields, so what the first look found is kept.
func TestConfinedRolloutOfAForeignWrite(t *testing.T) {
	t.Parallel()
	confined := confinedTo("220000+0000", "230000+0000")
	writtenAt := func(at time.Time) func(*gardencorev1beta1.Shoot) {
		return func(s *gardencorev1beta1.Shoot) {
			s.ManagedFields = []metav1.ManagedFieldsEntry{
				{Manager: "a", Time: &metav1.Time{Time: at}, FieldsV1: fields(`{"f:spec":{"f:kubernetes":{"f:version":{}}}}`)},
				{Manager: "b", Time: &metav1.Time{Time: now.Add(time.Hour)}, FieldsV1: fields(`{"f:spec":{"f:region":{}}}`)},
				{Manager: "c", Time: &metav1.Time{Time: now.Add(time.Hour)}, Subresource: "status", FieldsV1: fields(`{"f:spec":{"f:kubernetes":{"f:version":{}}}}`)},
				{Manager: "d", Time: &metav1.Time{Time: now.Add(time.Hour)}, FieldsV1: fields(`{`)},
				{Manager: "e", FieldsV1: fields(`{"f:spec":{"f:kubernetes":{"f:version":{}}}}`)},
			}
		}
	}
	shoot := newShoot(kubernetes("1.34.7"), confined, writtenAt(now.Add(-time.Minute)))
	e, _ := newExecutor(t, shoot, newProfile())
	task := newTask("1.34.7")
	got, err := e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.Again, got.Outcome, "%+v", got)
	require.Contains(t, got.Description, "next from 2024-05-15T22:00:00Z")

	task.Memo, task.Version = got.Memo, got.Version
	shoot.ManagedFields = nil
	require.Equal(t, fleet.Again, check(t, &task, shoot).Outcome)
	require.Equal(t, fleet.Done, check(t, &task, newShoot(kubernetes("1.34.7"), confined, reconcile(succeededState, now.Add(11*time.Hour)))).Outcome)

	e, _ = newExecutor(t, newShoot(kubernetes("1.34.7"), confined, writtenAt(now.Add(-2*time.Hour))), newProfile())
	got, err = e.Observe(t.Context(), newTask("1.34.7"))
	require.NoError(t, err)
	require.Equal(t, fleet.Done, got.Outcome, "rolled out an hour ago")
}

func fields(text string) *metav1.FieldsV1 {
	f := &metav1.FieldsV1{}
	f.SetRawBytes([]byte(text))
	return f
}

// A Shoot that failed is told to try again: at once, or in its own window where rollouts are confined to it.
func TestRetryAnnotation(t *testing.T) {
	t.Parallel()
	failedShoot := reconcile(failedState, now.Add(-time.Hour))
	for name, test := range map[string]struct {
		shoot []func(*gardencorev1beta1.Shoot)
		want  string
	}{
		"the version is there": {
			[]func(*gardencorev1beta1.Shoot){kubernetes("1.34.7"), failedShoot},
			`{"metadata":{"annotations":{"gardener.cloud/operation":"retry"},"resourceVersion":"100"}}`},
		"the version changes": {
			[]func(*gardencorev1beta1.Shoot){failedShoot}, `{"metadata":{"resourceVersion":"100"},"spec":{"kubernetes":{"version":"1.34.7"}}}`},
		"confined, the version is there": {
			[]func(*gardencorev1beta1.Shoot){kubernetes("1.34.7"), failedShoot, confinedTo("220000+0000", "230000+0000")},
			`{"metadata":{"annotations":{"maintenance.shoot.gardener.cloud/needs-retry-operation":"true"},"resourceVersion":"100"}}`},
		"confined, the version changes": {
			[]func(*gardencorev1beta1.Shoot){failedShoot, confinedTo("220000+0000", "230000+0000")},
			`{"metadata":{"annotations":{"maintenance.shoot.gardener.cloud/needs-retry-operation":"true"},"resourceVersion":"100"},"spec":{"kubernetes":{"version":"1.34.7"}}}`},
		"confined, in its window": {
			[]func(*gardencorev1beta1.Shoot){failedShoot, confinedTo("110000+0000", "130000+0000")},
			`{"metadata":{"annotations":{"gardener.cloud/operation":"retry"},"resourceVersion":"100"},"spec":{"kubernetes":{"version":"1.34.7"}}}`},
		"confined without a window": {
			[]func(*gardencorev1beta1.Shoot){failedShoot, func(s *gardencorev1beta1.Shoot) {
				s.Spec.Maintenance = &gardencorev1beta1.Maintenance{ConfineSpecUpdateRollout: ptr(true)}
			}},
			`{"metadata":{"annotations":{"gardener.cloud/operation":"retry"},"resourceVersion":"100"},"spec":{"kubernetes":{"version":"1.34.7"}}}`},
		"confined and well": {
			[]func(*gardencorev1beta1.Shoot){confinedTo("220000+0000", "230000+0000")},
			`{"metadata":{"resourceVersion":"100"},"spec":{"kubernetes":{"version":"1.34.7"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, _ := newExecutor(t)
			body, err := e.patchFor(t.Context(), newTask("1.34.7"), newShoot(test.shoot...), change{Version: "1.34.7"})
			require.NoError(t, err)
			require.JSONEq(t, test.want, string(body))
		})
	}
}

// Told to try again, a Shoot that fails once more has failed for good, in the same attempt and in those after it.
func TestRetryOnce(t *testing.T) {
	t.Parallel()
	shoot := newShoot(kubernetes("1.34.7"), generations(8, 8), reconcile(failedState, now.Add(-time.Hour)))
	e, client := newExecutor(t, shoot, newProfile())
	task := newTask("1.34.7")
	got, err := e.Start(t.Context(), task, pass)
	require.NoError(t, err)
	require.Equal(t, fleet.Again, got.Outcome, "%+v", got)
	require.True(t, got.Sent)

	stored, err := client.CoreV1beta1().Shoots(testNamespace).Get(t.Context(), "c-aa11", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, constants.ShootOperationRetry, stored.Annotations[constants.GardenerOperation])

	// Gardener takes the annotation away, raises the generation, and fails again.
	delete(stored.Annotations, constants.GardenerOperation)
	generations(9, 9)(stored)
	reconcile(failedState, now)(stored)
	_, err = client.CoreV1beta1().Shoots(testNamespace).Update(t.Context(), stored, metav1.UpdateOptions{})
	require.NoError(t, err)
	task.Memo, task.Sent = got.Memo, true
	for attempt := range 3 {
		task.Attempt = attempt + 1
		got, err = e.Observe(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, fleet.Refused, got.Outcome, "%+v", got)
	}
}
