package orchestration_test

import (
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenerfake "github.com/gardener/gardener/pkg/client/core/clientset/versioned/fake"
	gardenerclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

const gardenNamespace = "garden-demo"

// at returns a time of the one day on which the operations of these tests were created.
func at(hour int) time.Time {
	return time.Date(2024, time.May, 15, hour, 0, 0, 0, time.UTC)
}

// shootOption changes a Shoot of a test.
type shootOption func(*gardencorev1beta1.Shoot)

// newShoot makes a Shoot of the account ga-blue in eu-demo-1, with a window from 22:00 to 02:00.
func newShoot(name, runtimeID string, options ...shootOption) *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Namespace:   gardenNamespace,
			Labels:      map[string]string{"account": "ga-blue", "subaccount": "sa-blue-1"},
			Annotations: map[string]string{"kcp.provisioner.kyma-project.io/runtime-id": runtimeID},
		},
		Spec: gardencorev1beta1.ShootSpec{
			Region: "eu-demo-1",
			Maintenance: &gardencorev1beta1.Maintenance{
				TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{Begin: "220000+0000", End: "020000+0000"},
			},
		},
	}
	for _, option := range options {
		option(shoot)
	}
	return shoot
}

func inRegion(region string) shootOption {
	return func(shoot *gardencorev1beta1.Shoot) { shoot.Spec.Region = region }
}

func ofAccount(account, subAccount string) shootOption {
	return func(shoot *gardencorev1beta1.Shoot) {
		shoot.Labels = map[string]string{"account": account, "subaccount": subAccount}
	}
}

func withWindow(begin, end string) shootOption {
	return func(shoot *gardencorev1beta1.Shoot) {
		shoot.Spec.Maintenance.TimeWindow = &gardencorev1beta1.MaintenanceTimeWindow{Begin: begin, End: end}
	}
}

func beingDeleted(shoot *gardencorev1beta1.Shoot) {
	now := metav1.NewTime(at(9))
	shoot.DeletionTimestamp = &now
	shoot.Finalizers = []string{"gardener"}
}

// operation makes an operation that was created at that hour.
func operation(id, state string, hour int) runtime.Operation {
	return runtime.Operation{OperationID: id, State: state, CreatedAt: at(hour), UpdatedAt: at(hour)}
}

func operations(list ...runtime.Operation) *runtime.OperationsData {
	return &runtime.OperationsData{Data: list, Count: len(list), TotalCount: len(list)}
}

// provisioned makes a runtime of the plan aws whose provisioning succeeded at 10:00.
func provisioned(runtimeID string) runtime.RuntimeDTO {
	provisioning := operation("provision-"+runtimeID, "succeeded", 10)
	return runtime.RuntimeDTO{
		InstanceID:      "instance-" + runtimeID,
		RuntimeID:       runtimeID,
		GlobalAccountID: "ga-of-lister",
		SubAccountID:    "sa-of-lister",
		ServicePlanName: "aws",
		Status:          runtime.RuntimeStatus{Provisioning: &provisioning},
	}
}

// staticLister is a RuntimeLister whose answer can be replaced.
type staticLister struct {
	mu       sync.Mutex
	runtimes []runtime.RuntimeDTO
	err      error
	calls    int
}

func listing(runtimes ...runtime.RuntimeDTO) *staticLister {
	return &staticLister{runtimes: runtimes}
}

func (l *staticLister) ListAllRuntimes() ([]runtime.RuntimeDTO, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	return l.runtimes, l.err
}

func (l *staticLister) set(runtimes ...runtime.RuntimeDTO) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runtimes = runtimes
}

// gardener returns a client of a Gardener that has these Shoots.
func gardener(shoots ...*gardencorev1beta1.Shoot) gardenerclient.CoreV1beta1Interface {
	objects := make([]k8sruntime.Object, len(shoots))
	for i, shoot := range shoots {
		objects[i] = shoot
	}
	return gardenerfake.NewSimpleClientset(objects...).CoreV1beta1()
}

// all selects every runtime.
func all() orchestration.TargetSpec {
	return including(orchestration.RuntimeTarget{Target: "all"})
}

func including(entries ...orchestration.RuntimeTarget) orchestration.TargetSpec {
	return orchestration.TargetSpec{Include: entries}
}

func runtimeIDs(runtimes []orchestration.Runtime) []string {
	ids := []string{}
	for _, r := range runtimes {
		ids = append(ids, r.RuntimeID)
	}
	return ids
}

// reasons maps the names of the Shoots that were left out to the reasons.
func reasons(leftOut []orchestration.LeftOut) map[string]orchestration.LeftOutReason {
	result := map[string]orchestration.LeftOutReason{}
	for _, row := range leftOut {
		result[row.ShootName] = row.Reason
	}
	return result
}
