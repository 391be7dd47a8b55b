package inventory

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/orchestration"
)

// The labels and annotations that somebody here reads. Others, such as what kubectl keeps of the last applied Shoot, may be large.
var (
	keptLabels      = []string{orchestration.GlobalAccountLabel, orchestration.SubAccountLabel}
	keptAnnotations = []string{
		orchestration.RuntimeIDAnnotation, orchestration.InfrastructureManagerRuntimeIDAnnotation,
		constants.GardenerOperation, constants.FailedShootNeedsRetryOperation, constants.ShootIgnore,
	}
)

// slim keeps of a Shoot what the resolver, the source of runtimes and the executor's checks read: about a tenth. The executor never writes what comes
// from here, so what is left out cannot get lost; a field that a new reader needs is to be added.
func slim(item any) (any, error) {
	shoot, ok := item.(*gardencorev1beta1.Shoot)
	if !ok {
		return item, nil
	}
	return &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{
			Name: shoot.Name, Namespace: shoot.Namespace, UID: shoot.UID, ResourceVersion: shoot.ResourceVersion, Generation: shoot.Generation,
			CreationTimestamp: shoot.CreationTimestamp, DeletionTimestamp: shoot.DeletionTimestamp,
			Labels: only(shoot.Labels, keptLabels), Annotations: only(shoot.Annotations, keptAnnotations),
		},
		Spec: slimSpec(&shoot.Spec),
		Status: gardencorev1beta1.ShootStatus{
			ObservedGeneration: shoot.Status.ObservedGeneration,
			LastOperation:      shoot.Status.LastOperation,
			LastErrors:         shoot.Status.LastErrors,
		},
	}, nil
}

func slimSpec(spec *gardencorev1beta1.ShootSpec) gardencorev1beta1.ShootSpec {
	slim := gardencorev1beta1.ShootSpec{
		CloudProfile: spec.CloudProfile, CloudProfileName: spec.CloudProfileName, Region: spec.Region, SeedName: spec.SeedName,
		CredentialsBindingName: spec.CredentialsBindingName, ExposureClassName: spec.ExposureClassName, Purpose: spec.Purpose,
		Kubernetes: gardencorev1beta1.Kubernetes{Version: spec.Kubernetes.Version},
		Provider:   gardencorev1beta1.Provider{Type: spec.Provider.Type, Workers: make([]gardencorev1beta1.Worker, len(spec.Provider.Workers))},
	}
	for i := range spec.Provider.Workers {
		pool := &spec.Provider.Workers[i]
		kept := &slim.Provider.Workers[i]
		kept.Name, kept.Minimum, kept.Maximum, kept.MaxSurge, kept.MaxUnavailable = pool.Name, pool.Minimum, pool.Maximum, pool.MaxSurge, pool.MaxUnavailable
		kept.Machine.Type = pool.Machine.Type
		if pool.Machine.Image != nil {
			kept.Machine.Image = &gardencorev1beta1.ShootMachineImage{Name: pool.Machine.Image.Name, Version: pool.Machine.Image.Version}
		}
		if pool.Volume != nil {
			kept.Volume = &gardencorev1beta1.Volume{Type: pool.Volume.Type, VolumeSize: pool.Volume.VolumeSize}
		}
		if pool.Kubernetes != nil {
			kept.Kubernetes = &gardencorev1beta1.WorkerKubernetes{Version: pool.Kubernetes.Version}
		}
	}
	if n := spec.Networking; n != nil {
		slim.Networking = &gardencorev1beta1.Networking{Nodes: n.Nodes, Pods: n.Pods, Services: n.Services}
	}
	if h := spec.Hibernation; h != nil {
		slim.Hibernation = &gardencorev1beta1.Hibernation{Enabled: h.Enabled}
	}
	if m := spec.Maintenance; m != nil {
		slim.Maintenance = &gardencorev1beta1.Maintenance{TimeWindow: m.TimeWindow, ConfineSpecUpdateRollout: m.ConfineSpecUpdateRollout}
		if m.AutoUpdate != nil {
			slim.Maintenance.AutoUpdate = &gardencorev1beta1.MaintenanceAutoUpdate{
				KubernetesVersion: m.AutoUpdate.KubernetesVersion, MachineImageVersion: m.AutoUpdate.MachineImageVersion,
			}
		}
	}
	return slim
}

// only returns the entries of a map with these keys; nil when there are none.
func only(all map[string]string, keys []string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		value, ok := all[key]
		if !ok {
			continue
		}
		if kept == nil {
			kept = make(map[string]string, 2)
		}
		kept[key] = value
	}
	return kept
}
