package orchestration

import (
	"context"
	"errors"
	"fmt"
	"io"

	gardenerclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	"github.com/sirupsen/logrus"
)

// GardenerRuntimeResolver is the RuntimeResolver over the Shoots of a Gardener project and the runtimes that a RuntimeLister knows.
//
// A Shoot is a target when an entry of Include selects it, no entry of Exclude does, and its runtime can be upgraded. It cannot when
// the Shoot carries no runtime ID or is being deleted, when the lister does not know the runtime, when two Shoots carry its ID, or when
// the runtime's operations say that it has no cluster: the newest is a deprovisioning or suspension, or a provisioning or unsuspension
// without success. A failed upgrade or update does not matter, nor do operations that are pending or were canceled.
//
// The runtime ID is the Shoot's annotation RuntimeIDAnnotation, or else InfrastructureManagerRuntimeIDAnnotation. Account and
// sub-account are the Shoot's labels GlobalAccountLabel and SubAccountLabel, the region is spec.region; these three are
// compared with patterns, and where one is absent no pattern matches. Plan and instance ID are the lister's.
//
// The windows of the runtimes it returns are times of day in the year 0 and in the window's own offset, as time.Parse reads
// "150405-0700". They are both zero when the Shoot has no window that can be read; such a runtime is a target nevertheless.
//
// A resolver asks its sources anew for every resolution and keeps nothing in between. It is safe for concurrent use.
type GardenerRuntimeResolver struct {
	shoots shootSource
	lister RuntimeLister
	logger logrus.FieldLogger
}

var _ RuntimeResolver = (*GardenerRuntimeResolver)(nil)

// NewGardenerRuntimeResolver makes a resolver that lists the Shoots of gardenerNamespace (a project's namespace such as "garden-kyma")
// for each resolution, in pages of 500. A list that expires on the way is begun again, up to five times. Let the configuration of
// gardenerClient ask for protobuf (rest.Config.ContentType "application/vnd.kubernetes.protobuf"): it makes lists three times cheaper.
//
// A resolver made with a nil client or lister or without a namespace answers every call with an error that says so. A nil logger
// logs nothing.
func NewGardenerRuntimeResolver(gardenerClient gardenerclient.CoreV1beta1Interface, gardenerNamespace string, lister RuntimeLister, logger logrus.FieldLogger) *GardenerRuntimeResolver {
	return newResolver(listedShoots{client: gardenerClient, namespace: gardenerNamespace}, lister, logger)
}

// NewCachedGardenerRuntimeResolver makes a resolver that takes the Shoots from a cache instead of listing them, such as a shared
// informer's: factory.Core().V1beta1().Shoots().Lister().Shoots(namespace). The caller runs the informer and waits until it has
// synced before the first resolution; a cache that is not filled yet has no Shoots and so no targets.
//
// Nil arguments have the same effect as with NewGardenerRuntimeResolver.
func NewCachedGardenerRuntimeResolver(shoots ShootLister, lister RuntimeLister, logger logrus.FieldLogger) *GardenerRuntimeResolver {
	return newResolver(cachedShoots{lister: shoots}, lister, logger)
}

func newResolver(shoots shootSource, lister RuntimeLister, logger logrus.FieldLogger) *GardenerRuntimeResolver {
	if logger == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		logger = silent
	}
	return &GardenerRuntimeResolver{shoots: shoots, lister: lister, logger: logger}
}

// Resolve returns the targets: each runtime once, ordered by the first include entry that selects it, then by the Shoot's name. It
// returns an empty list when nothing is selected. Its errors are those of Preview.
func (resolver *GardenerRuntimeResolver) Resolve(targets TargetSpec) ([]Runtime, error) {
	return resolver.ResolveContext(context.Background(), targets)
}

// ResolveContext is Resolve under a context.
func (resolver *GardenerRuntimeResolver) ResolveContext(ctx context.Context, targets TargetSpec) ([]Runtime, error) {
	resolution, err := resolver.Preview(ctx, targets)
	if err != nil {
		return nil, err
	}
	return resolution.Runtimes, nil
}

// Preview returns the targets and, beside them, every Shoot that was selected and left out, with the reason.
//
// Targets that must not be used give a *TargetsError before any source is asked. When a source fails its error is returned, wrapped,
// and nothing else: never a part of the fleet as if it were the whole.
func (resolver *GardenerRuntimeResolver) Preview(ctx context.Context, targets TargetSpec) (Resolution, error) {
	if resolver == nil || resolver.shoots == nil {
		return Resolution{}, errors.New("resolve targets: the resolver was not made with its constructor")
	}
	selector, err := compileTargets(targets)
	if err != nil {
		return Resolution{}, fmt.Errorf("resolve targets: %w", err)
	}
	if resolver.lister == nil {
		return Resolution{}, errors.New("resolve targets: the resolver was made without a lister of runtimes")
	}
	shoots, err := resolver.shoots.list(ctx)
	if err != nil {
		return Resolution{}, fmt.Errorf("resolve targets: %w", err)
	}
	runtimes, err := resolver.lister.ListAllRuntimes()
	if err != nil {
		return Resolution{}, fmt.Errorf("resolve targets: list runtimes: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return Resolution{}, fmt.Errorf("resolve targets: %w", err)
	}
	resolution := selector.resolve(shoots, runtimes)
	resolver.log(len(shoots), &resolution)
	return resolution, nil
}

// log sums a resolution up. Ambiguous runtime IDs are faults of the fleet that somebody has to repair, so each is named.
func (resolver *GardenerRuntimeResolver) log(shoots int, resolution *Resolution) {
	fields := logrus.Fields{"shoots": shoots, "targets": len(resolution.Runtimes), "left_out": len(resolution.LeftOut)}
	counts := map[LeftOutReason]int{}
	for i := range resolution.LeftOut {
		row := &resolution.LeftOut[i]
		counts[row.Reason]++
		if row.Reason == LeftOutDuplicateRuntimeID {
			resolver.logger.WithFields(logrus.Fields{"shoot": row.ShootName, "runtime_id": row.RuntimeID}).
				Warn("Shoot left out: its runtime ID is not unique")
		}
	}
	for reason, count := range counts {
		fields["left_out_"+string(reason)] = count
	}
	resolver.logger.WithFields(fields).Info("targets resolved")
}
