package kyma

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// creating is how many Kymas are created in parallel.
const creating = 16

// Member is a runtime that gets a Kyma.
type Member struct {
	Namespace string
	// RuntimeID is also the name of the Kyma.
	RuntimeID string
	// Labels are the other labels, without their prefix: instance-id and so on.
	Labels map[string]string
	Shoot  string
}

// LayDown creates a Kyma on the channel regular for each member, as if it had
// lived for a while.
func (s *Server) LayDown(ctx context.Context, members []Member) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creating)
	for _, m := range members {
		group.Go(func() error {
			if err := s.layDown(ctx, m); err != nil {
				return fmt.Errorf("create Kyma of %s: %w", m.Shoot, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *Server) layDown(ctx context.Context, m Member) error {
	kymas := s.client.Resource(Resource).Namespace(m.Namespace)
	created, err := kymas.Create(ctx, newKyma(m), metav1.CreateOptions{FieldManager: "broker"})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	report(created, "Ready", time.Now())
	_, err = kymas.UpdateStatus(ctx, created, metav1.UpdateOptions{FieldManager: "lifecycle-manager"})
	if apierrors.IsConflict(err) {
		return nil // The manager was faster.
	}
	return err
}

func newKyma(m Member) *unstructured.Unstructured {
	labels := map[string]any{
		"kyma-project.io/runtime-id": m.RuntimeID, ShootLabel: m.Shoot, "operator.kyma-project.io/managed-by": "lifecycle-manager",
	}
	for name, value := range m.Labels {
		labels["kyma-project.io/"+name] = value
	}
	modules := []any{map[string]any{"name": "istio"}, map[string]any{"name": "api-gateway"}, map[string]any{"name": "btp-operator"}}
	// One runtime in ten keeps a module on a channel of its own.
	if faults.Draw(0, "own channel", m.Shoot) < 0.1 {
		modules = append(modules, map[string]any{"name": "serverless", "channel": "regular"})
	}
	for _, module := range modules {
		if module, ok := module.(map[string]any); ok {
			module["managed"] = true
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Resource.GroupVersion().String(), "kind": "Kyma",
		"metadata": map[string]any{"name": m.RuntimeID, "namespace": m.Namespace, "labels": labels},
		"spec":     map[string]any{"channel": "regular", "modules": modules},
	}}
}

// RemoveAll removes the Kymas of a namespace.
func (s *Server) RemoveAll(ctx context.Context, namespace string) error {
	err := s.client.Resource(Resource).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("remove Kymas: %w", err)
	}
	return nil
}

// Remove removes one Kyma.
func (s *Server) Remove(ctx context.Context, namespace, name string) error {
	if err := s.client.Resource(Resource).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("remove Kyma: %w", err)
	}
	return nil
}

// Summary is a Kyma in short.
type Summary struct {
	Name          string `json:"name"`
	Shoot         string `json:"shoot"`
	Channel       string `json:"channel"`
	ActiveChannel string `json:"activeChannel"`
	Generation    int64  `json:"generation"`
	State         string `json:"state"`
}

// Summaries returns the Kymas of a namespace as they are stored now.
func (s *Server) Summaries(ctx context.Context, namespace string) ([]Summary, error) {
	kymas, err := s.client.Resource(Resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Kymas: %w", err)
	}
	list := make([]Summary, 0, len(kymas.Items))
	for i := range kymas.Items {
		k := &kymas.Items[i]
		field := func(path ...string) string {
			text, _, _ := unstructured.NestedString(k.Object, path...)
			return text
		}
		list = append(list, Summary{
			Name: k.GetName(), Shoot: k.GetLabels()[ShootLabel], Channel: field("spec", "channel"), ActiveChannel: field("status", "activeChannel"),
			Generation: k.GetGeneration(), State: field("status", "state"),
		})
	}
	return list, nil
}
