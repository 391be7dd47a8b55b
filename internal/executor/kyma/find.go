package kyma

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/verdict"
)

// find asks the control plane for the Kyma of a runtime. Kymas are usually named like their runtime; the label decides. A nil resource comes with the
// result that ends the operation.
func (e *Executor) find(ctx context.Context, runtimeID string) (*resource, fleet.Result, error) {
	if runtimeID == "" || len(validation.IsValidLabelValue(runtimeID)) > 0 {
		return nil, refused(fmt.Sprintf("no Kyma can belong to the runtime: %q cannot stand in a label", runtimeID)), nil
	}
	if len(e.indexed(runtimeID)) <= 1 && len(validation.IsDNS1123Subdomain(runtimeID)) == 0 {
		u, err := e.client.Get(ctx, runtimeID, metav1.GetOptions{})
		switch {
		case err == nil && u.GetLabels()[RuntimeIDLabel] == runtimeID:
			k, err := parse(u)
			return k, fleet.Result{}, err
		case err != nil && !apierrors.IsNotFound(err):
			return nil, fleet.Result{}, fmt.Errorf("read the Kyma: %w", verdict.OfRead(err))
		}
	}
	// That there is none of that name may also mean that the control plane has no Kymas at all; a list tells the two apart.
	list, err := e.client.List(ctx, metav1.ListOptions{LabelSelector: labels.Set{RuntimeIDLabel: runtimeID}.String()})
	if err != nil {
		return nil, fleet.Result{}, fmt.Errorf("look for the Kyma: %w", verdict.OfRead(err))
	}
	switch len(list.Items) {
	case 0:
		return nil, gone("the runtime has no Kyma in the control plane"), nil
	case 1:
		k, err := parse(&list.Items[0])
		return k, fleet.Result{}, err
	default:
		return nil, refused("several Kymas say that they belong to the runtime: " + few(names(list.Items))), nil
	}
}

func names(items []unstructured.Unstructured) []string {
	unique := map[string]bool{}
	for i := range items {
		unique[items[i].GetName()] = true
	}
	return slices.SortedFunc(maps.Keys(unique), strings.Compare)
}
