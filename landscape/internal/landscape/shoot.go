package landscape

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Shoots returns all Shoots of a fleet as they are stored now.
func (l *Landscape) Shoots(ctx context.Context, namespace string) ([]gardencorev1beta1.Shoot, error) {
	if _, err := l.Fleet(namespace); err != nil {
		return nil, err
	}
	list, err := l.server.Core().CoreV1beta1().Shoots(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Shoots: %w", err)
	}
	return list.Items, nil
}

// Shoot returns one Shoot as it is stored now.
func (l *Landscape) Shoot(ctx context.Context, namespace, name string) (*gardencorev1beta1.Shoot, error) {
	if _, err := l.Fleet(namespace); err != nil {
		return nil, err
	}
	shoot, err := l.server.Core().CoreV1beta1().Shoots(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get Shoot: %w", err)
	}
	return shoot, nil
}

// DeleteShoot removes a Shoot: at once and without a trace, or, if now is false,
// the way a user does it, with confirmation and a deletion that takes its time.
func (l *Landscape) DeleteShoot(ctx context.Context, namespace, name string, now bool) error {
	if _, err := l.Shoot(ctx, namespace, name); err != nil {
		return err
	}
	if now {
		return l.store.Delete(ctx, namespace, name)
	}
	_, err := l.SetMetadata(ctx, namespace, name, Metadata{Annotations: map[string]*string{
		v1beta1constants.ConfirmationDeletion: ptr("true"),
		v1beta1constants.GardenerTimestamp:    ptr(time.Now().UTC().Format(time.RFC3339)),
	}})
	if err != nil {
		return err
	}
	if err := l.server.Core().CoreV1beta1().Shoots(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete Shoot: %w", err)
	}
	return nil
}

// Metadata are labels and annotations to set, or to remove where the value is null.
type Metadata struct {
	Labels      map[string]*string `json:"labels,omitempty"`
	Annotations map[string]*string `json:"annotations,omitempty"`
}

// SetMetadata changes labels and annotations of a Shoot.
func (l *Landscape) SetMetadata(ctx context.Context, namespace, name string, metadata Metadata) (*gardencorev1beta1.Shoot, error) {
	return l.patch(ctx, namespace, name, map[string]any{"metadata": metadata})
}

// ForceStatus merges the given fields into the status of a Shoot, and keeps the
// gardenlet away from it until ReleaseShoot.
func (l *Landscape) ForceStatus(ctx context.Context, namespace, name string, status map[string]any) (*gardencorev1beta1.Shoot, error) {
	if _, err := l.Shoot(ctx, namespace, name); err != nil {
		return nil, err
	}
	l.gardenlet.Hold(namespace, name)
	return l.patch(ctx, namespace, name, map[string]any{"status": status}, "status")
}

// ReleaseShoot gives a Shoot back to the gardenlet.
func (l *Landscape) ReleaseShoot(namespace, name string) error {
	if _, err := l.Fleet(namespace); err != nil {
		return err
	}
	l.gardenlet.Release(namespace, name)
	return nil
}

func (l *Landscape) patch(ctx context.Context, namespace, name string, change any, subresources ...string) (*gardencorev1beta1.Shoot, error) {
	if _, err := l.Fleet(namespace); err != nil {
		return nil, err
	}
	body, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	shoot, err := l.server.Core().CoreV1beta1().Shoots(namespace).
		Patch(ctx, name, mergePatch, body, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return nil, fmt.Errorf("patch Shoot: %w", err)
	}
	return shoot, nil
}

func ptr[T any](value T) *T { return &value }
