package landscape

import (
	"context"
	"fmt"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/gardenlet"
)

const mergePatch = types.MergePatchType

// admitting is how many Shoots go through admission in parallel.
const admitting = 8

// layDown stores the Shoots of a fleet as if they had lived for a while. Each
// goes through the API server's defaulting, validation and admission as a dry
// run first, so that what is stored is what creating it would have stored; only
// its past is added.
func (l *Landscape) layDown(ctx context.Context, fleet fleetgen.Fleet, plan faults.Plan) error {
	if len(fleet.Members) == 0 {
		return nil
	}
	before := l.countShoots(fleet.Namespace)
	probed := map[string]bool{}
	for _, member := range fleet.Members {
		if provider := member.Shoot.Spec.Provider.Type; !probed[provider] {
			probed[provider] = true
			if err := l.waitForAdmission(ctx, member.Shoot); err != nil {
				return err
			}
		}
	}
	shoots := make([]*gardencorev1beta1.Shoot, len(fleet.Members))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(admitting)
	for index, member := range fleet.Members {
		group.Go(func() error {
			admitted, err := l.admit(groupCtx, member.Shoot)
			if err != nil {
				return fmt.Errorf("admit Shoot %s: %w", member.Shoot.Name, err)
			}
			age(admitted, member, fleet.Project(), plan)
			shoots[index] = admitted
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := l.store.Put(ctx, shoots); err != nil {
		return err
	}
	return l.waitForShoots(ctx, fleet.Namespace, before+len(shoots))
}

func (l *Landscape) admit(ctx context.Context, shoot *gardencorev1beta1.Shoot) (*gardencorev1beta1.Shoot, error) {
	return l.server.Core().CoreV1beta1().Shoots(shoot.Namespace).
		Create(ctx, shoot, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// waitForAdmission waits until admission has seen the project and the
// credentials of the probe's provider, which were made just before.
func (l *Landscape) waitForAdmission(ctx context.Context, probe *gardencorev1beta1.Shoot) error {
	const patience, pause = 30 * time.Second, 5 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		_, err := l.admit(ctx, probe)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("admit Shoot %s: %w", probe.Name, err)
		}
	}
}

// age gives a Shoot its past.
func age(shoot *gardencorev1beta1.Shoot, member fleetgen.Member, project string, plan faults.Plan) {
	shoot.UID = uuid.NewUUID()
	shoot.ResourceVersion = ""
	shoot.ManagedFields = nil
	shoot.CreationTimestamp = metav1.NewTime(member.Created)
	shoot.Generation = 1
	shoot.Finalizers = []string{gardencorev1beta1.GardenerName}
	if member.ExpiredVersion != "" {
		shoot.Spec.Kubernetes.Version = member.ExpiredVersion
	}
	gardenlet.InitialStatus(shoot, project, plan, member.Failed, member.Created.Add(20*time.Minute))
}

func (l *Landscape) countShoots(namespace string) int {
	shoots, err := l.server.Informers().Core().V1beta1().Shoots().Lister().Shoots(namespace).List(labels.Everything())
	if err != nil {
		return -1
	}
	return len(shoots)
}
