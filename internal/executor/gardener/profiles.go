package gardener

import (
	"context"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// profiles keeps CloudProfiles for a short time: thousands of Shoots share a handful of them.
type profiles struct {
	client    gardenclient.CoreV1beta1Interface
	namespace string
	maxAge    time.Duration

	mu   sync.Mutex
	kept map[profileKey]profileEntry
}

type profileKey struct{ kind, name string }

type profileEntry struct {
	spec *gardencorev1beta1.CloudProfileSpec
	// readAt carries the monotonic clock, so that setting the clock does not make a profile live longer.
	readAt time.Time
}

const (
	kindCloudProfile           = "CloudProfile"
	kindNamespacedCloudProfile = "NamespacedCloudProfile"
)

// of returns the profile that a Shoot uses, in whichever of the three ways it names it.
func (p *profiles) of(ctx context.Context, shoot *gardencorev1beta1.Shoot) (*gardencorev1beta1.CloudProfileSpec, error) {
	key := profileKey{kind: kindCloudProfile}
	if ref := shoot.Spec.CloudProfile; ref != nil {
		key.name = ref.Name
		if ref.Kind == kindNamespacedCloudProfile {
			key.kind = ref.Kind
		}
	} else if shoot.Spec.CloudProfileName != nil {
		key.name = *shoot.Spec.CloudProfileName
	}
	p.mu.Lock()
	entry, ok := p.kept[key]
	p.mu.Unlock()
	if ok && time.Since(entry.readAt) < p.maxAge {
		return entry.spec, nil
	}
	spec, err := p.read(ctx, key)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[profileKey]profileEntry{}
	}
	p.kept[key] = profileEntry{spec: spec, readAt: time.Now()} //nolint:forbidigo // the age of a cache entry, measured by the monotonic clock
	return spec, nil
}

func (p *profiles) read(ctx context.Context, key profileKey) (*gardencorev1beta1.CloudProfileSpec, error) {
	if key.kind == kindNamespacedCloudProfile {
		profile, err := p.client.NamespacedCloudProfiles(p.namespace).Get(ctx, key.name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return &profile.Status.CloudProfileSpec, nil
	}
	profile, err := p.client.CloudProfiles().Get(ctx, key.name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return &profile.Spec, nil
}
