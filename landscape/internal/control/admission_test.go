package control_test

import (
	"context"
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
)

func TestAdmissionRefusesBadVersions(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1, "kubernetesVersion": "1.34.5"})
	name := f.names()[0]
	before := f.get(name)
	for version, reason := range map[string]string{
		"1.34.99": "Unsupported value",
		"1.34.3":  "downgrade",
		"1.33.9":  "downgrade",
		"1.36.0":  "skip",
		"latest":  "version",
	} {
		for _, dryRun := range []bool{true, false} {
			_, err := f.upgrade(name, version, dryRun)
			require.ErrorContains(t, err, reason, version)
			require.True(t, apierrors.IsInvalid(err) || apierrors.IsForbidden(err), err)
		}
	}
	require.Empty(t, cmp.Diff(before, f.get(name)))
}

func TestExpiredVersionIsRefusedForNewShootsOnly(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1, "kubernetesVersion": "1.33.11"})
	name := f.names()[0]
	fresh := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Name: "c-new", Namespace: f.info.Namespace},
		Spec:       f.get(name).Spec,
	}
	fresh.Spec.Kubernetes.Version = "1.34.1"
	shoots := f.client.CoreV1beta1().Shoots(f.info.Namespace)
	_, err := shoots.Create(context.Background(), fresh, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "1.34.1")

	fresh.Spec.Kubernetes.Version = "1.34.7"
	_, err = shoots.Create(context.Background(), fresh, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)

	_, err = f.upgrade(name, "1.34.1", true)
	require.NoError(t, err, "Gardener itself lets existing Shoots through")
}

func TestDeletionNeedsConfirmation(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1})
	name := f.names()[0]
	err := f.client.CoreV1beta1().Shoots(f.info.Namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
	require.Nil(t, f.get(name).DeletionTimestamp)
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 1, "kubernetesVersion": "1.33.9"})
	name := f.names()[0]
	before := f.get(name)
	answer, err := f.upgrade(name, fleetgen.UpgradeTarget, true)
	require.NoError(t, err)
	require.Equal(t, fleetgen.UpgradeTarget, answer.Spec.Kubernetes.Version)
	require.EqualValues(t, 2, answer.Generation)
	require.Empty(t, cmp.Diff(before, f.get(name)))
}

func TestStoredShootsAreWhatCreatingThemWouldStore(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 25, "mix": "varied", "seed": 4})
	shoots := f.client.CoreV1beta1().Shoots(f.info.Namespace)
	for _, name := range f.names() {
		stored := f.get(name)
		// An annotation that changes nothing sends the Shoot through defaulting,
		// validation and mutating admission once more.
		changed := stored.DeepCopy()
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, "example.com/touched", "yes")
		again, err := shoots.Update(context.Background(), changed, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(stored.Spec, again.Spec))
		require.Empty(t, cmp.Diff(stored.Labels, again.Labels))
		require.Equal(t, stored.Generation, again.Generation)
		require.NotEmpty(t, stored.UID)
		require.Less(t, stored.CreationTimestamp.Year(), 2027)
	}
}

func TestEveryShootOfAPlainFleetCanGoToTheTarget(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]any{"shoots": 40, "seed": 8})
	for _, name := range f.names() {
		_, err := f.upgrade(name, fleetgen.UpgradeTarget, true)
		require.NoError(t, err, name)
	}
}

func TestFleetUserStaysInItsNamespace(t *testing.T) {
	t.Parallel()
	f, other := newFleet(t, map[string]any{"shoots": 1}), newFleet(t, map[string]any{"shoots": 1})
	ctx := context.Background()
	_, err := f.client.CoreV1beta1().Shoots(other.info.Namespace).List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
	_, err = f.client.CoreV1beta1().Shoots("").List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
	profiles, err := f.client.CoreV1beta1().CloudProfiles().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, profiles.Items, 4)
	err = f.client.CoreV1beta1().CloudProfiles().Delete(ctx, "aws", metav1.DeleteOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
}
