package fleetgen

import (
	"math/rand/v2"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// AccountLabel names the global account that owns a Shoot.
	AccountLabel = "account"
	// SubaccountLabel names the sub-account that owns a Shoot.
	SubaccountLabel = "subaccount"
	// RuntimeIDAnnotation links a Shoot to its runtime.
	RuntimeIDAnnotation = "kcp.provisioner.kyma-project.io/runtime-id"
	// ManagerRuntimeIDAnnotation is the name that a newer component uses for
	// the same; about one Shoot in eight has this one.
	ManagerRuntimeIDAnnotation = "infrastructuremanager.kyma-project.io/runtime-id"
	// IgnoreAnnotation keeps the gardenlet away from a Shoot.
	IgnoreAnnotation = "shoot.gardener.cloud/ignore"
)

// newMember invents one runtime and its Shoot.
func newMember(draw *rand.Rand, options Options, names nameSet) Member {
	name := names.next(draw)
	p := drawProvider(draw)
	service := weighted(draw, p.plans, func(s plan) int { return s.weight })
	place := pick(draw, p.regions)
	global, sub := account(draw)
	created := epoch.Add(-time.Duration(24+draw.IntN(900*24)) * time.Hour).Add(time.Duration(draw.IntN(3600)) * time.Second)
	varied := options.Mix == Varied

	shoot := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Namespace:   options.Namespace,
			Labels:      map[string]string{AccountLabel: global, SubaccountLabel: sub},
			Annotations: map[string]string{},
		},
		Spec: p.spec(draw, place),
	}
	shoot.Spec.Maintenance = &gardencorev1beta1.Maintenance{
		AutoUpdate: &gardencorev1beta1.MaintenanceAutoUpdate{MachineImageVersion: new(bool)},
		TimeWindow: drawWindow(draw),
	}
	if options.Window != "" {
		// Validate has read it already.
		shoot.Spec.Maintenance.TimeWindow, _ = parseWindow(options.Window)
	}
	if confined := options.Confined || varied && chance(draw, 6); confined {
		shoot.Spec.Maintenance.ConfineSpecUpdateRollout = &confined
	}
	if hibernated := chance(draw, 5); hibernated {
		shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: &hibernated}
	}
	member := Member{Shoot: shoot, Created: created}
	member.setVersion(draw, options)

	owner := owner{global: global, sub: sub, plan: service, provider: p.name, place: place}
	member.identify(draw, options, owner)
	if varied && chance(draw, 3) {
		shoot.Annotations[IgnoreAnnotation] = "true"
	}
	member.Failed = varied && chance(draw, 4)
	return member
}

// identify gives the Shoot a runtime ID and the broker's view of it, or, in a
// varied fleet, leaves a few Shoots to no broker.
func (m *Member) identify(draw *rand.Rand, options Options, who owner) {
	runtimeID, instanceID := newUUID(draw), newUUID(draw)
	key := RuntimeIDAnnotation
	if chance(draw, 12) {
		key = ManagerRuntimeIDAnnotation
	}
	if options.Mix == Varied && chance(draw, 3) {
		return
	}
	m.Shoot.Annotations[key] = runtimeID
	m.Runtime = newRuntime(draw, options.Mix, who, m.Shoot.Name, runtimeID, instanceID, m.Created)
}

// setVersion draws the Kubernetes version, and pins a worker pool of a few
// Shoots to a version of its own.
func (m *Member) setVersion(draw *rand.Rand, options Options) {
	drawn := weighted(draw, versions, func(v version) int {
		if options.Mix == Varied {
			return v.varied
		}
		return v.plain
	})
	pinned := chance(draw, 5)
	if options.KubernetesVersion != "" {
		drawn, _ = findVersion(options.KubernetesVersion)
	}
	spec := &m.Shoot.Spec
	spec.Kubernetes.Version = drawn.name
	if drawn.expired {
		m.ExpiredVersion = drawn.name
		spec.Kubernetes.Version = creatable(drawn.name)
	} else if pinned {
		pool := drawn.name
		spec.Provider.Workers[0].Kubernetes = &gardencorev1beta1.WorkerKubernetes{Version: &pool}
	}
}

func (p provider) spec(draw *rand.Rand, place region) gardencorev1beta1.ShootSpec {
	var (
		binding  = CredentialsName(p.name)
		pods     = "100.64.0.0/12"
		nodes    = "10.250.0.0/16"
		services = "100.104.0.0/13"
		network  = networkType
		purpose  = pick(draw, []gardencorev1beta1.ShootPurpose{"production", "production", "development", "evaluation"})
	)
	spec := gardencorev1beta1.ShootSpec{
		CloudProfile:           &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: p.name},
		CredentialsBindingName: &binding,
		Region:                 place.name,
		Purpose:                &purpose,
		Networking:             &gardencorev1beta1.Networking{Type: &network, Pods: &pods, Nodes: &nodes, Services: &services},
		Provider: gardencorev1beta1.Provider{
			Type:                 p.name,
			InfrastructureConfig: &runtime.RawExtension{Raw: []byte(p.infrastructure)},
		},
	}
	for index := range 1 + draw.IntN(2) {
		spec.Provider.Workers = append(spec.Provider.Workers, p.worker(draw, place, index))
	}
	return spec
}

func (p provider) worker(draw *rand.Rand, place region, index int) gardencorev1beta1.Worker {
	var (
		image    = imageVersion
		volume   = p.volumes[0]
		arch     = "amd64"
		surge    = intstr.FromInt32(1)
		nothing  = intstr.FromInt32(0)
		minimum  = int32(1 + draw.IntN(3))
		zones    = place.zones[:1+draw.IntN(len(place.zones))]
		workload = []string{"cpu-worker-0", "memory-worker-1"}
	)
	return gardencorev1beta1.Worker{
		Name:           workload[index],
		Minimum:        minimum,
		Maximum:        max(minimum, int32(len(zones))) + int32(1+draw.IntN(18)),
		MaxSurge:       &surge,
		MaxUnavailable: &nothing,
		Zones:          zones,
		Volume:         &gardencorev1beta1.Volume{Type: &volume, VolumeSize: "50Gi"},
		Machine: gardencorev1beta1.Machine{
			Type:         pick(draw, p.machines).name,
			Architecture: &arch,
			Image:        &gardencorev1beta1.ShootMachineImage{Name: imageName, Version: &image},
		},
		Labels: map[string]string{corev1.LabelTopologyRegion: place.name},
	}
}
