package provisioner

import (
	"context"
	"encoding/json"
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
	if w.machineImage != "" || w.machineImageVersion != "" {
		s += fmt.Sprintf(" and machine image %s %s", w.machineImage, w.machineImageVersion)
	}
	return s
}

// kind is what differs between upgrades of Kyma and of clusters.
type kind interface {
	// operation is the type under which the Provisioner runs it.
	operation() gqlschema.OperationType
	validate(p orchestration.Parameters) error
	// has reports whether the stored configuration is the wanted one. The Provisioner stores it when it takes the upgrade on.
	has(s *Status, w target) bool
	start(ctx context.Context, c graphql.Client, t fleet.Task, s *Status, w target) (*Operation, sentConfig, error)
}

// sentConfig is the configuration that was sent.
type sentConfig struct{ kyma, cluster any }

func (s sentConfig) into(r *fleet.Result) {
	if s.kyma != nil {
		r.KymaConfig = marshal(s.kyma)
	}
	if s.cluster != nil {
		r.ClusterConfig = marshal(s.cluster)
	}
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the generated types hold texts, numbers and flags only
	}
	return b
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

func (kymaKind) start(ctx context.Context, c graphql.Client, t fleet.Task, s *Status, w target) (*Operation, sentConfig, error) {
	config := kymaConfig(s, w)
	answer, err := UpgradeRuntime(ctx, c, t.RuntimeID, gqlschema.UpgradeRuntimeInput{KymaConfig: config})
	if err != nil {
		return nil, sentConfig{}, err
	}
	return answer.UpgradeRuntime, sentConfig{kyma: config}, nil
}

// kymaConfig is the configuration that the runtime has, with the wanted version: upgradeRuntime replaces it as a whole, so what was left out
// would be uninstalled.
func kymaConfig(s *Status, w target) *gqlschema.KymaConfigInput {
	config := &gqlschema.KymaConfigInput{Version: w.version, Components: []*gqlschema.ComponentConfigurationInput{}}
	if s.RuntimeConfiguration == nil || s.RuntimeConfiguration.KymaConfig == nil {
		return config
	}
	have := s.RuntimeConfiguration.KymaConfig
	config.Profile = have.Profile
	config.Configuration = entries(have.Configuration)
	for _, c := range have.Components {
		config.Components = append(config.Components, &gqlschema.ComponentConfigurationInput{
			Component: c.Component, Namespace: c.Namespace, SourceURL: c.SourceURL, Configuration: entries(c.Configuration),
		})
	}
	return config
}

func entries(have []Entry) []*gqlschema.ConfigEntryInput {
	var list []*gqlschema.ConfigEntryInput
	for _, e := range have {
		list = append(list, &gqlschema.ConfigEntryInput{Key: e.Key, Value: e.Value, Secret: e.Secret})
	}
	return list
}

type shootKind struct{}

func (shootKind) operation() gqlschema.OperationType { return gqlschema.OperationTypeUpgradeShoot }

func (shootKind) validate(p orchestration.Parameters) error {
	w := wanted(fleet.Task{Parameters: p})
	if w == (target{}) {
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

func (shootKind) start(ctx context.Context, c graphql.Client, t fleet.Task, _ *Status, w target) (*Operation, sentConfig, error) {
	config := &gqlschema.GardenerUpgradeInput{
		KubernetesVersion:   optional(w.version),
		MachineImage:        optional(w.machineImage),
		MachineImageVersion: optional(w.machineImageVersion),
	}
	answer, err := UpgradeShoot(ctx, c, t.RuntimeID, gqlschema.UpgradeShootInput{GardenerConfig: config})
	if err != nil {
		return nil, sentConfig{}, err
	}
	return answer.UpgradeShoot, sentConfig{cluster: config}, nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
