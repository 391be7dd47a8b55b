package provisioner

import (
	"context"
	"fmt"

	"github.com/Khan/genqlient/graphql"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// target is what an operation upgrades to.
type target struct {
	version             string
	machineImage        string
	machineImageVersion string
}

func wanted(t fleet.Task) target {
	w := target{version: t.Version}
	if w.version == "" {
		w.version = t.Parameters.Version
	}
	if k := t.Parameters.Kubernetes; k != nil {
		w.machineImage, w.machineImageVersion = k.MachineImage, k.MachineImageVersion
	}
	return w
}

// String says what is wanted.
func (w target) String() string {
	s := "version " + w.version
	if w.version == "" {
		s = "the version that it has"
	}
	if w.machineImage != "" || w.machineImageVersion != "" {
		s += fmt.Sprintf(" and machine image %s %s", w.machineImage, w.machineImageVersion)
	}
	return fleet.Line(s)
}

// kind is what differs between upgrades of Kyma and of clusters.
type kind interface {
	// operation is the type under which the Provisioner runs it.
	operation() gqlschema.OperationType
	validate(p orchestration.Parameters) error
	// has reports whether the stored configuration is the wanted one. The Provisioner stores it when it takes the upgrade on.
	has(s *Status, w target) bool
	// refuses says why the runtime cannot be upgraded this way, or nothing.
	refuses(s *Status) string
	// describe puts the configuration into the result: as it is sent, or as it was found.
	describe(r *fleet.Result, s *Status, w target)
	// start asks for the upgrade and returns the operation, which may be null.
	start(ctx context.Context, c graphql.Client, t fleet.Task, s *Status, w target) (*Operation, error)
}

type kymaKind struct{}

func (kymaKind) operation() gqlschema.OperationType { return gqlschema.OperationTypeUpgrade }

func (kymaKind) validate(p orchestration.Parameters) error {
	if p.Version == "" {
		return fleet.Invalidf("version", "is missing; the Provisioner needs the version of Kyma to upgrade to")
	}
	return nil
}

func (kymaKind) has(s *Status, w target) bool {
	return s.RuntimeConfiguration != nil && s.RuntimeConfiguration.KymaConfig != nil && s.RuntimeConfiguration.KymaConfig.Version == w.version
}

func (kymaKind) refuses(s *Status) string {
	if s.RuntimeConfiguration == nil || s.RuntimeConfiguration.KymaConfig == nil {
		// upgradeRuntime takes the whole configuration, and one without components would uninstall whatever there is.
		return "the Provisioner has no configuration of Kyma for the runtime, so there is nothing that it could upgrade"
	}
	return ""
}

func (kymaKind) describe(r *fleet.Result, s *Status, w target) {
	if s.RuntimeConfiguration != nil && s.RuntimeConfiguration.KymaConfig != nil {
		r.KymaConfig = marshal(withoutSecrets(kymaConfig(s.RuntimeConfiguration.KymaConfig, w)))
	}
}

func (kymaKind) start(ctx context.Context, c graphql.Client, t fleet.Task, s *Status, w target) (*Operation, error) {
	config := kymaConfig(s.RuntimeConfiguration.KymaConfig, w)
	answer, err := UpgradeRuntime(ctx, c, t.RuntimeID, gqlschema.UpgradeRuntimeInput{KymaConfig: config})
	if err != nil {
		return nil, err
	}
	return answer.UpgradeRuntime, nil
}

// kymaConfig is the configuration that the runtime has, with the wanted version: upgradeRuntime replaces it as a whole, so what was left out
// would be uninstalled.
func kymaConfig(have *KymaConfig, w target) *gqlschema.KymaConfigInput {
	config := &gqlschema.KymaConfigInput{
		Version: w.version, Profile: have.Profile, Configuration: entries(have.Configuration), Components: []*gqlschema.ComponentConfigurationInput{},
	}
	for _, c := range have.Components {
		if c == nil {
			continue
		}
		config.Components = append(config.Components, &gqlschema.ComponentConfigurationInput{
			Component: c.Component, Namespace: c.Namespace, SourceURL: c.SourceURL, Configuration: entries(c.Configuration),
		})
	}
	return config
}

func entries(have []*Entry) []*gqlschema.ConfigEntryInput {
	var list []*gqlschema.ConfigEntryInput
	for _, e := range have {
		if e != nil {
			list = append(list, &gqlschema.ConfigEntryInput{Key: e.Key, Value: e.Value, Secret: e.Secret})
		}
	}
	return list
}

// withoutSecrets empties the values that must not be shown, in place.
func withoutSecrets(config *gqlschema.KymaConfigInput) *gqlschema.KymaConfigInput {
	empty := func(list []*gqlschema.ConfigEntryInput) {
		for _, e := range list {
			if e.Secret != nil && *e.Secret {
				e.Value = ""
			}
		}
	}
	empty(config.Configuration)
	for _, c := range config.Components {
		empty(c.Configuration)
	}
	return config
}

type shootKind struct{}

func (shootKind) operation() gqlschema.OperationType { return gqlschema.OperationTypeUpgradeShoot }

func (shootKind) validate(p orchestration.Parameters) error {
	if wanted(fleet.Task{Parameters: p}) == (target{}) {
		return fleet.Invalidf("version", "is missing; the Provisioner needs a Kubernetes version or a machine image to upgrade to")
	}
	return nil
}

func (shootKind) has(s *Status, w target) bool {
	if s.RuntimeConfiguration == nil || s.RuntimeConfiguration.ClusterConfig == nil {
		return false
	}
	have := s.RuntimeConfiguration.ClusterConfig
	same := func(want, have string) bool { return want == "" || want == have }
	return same(w.version, have.KubernetesVersion) && same(w.machineImage, have.MachineImage) && same(w.machineImageVersion, have.MachineImageVersion)
}

func (shootKind) refuses(*Status) string { return "" }

func (shootKind) describe(r *fleet.Result, _ *Status, w target) {
	r.ClusterConfig = marshal(upgradeInput(w))
}

func (shootKind) start(ctx context.Context, c graphql.Client, t fleet.Task, _ *Status, w target) (*Operation, error) {
	answer, err := UpgradeShoot(ctx, c, t.RuntimeID, gqlschema.UpgradeShootInput{GardenerConfig: upgradeInput(w)})
	if err != nil {
		return nil, err
	}
	return answer.UpgradeShoot, nil
}

// upgradeInput holds the wanted fields only: the Provisioner leaves the others as they are.
func upgradeInput(w target) *gqlschema.GardenerUpgradeInput {
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return &gqlschema.GardenerUpgradeInput{
		KubernetesVersion: optional(w.version), MachineImage: optional(w.machineImage), MachineImageVersion: optional(w.machineImageVersion),
	}
}
