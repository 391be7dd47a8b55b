package gardener

import (
	"context"
	"fmt"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// profiles keeps CloudProfiles for a short time: thousands of Shoots share a handful of them.
type profiles struct {
	client    gardenclient.CoreV1beta1Interface
	namespace string
	maxAge    time.Duration

	reads singleflight.Group

	mu   sync.Mutex
	kept map[profileKey]profileEntry
}

type profileKey struct{ kind, name string }

type profileEntry struct {
	spec *gardencorev1beta1.CloudProfileSpec
	// readAt is by the clock of the tasks.
	readAt time.Time
}

const (
	kindCloudProfile           = "CloudProfile"
	kindNamespacedCloudProfile = "NamespacedCloudProfile"
)

func keyOf(shoot *gardencorev1beta1.Shoot) profileKey {
	key := profileKey{kind: kindCloudProfile}
	if ref := shoot.Spec.CloudProfile; ref != nil {
		key.name = ref.Name
		if ref.Kind == kindNamespacedCloudProfile {
			key.kind = ref.Kind
		}
	} else if shoot.Spec.CloudProfileName != nil {
		key.name = *shoot.Spec.CloudProfileName
	}
	return key
}

// of returns the profile that a Shoot uses, in whichever of the three ways it names it. Many operations that ask for one at the same time share
// one request.
func (p *profiles) of(ctx context.Context, shoot *gardencorev1beta1.Shoot, now time.Time) (*gardencorev1beta1.CloudProfileSpec, error) {
	key := keyOf(shoot)
	p.mu.Lock()
	entry, ok := p.kept[key]
	p.mu.Unlock()
	if age := now.Sub(entry.readAt); ok && age >= 0 && age < p.maxAge {
		return entry.spec, nil
	}
	shared := true
	read, err, _ := p.reads.Do(key.kind+"/"+key.name, func() (any, error) {
		shared = false
		return p.read(ctx, key)
	})
	if shared && err != nil && ctx.Err() == nil {
		// It may have failed because whoever made the request was stopped.
		read, err = p.read(ctx, key)
	}
	if err != nil {
		return nil, err
	}
	spec, ok := read.(*gardencorev1beta1.CloudProfileSpec)
	if !ok {
		return nil, fmt.Errorf("read the profile %s: got a %T", key.name, read)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[profileKey]profileEntry{}
	}
	p.kept[key] = profileEntry{spec: spec, readAt: now}
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
