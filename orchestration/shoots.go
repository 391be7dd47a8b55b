package orchestration

import (
	"context"
	"errors"
	"fmt"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenerclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Where a Shoot carries what the resolver has to know of it.
const (
	// RuntimeIDAnnotation is the Shoot's annotation that holds the runtime ID.
	RuntimeIDAnnotation = "kcp.provisioner.kyma-project.io/runtime-id"
	// InfrastructureManagerRuntimeIDAnnotation holds the runtime ID of Shoots that the infrastructure manager made. It counts where
	// RuntimeIDAnnotation is absent or empty.
	InfrastructureManagerRuntimeIDAnnotation = "infrastructuremanager.kyma-project.io/runtime-id"
	// GlobalAccountLabel is the Shoot's label that holds the global account ID.
	GlobalAccountLabel = "account"
	// SubAccountLabel is the Shoot's label that holds the sub-account ID.
	SubAccountLabel = "subaccount"
)

const (
	// shootPageSize is how many Shoots are asked for at once. A Shoot takes some 10 to 20 kB on the wire.
	shootPageSize = 500
	// maxListRestarts is how often a list that expired on the way is begun again before the resolver gives up.
	maxListRestarts = 5
)

// shootFacts is what the resolver keeps of a Shoot, so that a page can be let go before the next one is read.
type shootFacts struct {
	namespace, name           string
	runtimeID                 string
	region                    string
	account, subAccount       string
	windowBegin, windowEnd    string
	hasAccount, hasSubAccount bool
	beingDeleted              bool
}

// factsOfShoot takes the facts from a Shoot.
func factsOfShoot(shoot *gardencorev1beta1.Shoot) shootFacts {
	facts := shootFacts{
		namespace:    shoot.Namespace,
		name:         shoot.Name,
		runtimeID:    shoot.Annotations[RuntimeIDAnnotation],
		region:       shoot.Spec.Region,
		beingDeleted: shoot.DeletionTimestamp != nil,
	}
	if facts.runtimeID == "" {
		facts.runtimeID = shoot.Annotations[InfrastructureManagerRuntimeIDAnnotation]
	}
	facts.account, facts.hasAccount = shoot.Labels[GlobalAccountLabel]
	facts.subAccount, facts.hasSubAccount = shoot.Labels[SubAccountLabel]
	if shoot.Spec.Maintenance != nil && shoot.Spec.Maintenance.TimeWindow != nil {
		facts.windowBegin = shoot.Spec.Maintenance.TimeWindow.Begin
		facts.windowEnd = shoot.Spec.Maintenance.TimeWindow.End
	}
	return facts
}

// factsOfShoots takes the facts from Shoots, passing over nil ones.
func factsOfShoots(shoots []*gardencorev1beta1.Shoot) []shootFacts {
	if slices.Contains(shoots, nil) {
		shoots = slices.DeleteFunc(slices.Clone(shoots), func(shoot *gardencorev1beta1.Shoot) bool { return shoot == nil })
	}
	facts := make([]shootFacts, len(shoots))
	inParallel(len(shoots), stepsPerShoot, func(begin, end int) {
		for i := begin; i < end; i++ {
			facts[i] = factsOfShoot(shoots[i])
		}
	})
	return facts
}

// shootSource brings the facts of all Shoots.
type shootSource interface {
	list(ctx context.Context) ([]shootFacts, error)
}

// listedShoots reads the Shoots of a namespace from Gardener's API, page by page.
type listedShoots struct {
	client    gardenerclient.CoreV1beta1Interface
	namespace string
}

func (s listedShoots) list(ctx context.Context) ([]shootFacts, error) {
	if s.client == nil {
		return nil, errors.New("list Shoots: the resolver was made without a Gardener client")
	}
	if s.namespace == "" {
		return nil, errors.New("list Shoots: the resolver was made without a Gardener namespace")
	}
	for restarts := 0; ; restarts++ {
		facts, err := s.listOnce(ctx)
		if !errors.Is(err, errListExpired) {
			return facts, err
		}
		if restarts == maxListRestarts {
			return nil, fmt.Errorf("list Shoots in %s, begun %d times: %w", s.namespace, restarts+1, err)
		}
	}
}

// errListExpired tells that the server no longer continues a list, which then has to begin again: the pages read so far are of a state
// of the fleet that the others cannot be had of.
var errListExpired = errors.New("the list expired before it was read to its end")

func (s listedShoots) listOnce(ctx context.Context) ([]shootFacts, error) {
	var facts []shootFacts
	options := metav1.ListOptions{Limit: shootPageSize}
	for {
		page, err := s.client.Shoots(s.namespace).List(ctx, options)
		if err != nil {
			if options.Continue != "" && (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) {
				return nil, fmt.Errorf("%w: %w", errListExpired, err)
			}
			return nil, fmt.Errorf("list Shoots in %s: %w", s.namespace, err)
		}
		for i := range page.Items {
			facts = append(facts, factsOfShoot(&page.Items[i]))
		}
		if page.Continue == "" {
			return facts, nil
		}
		if len(page.Items) == 0 && page.Continue == options.Continue {
			return nil, fmt.Errorf("list Shoots in %s: the server continues the list with the same empty page", s.namespace)
		}
		options.Continue = page.Continue
	}
}

// ShootLister lists Shoots from a cache. The ShootNamespaceLister of Gardener's shared informers is one.
type ShootLister interface {
	// List returns the Shoots that the selector matches. The resolver only reads them.
	List(selector labels.Selector) ([]*gardencorev1beta1.Shoot, error)
}

// cachedShoots takes the Shoots from a cache.
type cachedShoots struct {
	lister ShootLister
}

func (s cachedShoots) list(ctx context.Context) ([]shootFacts, error) {
	if s.lister == nil {
		return nil, errors.New("list Shoots: the resolver was made without a lister of Shoots")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list Shoots: %w", err)
	}
	shoots, err := s.lister.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list Shoots from the cache: %w", err)
	}
	return factsOfShoots(shoots), nil
}
