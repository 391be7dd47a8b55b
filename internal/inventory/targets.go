package inventory

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/policy"
	"github.com/swell-fleet/swell/internal/window"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Targets resolves the targets of orchestrations over the cached Shoots and the runtimes of the store.
type Targets struct {
	shoots *Shoots
	reader fleet.Reader
	source *GardenerSource
	policy *policy.Policy
	logger logrus.FieldLogger
}

var _ fleet.Resolver = (*Targets)(nil)

// NewTargets returns a resolver. The source is what fills the store from the Shoots, nil where nothing does. The maintenance policy decides the
// windows; nil leaves every Shoot its own.
func NewTargets(shoots *Shoots, reader fleet.Reader, source *GardenerSource, p *policy.Policy, logger logrus.FieldLogger) *Targets {
	return &Targets{shoots: shoots, reader: reader, source: source, policy: p, logger: logger}
}

// ResolveTargets turns targets into runtimes. It returns an error of KindUnavailable as long as the Shoots have never been read, or never been taken
// over by their source: an empty cache or an empty store would make every target vanish.
func (t *Targets) ResolveTargets(ctx context.Context, targets orchestration.TargetSpec) (fleet.Resolution, error) {
	if !t.shoots.feed.HasSynced() {
		return fleet.Resolution{}, fleet.Unavailable("the Shoots have not been read yet", nil)
	}
	if t.source != nil {
		if err := t.source.CaughtUp(); err != nil {
			return fleet.Resolution{}, err
		}
	}
	docs, err := t.reader.AllRuntimes(ctx)
	if err != nil {
		return fleet.Resolution{}, fmt.Errorf("list the runtimes: %w", err)
	}
	resolver := orchestration.NewCachedGardenerRuntimeResolver(t.shoots.lister, known(docs), t.logger)
	found, err := resolver.Preview(ctx, targets)
	if err != nil {
		return fleet.Resolution{}, err
	}
	byInstance := make(map[string]*runtime.RuntimeDTO, len(docs))
	for i := range docs {
		byInstance[docs[i].InstanceID] = &docs[i]
	}
	out := fleet.Resolution{
		Runtimes: make([]fleet.Target, len(found.Runtimes)),
		LeftOut:  make([]fleet.LeftOut, len(found.LeftOut)),

		Unmatched: found.Unmatched,
	}
	for i := range found.Runtimes {
		out.Runtimes[i] = target(&found.Runtimes[i], byInstance[found.Runtimes[i].InstanceID], t.policy)
		if shoot, err := t.shoots.lister.Get(found.Runtimes[i].ShootName); err == nil {
			out.Runtimes[i].KubernetesVersion = shoot.Spec.Kubernetes.Version
		}
	}
	for i, l := range found.LeftOut {
		out.LeftOut[i] = fleet.LeftOut{ShootName: l.ShootName, RuntimeID: l.RuntimeID, InstanceID: l.InstanceID, Reason: string(l.Reason), Description: l.Description}
	}
	return out, nil
}

// known is a list of runtimes that was read already.
type known []runtime.RuntimeDTO

// ListAllRuntimes returns the list.
func (k known) ListAllRuntimes() ([]runtime.RuntimeDTO, error) { return k, nil }

func target(r *orchestration.Runtime, doc *runtime.RuntimeDTO, p *policy.Policy) fleet.Target {
	t := fleet.Target{
		RuntimeID:       r.RuntimeID,
		InstanceID:      r.InstanceID,
		GlobalAccountID: r.GlobalAccountID,
		SubAccountID:    r.SubAccountID,
		ShootName:       r.ShootName,
	}
	facts := policy.Runtime{ShootName: r.ShootName, GlobalAccountID: r.GlobalAccountID}
	if doc != nil {
		t.Region, t.ServicePlanID, t.ServicePlanName = doc.ProviderRegion, doc.ServicePlanID, doc.ServicePlanName
		facts.Plan, facts.Region, facts.PlatformRegion = doc.ServicePlanName, doc.ProviderRegion, doc.SubAccountRegion
	}
	// The resolver gives times of day in the window's own offset, so that the text is the Shoot's own again.
	if !r.MaintenanceWindowBegin.IsZero() && !r.MaintenanceWindowEnd.IsZero() {
		facts.Begin, facts.End = r.MaintenanceWindowBegin.Format(window.Layout), r.MaintenanceWindowEnd.Format(window.Layout)
	}
	d := p.Decide(facts)
	if d.Begin != "" {
		t.Window = fleet.WindowRule{Begin: d.Begin, End: d.End, Days: d.Days, NotOn: d.NotOn, Rule: d.Rule}
	}
	return t
}
