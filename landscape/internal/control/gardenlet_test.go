package control_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/swell-fleet/swell/landscape/internal/control"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
)

const (
	succeeded  = gardencorev1beta1.LastOperationStateSucceeded
	processing = gardencorev1beta1.LastOperationStateProcessing
	failed     = gardencorev1beta1.LastOperationStateFailed
	erroneous  = gardencorev1beta1.LastOperationStateError
)

// follow collects every version of a Shoot that a watch delivers, until the
// returned function is called, which waits for the newest.
func (f *fleet) follow(name string) (seen func() []*gardencorev1beta1.Shoot) {
	f.t.Helper()
	shoot := f.get(name)
	watcher, err := f.client.CoreV1beta1().Shoots(f.info.Namespace).Watch(context.Background(), metav1.ListOptions{
		FieldSelector: "metadata.name=" + name, ResourceVersion: shoot.ResourceVersion,
	})
	require.NoError(f.t, err)
	var (
		mu   sync.Mutex
		all  []*gardencorev1beta1.Shoot
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			if version, ok := event.Object.(*gardencorev1beta1.Shoot); ok && event.Type == watch.Modified {
				mu.Lock()
				all = append(all, version)
				mu.Unlock()
			}
		}
	}()
	return func() []*gardencorev1beta1.Shoot {
		newest := f.get(name).ResourceVersion
		require.Eventually(f.t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(all) > 0 && all[len(all)-1].ResourceVersion == newest
		}, patience, time.Millisecond)
		watcher.Stop()
		<-done
		return all
	}
}

func TestUpgradeRunsToSuccess(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1, "kubernetesVersion": "1.33.9", "steps": 4, "reconcileTime": "200ms"})
	name := f.names()[0]
	seen := f.follow(name)
	written, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	require.EqualValues(t, 2, written.Generation)
	require.EqualValues(t, 1, written.Status.ObservedGeneration, "nobody has seen it yet")
	done := f.until(name, state(succeeded))
	require.EqualValues(t, 100, done.Status.LastOperation.Progress)
	require.Equal(t, gardencorev1beta1.LastOperationTypeReconcile, done.Status.LastOperation.Type)
	for _, condition := range done.Status.Conditions {
		require.Equal(t, gardencorev1beta1.ConditionTrue, condition.Status, condition.Type)
	}

	progress, descriptions := int32(-1), map[string]bool{}
	states := []gardencorev1beta1.LastOperationState{}
	for _, version := range seen() {
		last := version.Status.LastOperation
		if version.Status.ObservedGeneration == 1 {
			require.Equal(t, gardencorev1beta1.LastOperationTypeCreate, last.Type, "the old success still speaks of the creation")
			continue
		}
		states = append(states, last.State)
		require.GreaterOrEqual(t, last.Progress, progress)
		progress = last.Progress
		descriptions[last.Description] = true
	}
	require.NotEmpty(t, states)
	require.Equal(t, processing, states[0], "no success before the new generation was worked on")
	require.Greater(t, len(descriptions), 2)
}

func TestSuccessSpeaksOfTheGenerationItBeganWith(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1, "kubernetesVersion": "1.33.9", "reconcileTime": "400ms"})
	name := f.names()[0]
	seen := f.follow(name)
	_, err := f.upgrade(name, "1.33.11", false)
	require.NoError(t, err)
	f.until(name, state(processing))
	_, err = f.upgrade(name, fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	f.until(name, state(succeeded))

	successes := map[int64]int{}
	for _, version := range seen() {
		if version.Status.LastOperation.State == succeeded && version.Status.LastOperation.Type == gardencorev1beta1.LastOperationTypeReconcile {
			successes[version.Status.ObservedGeneration]++
			if version.Generation == 3 && version.Status.ObservedGeneration == 2 {
				successes[-1]++
			}
		}
	}
	require.Equal(t, 1, successes[-1], "the first success is of generation 2, though the Shoot was at 3 already")
	require.Positive(t, successes[2])
	require.Equal(t, 1, successes[3])
}

func TestOperationAnnotations(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1, "kubernetesVersion": "1.33.9"})
	name := f.names()[0]
	annotate := func(operation string) {
		f.control(http.MethodPut, "/shoots/"+name+"/metadata", map[string]any{
			"annotations": map[string]any{v1beta1constants.GardenerOperation: operation},
		}, nil)
	}
	annotate(v1beta1constants.GardenerOperationReconcile)
	shoot := f.until(name, state(succeeded))
	require.EqualValues(t, 2, shoot.Generation)
	require.NotContains(t, shoot.Annotations, v1beta1constants.GardenerOperation)

	annotate(v1beta1constants.ShootOperationMaintain)
	shoot = f.until(name, func(s *gardencorev1beta1.Shoot) bool { return s.Generation == 3 && state(succeeded)(s) })
	require.NotContains(t, shoot.Annotations, v1beta1constants.GardenerOperation)
}

func TestFailedShootIsRetriedOnRequestOnly(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{
		"shoots": 1, "kubernetesVersion": "1.33.9",
		"faults": map[string]any{"gardenlet": map[string]any{"fail": 1, "times": 1, "codes": []string{"ERR_INFRA_QUOTA_EXCEEDED"}}},
	})
	name := f.names()[0]
	_, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	shoot := f.until(name, state(failed))
	require.Equal(t, []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorInfraQuotaExceeded}, shoot.Status.LastErrors[0].Codes)
	require.Less(t, shoot.Status.LastOperation.Progress, int32(100))
	require.EqualValues(t, 2, shoot.Generation)

	f.control(http.MethodPut, "/shoots/"+name+"/metadata", map[string]any{
		"annotations": map[string]any{v1beta1constants.GardenerOperation: v1beta1constants.ShootOperationRetry},
	}, nil)
	shoot = f.until(name, state(succeeded))
	require.EqualValues(t, 3, shoot.Generation)
	require.Empty(t, shoot.Status.LastErrors)
}

func TestErroneousShootRecoversByItself(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{
		"shoots": 1, "kubernetesVersion": "1.33.9", "reconcileTime": "200ms",
		"faults": map[string]any{"gardenlet": map[string]any{"error": 1, "errorTimes": 2}},
	})
	name := f.names()[0]
	seen := f.follow(name)
	_, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	f.until(name, state(succeeded))
	errs := 0
	for _, version := range seen() {
		if version.Status.LastOperation.State == erroneous {
			require.NotEmpty(t, version.Status.LastErrors[0].Codes)
			errs++
		}
	}
	require.Equal(t, 2, errs)
}

func TestStuckShootGoesOnWhenThePlanChanges(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{
		"shoots": 2, "kubernetesVersion": "1.33.9",
		"faults": map[string]any{"gardenlet": map[string]any{"stuck": 1}},
	})
	names := f.names()
	for _, name := range names {
		_, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
		require.NoError(t, err)
	}
	// Half way it stops for good.
	for _, name := range names {
		f.until(name, func(s *gardencorev1beta1.Shoot) bool {
			return state(processing)(s) && s.Status.LastOperation.Progress >= 50
		})
	}
	f.control(http.MethodDelete, "/faults", nil, nil)
	for _, name := range names {
		f.until(name, state(succeeded))
	}
}

func TestConfinedShootWaitsForItsWindow(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{
		"shoots": 1, "kubernetesVersion": "1.33.9", "confined": true, "window": "220000+0000/230000+0000",
		"speed": 0.000001, "offset": "0s",
	})
	name := f.names()[0]
	// Noon by the simulated clock, which stands almost still.
	f.setClock(t, time.Date(0, 1, 1, 12, 0, 0, 0, time.UTC))
	written, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
	require.NoError(t, err)
	require.EqualValues(t, 1, written.Generation, "no new generation for a confined change")
	f.setClock(t, time.Date(0, 1, 1, 21, 59, 0, 0, time.UTC))
	require.Equal(t, gardencorev1beta1.LastOperationTypeCreate, f.get(name).Status.LastOperation.Type)

	f.control(http.MethodPost, "/clock", map[string]any{"reconcileTime": "0s"}, nil)
	f.setClock(t, time.Date(0, 1, 1, 22, 1, 0, 0, time.UTC))
	done := f.until(name, func(s *gardencorev1beta1.Shoot) bool {
		return s.Status.LastOperation.Type == gardencorev1beta1.LastOperationTypeReconcile && s.Status.LastOperation.State == succeeded
	})
	require.EqualValues(t, 1, done.Generation)
	require.Equal(t, 22, done.Status.LastOperation.LastUpdateTime.UTC().Hour())
}

// setClock moves the simulated clock forward to the next time of day.
func (f *fleet) setClock(t *testing.T, timeOfDay time.Time) {
	t.Helper()
	var clock control.ClockStatus
	f.control(http.MethodGet, "/clock", nil, &clock)
	ahead := time.Date(clock.Now.Year(), clock.Now.Month(), clock.Now.Day(), timeOfDay.Hour(), timeOfDay.Minute(), 0, 0, time.UTC).Sub(clock.Now)
	for ahead < 0 {
		ahead += 24 * time.Hour
	}
	f.control(http.MethodPost, "/clock", map[string]any{"offset": (time.Duration(clock.Offset) + ahead).String()}, &clock)
	require.Equal(t, timeOfDay.Hour(), clock.Now.Hour())
}

func TestIgnoredShootIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 2, "kubernetesVersion": "1.33.9", "reconcileTime": "0s"})
	names := f.names()
	f.control(http.MethodPut, "/shoots/"+names[0]+"/metadata", map[string]any{"annotations": map[string]any{v1beta1constants.ShootIgnore: "true"}}, nil)
	for _, name := range names {
		_, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
		require.NoError(t, err)
	}
	f.until(names[1], state(succeeded))
	require.EqualValues(t, 1, f.get(names[0]).Status.ObservedGeneration)
	f.control(http.MethodPut, "/shoots/"+names[0]+"/metadata", map[string]any{"annotations": map[string]any{v1beta1constants.ShootIgnore: nil}}, nil)
	f.until(names[0], state(succeeded))
}

func TestDeletedShootGoes(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 3, "reconcileTime": "300ms"})
	names := f.names()
	f.control(http.MethodDelete, "/shoots/"+names[0], nil, nil)
	require.NotNil(t, f.get(names[0]).DeletionTimestamp, "it takes its time")
	f.control(http.MethodDelete, "/shoots/"+names[1]+"?now=true", nil, nil)
	require.Eventually(t, func() bool { return len(f.names()) == 1 }, patience, 5*time.Millisecond)
	_, err := f.client.CoreV1beta1().Shoots(f.info.Namespace).Get(context.Background(), names[0], metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), err)
}

func TestHibernatedShootStaysSo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 60, "reconcileTime": "0s"})
	hibernated := 0
	for _, name := range f.names() {
		shoot := f.get(name)
		if shoot.Spec.Hibernation != nil {
			hibernated++
			require.True(t, shoot.Status.IsHibernated)
			_, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
			require.NoError(t, err)
			require.True(t, f.until(name, state(succeeded)).Status.IsHibernated)
		}
	}
	require.Positive(t, hibernated)
}

func TestWholeFleetIsUpgradedAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 120, "seed": 12, "reconcileTime": "100ms", "steps": 1})
	names := f.names()
	for _, name := range names {
		_, err := f.upgrade(name, fleetgen.UpgradeTarget, false)
		require.NoError(t, err)
	}
	for _, name := range names {
		f.until(name, state(succeeded))
	}
	upgrades := f.upgrades("")
	require.Equal(t, len(names), upgrades.Total)
	require.Len(t, upgrades.PerShoot, len(names))
}
