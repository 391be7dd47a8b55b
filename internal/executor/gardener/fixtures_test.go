package gardener

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/client/core/clientset/versioned/fake"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

const testNamespace = "garden-demo"

// now is when the steps of these tests are taken: a Wednesday at noon.
var now = time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)

// pass is a guard that lets everything through.
func pass(context.Context) error { return nil }

// newShoot returns a healthy Shoot at Kubernetes 1.33.4, whose last reconciliation was an hour ago.
func newShoot(changes ...func(*gardencorev1beta1.Shoot)) *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{
			Name: "c-aa11", Namespace: testNamespace, Generation: 7, ResourceVersion: "100", UID: "uid-1",
			Annotations: map[string]string{orchestration.RuntimeIDAnnotation: "rt-1"},
		},
		Spec: gardencorev1beta1.ShootSpec{
			CloudProfile: &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "aws"},
			Region:       "eu-demo-1",
			Kubernetes:   gardencorev1beta1.Kubernetes{Version: "1.33.4"},
			Provider: gardencorev1beta1.Provider{Type: "aws", Workers: []gardencorev1beta1.Worker{{
				Name: "cpu-worker-0", Minimum: 1, Maximum: 3,
				Machine: gardencorev1beta1.Machine{Type: "m5.large", Image: &gardencorev1beta1.ShootMachineImage{Name: "gardenlinux", Version: ptr("1592.1.0")}},
			}}},
			Maintenance: &gardencorev1beta1.Maintenance{TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{Begin: "220000+0000", End: "230000+0000"}},
		},
		Status: gardencorev1beta1.ShootStatus{ObservedGeneration: 7},
	}
	status(gardencorev1beta1.LastOperationTypeReconcile, gardencorev1beta1.LastOperationStateSucceeded, now.Add(-time.Hour))(shoot)
	for _, change := range changes {
		change(shoot)
	}
	return shoot
}

func ptr[T any](v T) *T { return &v }

func status(kind gardencorev1beta1.LastOperationType, state gardencorev1beta1.LastOperationState, at time.Time) func(*gardencorev1beta1.Shoot) {
	return func(s *gardencorev1beta1.Shoot) {
		progress := int32(40)
		if state == gardencorev1beta1.LastOperationStateSucceeded {
			progress = 100
		}
		s.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: kind, State: state, Progress: progress, LastUpdateTime: metav1.NewTime(at)}
	}
}

func reconcile(state gardencorev1beta1.LastOperationState, at time.Time) func(*gardencorev1beta1.Shoot) {
	return status(gardencorev1beta1.LastOperationTypeReconcile, state, at)
}

func kubernetes(version string) func(*gardencorev1beta1.Shoot) {
	return func(s *gardencorev1beta1.Shoot) { s.Spec.Kubernetes.Version = version }
}

func generations(generation, observed int64) func(*gardencorev1beta1.Shoot) {
	return func(s *gardencorev1beta1.Shoot) { s.Generation, s.Status.ObservedGeneration = generation, observed }
}

func annotated(key, value string) func(*gardencorev1beta1.Shoot) {
	return func(s *gardencorev1beta1.Shoot) { s.Annotations[key] = value }
}

func confinedTo(begin, end string) func(*gardencorev1beta1.Shoot) {
	return func(s *gardencorev1beta1.Shoot) {
		s.Spec.Maintenance.ConfineSpecUpdateRollout = ptr(true)
		s.Spec.Maintenance.TimeWindow = &gardencorev1beta1.MaintenanceTimeWindow{Begin: begin, End: end}
	}
}

// newTask returns the task of an upgrade of newShoot's runtime, started a minute ago.
func newTask(version string, changes ...func(*fleet.Task)) fleet.Task {
	t := fleet.Task{
		OperationID: "op-1", OrchestrationID: "o-1", Attempt: 1, RuntimeID: "rt-1", InstanceID: "i-1", ShootName: "c-aa11",
		Parameters: orchestration.Parameters{Version: version}, StartedAt: now.Add(-time.Minute), Now: now,
	}
	for _, change := range changes {
		change(&t)
	}
	return t
}

// written is the state of a task whose write made a generation.
func written(version string, generation int64) func(*fleet.Task) {
	return func(t *fleet.Task) {
		t.Version, t.Sent = version, true
		t.Memo, _ = json.Marshal(memo{UID: "uid-1", Generation: generation, AskedAt: now})
	}
}

func imageTo(name, version string) func(*fleet.Task) {
	return func(t *fleet.Task) {
		t.Parameters.Kubernetes = &orchestration.KubernetesParameters{MachineImage: name, MachineImageVersion: version}
	}
}

// profileVersions is what the cloud profile of these tests offers.
func profileVersions() gardencorev1beta1.CloudProfileSpec {
	class := func(version string, c gardencorev1beta1.VersionClassification, expires time.Duration) gardencorev1beta1.ExpirableVersion {
		v := gardencorev1beta1.ExpirableVersion{Version: version, Classification: &c}
		if expires != 0 {
			v.ExpirationDate = &metav1.Time{Time: now.Add(expires)}
		}
		return v
	}
	return gardencorev1beta1.CloudProfileSpec{Kubernetes: gardencorev1beta1.KubernetesSettings{Versions: []gardencorev1beta1.ExpirableVersion{
		class("1.35.1", gardencorev1beta1.ClassificationPreview, 0),
		class("1.35.0", gardencorev1beta1.ClassificationSupported, 0),
		class("1.34.7", gardencorev1beta1.ClassificationSupported, 0),
		class("1.34.2", gardencorev1beta1.ClassificationDeprecated, time.Hour),
		class("1.34.1", gardencorev1beta1.ClassificationDeprecated, -time.Hour),
		{Version: "1.34.9", Lifecycle: []gardencorev1beta1.LifecycleStage{
			{Classification: gardencorev1beta1.ClassificationPreview, StartTime: &metav1.Time{Time: now.Add(time.Hour)}},
			{Classification: gardencorev1beta1.ClassificationSupported, StartTime: &metav1.Time{Time: now.Add(2 * time.Hour)}},
		}},
		class("1.33.12", gardencorev1beta1.ClassificationPreview, 0),
		class("1.33.11", gardencorev1beta1.ClassificationSupported, 0),
		{Version: "1.33.10"},
		class("1.33.4", gardencorev1beta1.ClassificationDeprecated, -time.Hour),
		class("1.32.13", gardencorev1beta1.ClassificationSupported, 0),
	}}}
}

func newProfile() *gardencorev1beta1.CloudProfile {
	return &gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: "aws"}, Spec: profileVersions()}
}

// newExecutor returns an executor over Gardener's fake client, which holds the objects.
func newExecutor(t testing.TB, objects ...runtime.Object) (*Executor, *fake.Clientset) {
	t.Helper()
	client := fake.NewSimpleClientset(objects...)
	e, err := New(Options{Client: client.CoreV1beta1(), Namespace: testNamespace})
	require.NoError(t, err)
	return e, client
}
