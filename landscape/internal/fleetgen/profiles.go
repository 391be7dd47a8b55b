package fleetgen

import (
	"math/rand/v2"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProviderTypes returns the types of all providers.
func ProviderTypes() []string {
	types := make([]string, 0, len(providers))
	for _, p := range providers {
		types = append(types, p.name)
	}
	return types
}

// CloudProfiles returns one profile per provider, named like it. All know the
// same Kubernetes versions: supported ones, deprecated ones that expire one day,
// a preview, and ones that have expired.
func CloudProfiles() []*gardencorev1beta1.CloudProfile {
	profiles := make([]*gardencorev1beta1.CloudProfile, 0, len(providers))
	for _, p := range providers {
		profiles = append(profiles, p.cloudProfile())
	}
	return profiles
}

func (p provider) cloudProfile() *gardencorev1beta1.CloudProfile {
	architectures := []string{"amd64"}
	image := func(name string, classification gardencorev1beta1.VersionClassification) gardencorev1beta1.MachineImageVersion {
		return gardencorev1beta1.MachineImageVersion{
			ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: name, Classification: &classification},
			CRI:              []gardencorev1beta1.CRI{{Name: gardencorev1beta1.CRINameContainerD}},
			Architectures:    architectures,
		}
	}
	usable := true
	profile := &gardencorev1beta1.CloudProfile{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec: gardencorev1beta1.CloudProfileSpec{
			Type:       p.name,
			Kubernetes: gardencorev1beta1.KubernetesSettings{Versions: expirable()},
			MachineImages: []gardencorev1beta1.MachineImage{{
				Name: imageName,
				Versions: []gardencorev1beta1.MachineImageVersion{
					image(imageVersion, gardencorev1beta1.ClassificationSupported),
					image(oldImageVersion, gardencorev1beta1.ClassificationDeprecated),
				},
			}},
		},
	}
	for _, m := range p.machines {
		profile.Spec.MachineTypes = append(profile.Spec.MachineTypes, gardencorev1beta1.MachineType{
			Name: m.name, CPU: resource.MustParse(m.cpu), GPU: resource.MustParse("0"), Memory: resource.MustParse(m.memory),
			Usable: &usable, Architecture: &architectures[0],
		})
	}
	for _, v := range p.volumes {
		profile.Spec.VolumeTypes = append(profile.Spec.VolumeTypes, gardencorev1beta1.VolumeType{Name: v, Class: "standard", Usable: &usable})
	}
	for _, r := range p.regions {
		entry := gardencorev1beta1.Region{Name: r.name}
		for _, zone := range r.zones {
			entry.Zones = append(entry.Zones, gardencorev1beta1.AvailabilityZone{Name: zone})
		}
		profile.Spec.Regions = append(profile.Spec.Regions, entry)
	}
	return profile
}

// Extensions returns the registration of all extensions that the Shoots need,
// and the deployment that it refers to.
func Extensions() (*gardencorev1beta1.ControllerRegistration, *corev1.ObjectReference) {
	registration := &gardencorev1beta1.ControllerRegistration{
		ObjectMeta: metav1.ObjectMeta{Name: registrationName},
		Spec: gardencorev1beta1.ControllerRegistrationSpec{
			Deployment: &gardencorev1beta1.ControllerRegistrationDeployment{
				DeploymentRefs: []gardencorev1beta1.DeploymentRef{{Name: deploymentName}},
			},
			Resources: []gardencorev1beta1.ControllerResource{
				{Kind: "Network", Type: networkType},
				{Kind: "OperatingSystemConfig", Type: imageName},
			},
		},
	}
	for _, p := range providers {
		for _, kind := range []string{"ControlPlane", "Infrastructure", "Worker"} {
			registration.Spec.Resources = append(registration.Spec.Resources, gardencorev1beta1.ControllerResource{Kind: kind, Type: p.name})
		}
	}
	return registration, &corev1.ObjectReference{Name: deploymentName}
}

// CredentialsName returns the name of a provider's CredentialsBinding and of the
// Secret behind it in every project.
func CredentialsName(providerType string) string { return "credentials-" + providerType }

func drawProvider(draw *rand.Rand) provider {
	return weighted(draw, providers, func(p provider) int { return p.weight })
}
