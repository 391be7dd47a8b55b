package gardener

import (
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/fleet"
)

var (
	someStates = []gardencorev1beta1.LastOperationState{
		succeededState, processingState, errorState, failedState, abortedState, gardencorev1beta1.LastOperationStatePending, "", "Other"}
	someTypes = []gardencorev1beta1.LastOperationType{
		gardencorev1beta1.LastOperationTypeCreate, gardencorev1beta1.LastOperationTypeReconcile, gardencorev1beta1.LastOperationTypeDelete,
		gardencorev1beta1.LastOperationTypeMigrate, gardencorev1beta1.LastOperationTypeRestore, ""}
)

// drawShoot draws a Shoot in any condition.
func drawShoot(t *rapid.T) *gardencorev1beta1.Shoot {
	generation := rapid.Int64Range(1, 5).Draw(t, "generation")
	shoot := newShoot(
		kubernetes(rapid.SampledFrom([]string{"1.33.4", "1.34.7", "1.35.0"}).Draw(t, "version")),
		generations(generation, rapid.Int64Range(0, generation).Draw(t, "observed")),
	)
	shoot.Status.LastOperation = nil
	if rapid.IntRange(0, 9).Draw(t, "has operation") > 0 {
		status(rapid.SampledFrom(someTypes).Draw(t, "type"), rapid.SampledFrom(someStates).Draw(t, "state"),
			now.Add(time.Duration(rapid.IntRange(-120, 120).Draw(t, "updated"))*time.Second))(shoot)
	}
	if rapid.Bool().Draw(t, "confined") {
		hour := rapid.IntRange(0, 23).Draw(t, "hour")
		begin := time.Date(0, 1, 1, hour, 0, 0, 0, time.UTC)
		confinedTo(begin.Format("150405-0700"), begin.Add(time.Hour).Format("150405-0700"))(shoot)
	}
	if rapid.IntRange(0, 5).Draw(t, "annotated") == 0 {
		annotated(rapid.SampledFrom([]string{constants.GardenerOperation, constants.FailedShootNeedsRetryOperation}).Draw(t, "annotation"), "true")(shoot)
	}
	return shoot
}

// drawTask draws the task of an operation that has written or not.
func drawTask(t *rapid.T) (fleet.Task, memo) {
	task := newTask("1.34.7")
	var m memo
	if rapid.Bool().Draw(t, "written") {
		m.UID, m.Generation = "uid-1", rapid.Int64Range(1, 6).Draw(t, "written generation")
		task.Sent = true
		if rapid.Bool().Draw(t, "confined then") {
			before := drawShoot(t)
			before.Generation = m.Generation
			m.Rollout = newRollout(before)
		}
	}
	return task, m
}

// Whatever the status says, an upgrade is done only when Gardener has reconciled the specification that holds it, and what is there and
// well is never written again.
func TestJudgeProperties(t *testing.T) {
	t.Parallel()
	want := change{Version: "1.34.7"}
	rapid.Check(t, func(rt *rapid.T) {
		shoot := drawShoot(rt)
		task, m := drawTask(rt)
		before := shoot.DeepCopy()
		got, kept := judge(task, shoot, m, want)
		require.Equal(rt, before, shoot, "judging changed the Shoot")

		last := shoot.Status.LastOperation
		if got.Outcome == fleet.Done {
			require.True(rt, want.in(shoot))
			require.NotNil(rt, last)
			require.Equal(rt, succeededState, last.State)
			require.Contains(rt, []gardencorev1beta1.LastOperationType{gardencorev1beta1.LastOperationTypeCreate, gardencorev1beta1.LastOperationTypeReconcile}, last.Type)
			require.GreaterOrEqual(rt, shoot.Status.ObservedGeneration, m.Generation, "done for an older generation")
			if m.Generation == 0 {
				require.Equal(rt, shoot.Generation, shoot.Status.ObservedGeneration)
			}
			if m.Rollout != nil && shoot.Status.ObservedGeneration <= m.Rollout.Generation {
				require.NotEqual(rt, m.Rollout.Before, operationOf(shoot), "done by the operation before the write")
				require.False(rt, m.Rollout.Before.runs(), "done by an operation that ran before the write")
			}
		}
		if got.Outcome == fleet.NeedsStart {
			require.Zero(rt, m.Generation, "one operation wrote twice")
			if want.in(shoot) {
				require.NotNil(rt, last)
				require.Contains(rt, []gardencorev1beta1.LastOperationState{failedState, abortedState}, last.State, "a Shoot that is there and well is written")
				require.False(rt, lastUpdate(shoot).After(task.StartedAt), "told to try again after a failure of its own")
				require.Equal(rt, shoot.Generation, shoot.Status.ObservedGeneration)
			}
		}
		if got.Outcome == fleet.Again {
			require.NotEmpty(rt, got.Description)
			require.False(rt, got.NextObserve)
			if !got.TimeLimitFrom.IsZero() {
				require.True(rt, got.TimeLimitFrom.After(now), "the time limit was put off without a window ahead")
				require.True(rt, confinesRollout(shoot) || m.Rollout != nil && m.Rollout.Planned)
			}
		}
		require.NotEqual(rt, fleet.Gone, got.Outcome)
		require.Equal(rt, m.Generation, kept.Generation)

		// Looking twice at the same Shoot comes to the same.
		again, _ := judge(task, shoot, kept, want)
		require.Equal(rt, got.Outcome, again.Outcome)
	})
}

// Of all versions only those are accepted that the profile offers, that have not expired, and that are at most one minor up.
func TestChooseProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		version := rapid.Custom(func(rt *rapid.T) string {
			return rapid.SampledFrom([]string{"1.32.13", "1.33.4", "1.33.10", "1.33.11", "1.33.12", "1.34.1", "1.34.2", "1.34.7", "1.34.9", "1.35.0", "1.35.1", "2.0.0", "1.33", "x"}).Draw(rt, "v")
		})
		has, wants := version.Draw(rt, "has"), rapid.OneOf(rapid.Just(""), version).Draw(rt, "wants")
		profile := profileVersions()
		got, reason := choose(change{Version: wants}, newShoot(kubernetes(has)), &profile, now)
		if reason != "" {
			require.Empty(rt, got)
			if _, err := parseVersion(has); err == nil {
				require.NotEqual(rt, has, wants)
			}
			return
		}
		if wants != "" {
			require.Equal(rt, wants, got.Version)
		}
		if got.Version == has {
			return
		}
		from, err := parseVersion(has)
		require.NoError(rt, err)
		to, err := parseVersion(got.Version)
		require.NoError(rt, err)
		require.True(rt, from.LessThan(to))
		require.Equal(rt, from.Major(), to.Major())
		require.LessOrEqual(rt, to.Minor(), from.Minor()+1)
		found := false
		for _, offered := range profile.Kubernetes.Versions {
			if offered.Version == got.Version {
				found = true
				require.NotContains(rt, []gardencorev1beta1.VersionClassification{gardencorev1beta1.ClassificationExpired, gardencorev1beta1.ClassificationUnavailable}, classOf(offered, now))
				if wants == "" {
					require.Equal(rt, gardencorev1beta1.ClassificationSupported, classOf(offered, now))
					require.Equal(rt, from.Minor(), to.Minor())
				}
			}
		}
		require.True(rt, found)
	})
}
