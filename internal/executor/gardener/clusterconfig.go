package gardener

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/swell-fleet/swell/gqlschema"
)

// clusterConfig describes the cluster in the Provisioner's words, with the version and image that are wanted.
func clusterConfig(shoot *gardencorev1beta1.Shoot, want change) (json.RawMessage, error) {
	spec := &shoot.Spec
	config := gqlschema.GardenerConfigInput{
		Name:                   shoot.Name,
		KubernetesVersion:      want.Version,
		Provider:               spec.Provider.Type,
		Region:                 spec.Region,
		ProviderSpecificConfig: &gqlschema.ProviderSpecificInput{},
		ExposureClassName:      spec.ExposureClassName,
		Seed:                   spec.SeedName,
	}
	if spec.CredentialsBindingName != nil {
		config.TargetSecret = *spec.CredentialsBindingName
	}
	if spec.Purpose != nil {
		purpose := string(*spec.Purpose)
		config.Purpose = &purpose
	}
	if n := spec.Networking; n != nil {
		if n.Nodes != nil {
			config.WorkerCidr = *n.Nodes
		}
		config.PodsCidr, config.ServicesCidr = n.Pods, n.Services
	}
	if m := spec.Maintenance; m != nil && m.AutoUpdate != nil {
		kubernetes := m.AutoUpdate.KubernetesVersion
		config.EnableKubernetesVersionAutoUpdate = &kubernetes
		config.EnableMachineImageVersionAutoUpdate = m.AutoUpdate.MachineImageVersion
	}
	if len(spec.Provider.Workers) > 0 {
		firstPool(&config, &spec.Provider.Workers[0])
	}
	if want.MachineImage.name != "" {
		config.MachineImage = &want.MachineImage.name
	}
	if want.MachineImage.version != "" {
		config.MachineImageVersion = &want.MachineImage.version
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("describe the cluster: %w", err)
	}
	return raw, nil
}

// firstPool describes the first worker pool: the Provisioner's words know one pool only.
func firstPool(config *gqlschema.GardenerConfigInput, pool *gardencorev1beta1.Worker) {
	config.MachineType = pool.Machine.Type
	if pool.Machine.Image != nil {
		name := pool.Machine.Image.Name
		config.MachineImage, config.MachineImageVersion = &name, pool.Machine.Image.Version
	}
	if pool.Volume != nil {
		config.DiskType = pool.Volume.Type
		if gb, err := strconv.Atoi(strings.TrimSuffix(pool.Volume.VolumeSize, "Gi")); err == nil {
			config.VolumeSizeGb = &gb
		}
	}
	config.AutoScalerMin, config.AutoScalerMax = int(pool.Minimum), int(pool.Maximum)
	if pool.MaxSurge != nil {
		config.MaxSurge = pool.MaxSurge.IntValue()
	}
	if pool.MaxUnavailable != nil {
		config.MaxUnavailable = pool.MaxUnavailable.IntValue()
	}
}
