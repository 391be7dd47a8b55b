package inventory_test

import (
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/internal/inventory"
	"github.com/swell-fleet/swell/orchestration"
)

func ptr[T any](v T) *T { return &v }

// What is read of a Shoot stays in the cache, and what nobody reads goes.
func TestSlim(t *testing.T) {
	t.Parallel()
	full := newShoot(1, deleted)
	full.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "large"
	full.Annotations[orchestration.InfrastructureManagerRuntimeIDAnnotation] = "rt-1"
	full.Annotations[constants.GardenerOperation] = "retry"
	full.Annotations[constants.FailedShootNeedsRetryOperation] = "true"
	full.Annotations[constants.ShootIgnore] = "true"
	full.Labels["other"] = "label"
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "a"}}
	full.Generation, full.ResourceVersion = 7, "100"
	full.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "aws"}
	full.Spec.CredentialsBindingName = ptr("binding")
	full.Spec.Purpose = ptr(gardencorev1beta1.ShootPurposeProduction)
	full.Spec.SeedName, full.Spec.ExposureClassName = ptr("seed"), ptr("class")
	full.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr(true), Schedules: []gardencorev1beta1.HibernationSchedule{{}}}
	full.Spec.Networking = &gardencorev1beta1.Networking{Nodes: ptr("10.0.0.0/16"), Pods: ptr("100.64.0.0/12"), Services: ptr("100.104.0.0/13"), Type: ptr("calico")}
	full.Spec.Maintenance.ConfineSpecUpdateRollout = ptr(true)
	full.Spec.Maintenance.AutoUpdate = &gardencorev1beta1.MaintenanceAutoUpdate{KubernetesVersion: true, MachineImageVersion: ptr(true)}
	full.Spec.Provider.InfrastructureConfig = &k8sruntime.RawExtension{Raw: []byte("{}")}
	full.Spec.Kubernetes.KubeAPIServer = &gardencorev1beta1.KubeAPIServerConfig{}
	pool := gardencorev1beta1.Worker{
		Name: "a", Minimum: 1, Maximum: 3, MaxSurge: ptr(intstr.FromInt32(1)), MaxUnavailable: ptr(intstr.FromInt32(0)),
		Machine:    gardencorev1beta1.Machine{Type: "m5", Image: &gardencorev1beta1.ShootMachineImage{Name: "gl", Version: ptr("1.0.0")}},
		Volume:     &gardencorev1beta1.Volume{Type: ptr("gp3"), VolumeSize: "50Gi"},
		Kubernetes: &gardencorev1beta1.WorkerKubernetes{Version: ptr("1.33.4")},
	}
	fat := *pool.DeepCopy()
	fat.Zones, fat.CABundle, fat.Labels = []string{"a"}, ptr("x"), map[string]string{"a": "b"}
	fat.Machine.Image.ProviderConfig = &k8sruntime.RawExtension{Raw: []byte("{}")}
	full.Spec.Provider.Workers = []gardencorev1beta1.Worker{fat, {Name: "bare"}}
	full.Status.ObservedGeneration = 6
	full.Status.LastErrors = []gardencorev1beta1.LastError{{Description: "boom", Codes: []gardencorev1beta1.ErrorCode{"ERR_X"}}}
	full.Status.Conditions = []gardencorev1beta1.Condition{{Type: "x"}}

	want := newShoot(1, deleted)
	want.Finalizers = nil
	want.Annotations = map[string]string{
		orchestration.RuntimeIDAnnotation: "rt-1", orchestration.InfrastructureManagerRuntimeIDAnnotation: "rt-1",
		constants.GardenerOperation: "retry", constants.FailedShootNeedsRetryOperation: "true", constants.ShootIgnore: "true",
	}
	want.Generation, want.ResourceVersion = 7, "100"
	want.Spec.CloudProfile, want.Spec.CredentialsBindingName, want.Spec.Purpose = full.Spec.CloudProfile, full.Spec.CredentialsBindingName, full.Spec.Purpose
	want.Spec.SeedName, want.Spec.ExposureClassName = full.Spec.SeedName, full.Spec.ExposureClassName
	want.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr(true)}
	want.Spec.Networking = &gardencorev1beta1.Networking{Nodes: ptr("10.0.0.0/16"), Pods: ptr("100.64.0.0/12"), Services: ptr("100.104.0.0/13")}
	want.Spec.Maintenance.ConfineSpecUpdateRollout = ptr(true)
	want.Spec.Maintenance.AutoUpdate = full.Spec.Maintenance.AutoUpdate
	want.Spec.Provider.Workers = []gardencorev1beta1.Worker{pool, {Name: "bare"}}
	want.Status.ObservedGeneration, want.Status.LastErrors = 6, full.Status.LastErrors

	before := full.DeepCopy()
	got, err := inventory.Slim(full)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, before, full, "the Shoot itself was changed")
	again, err := inventory.Slim(got)
	require.NoError(t, err)
	require.Equal(t, got, again)
	doc, _ := inventory.RuntimeOf(full)
	slimmed, ok := got.(*gardencorev1beta1.Shoot)
	require.True(t, ok)
	same, _ := inventory.RuntimeOf(slimmed)
	require.Equal(t, doc, same)

	bare, err := inventory.Slim(&gardencorev1beta1.Shoot{})
	require.NoError(t, err)
	require.Equal(t, &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{Provider: gardencorev1beta1.Provider{Workers: []gardencorev1beta1.Worker{}}}}, bare)
	tomb := cache.DeletedFinalStateUnknown{Key: "x"}
	other, err := inventory.Slim(tomb)
	require.NoError(t, err)
	require.Equal(t, tomb, other)
}
