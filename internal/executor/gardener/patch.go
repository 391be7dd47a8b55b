package gardener

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"

	"github.com/swell-fleet/swell/internal/fleet"
)

// patchFor builds the merge patch: the wanted fields only, on the condition that the Shoot still has the resource version that was looked at.
//
// A Shoot that has failed is not reconciled again by itself. A changed generation makes Gardener try once more; without one it is told to, at once
// or, where rollouts are confined, in the Shoot's next window.
func (e *Executor) patchFor(ctx context.Context, t fleet.Task, shoot *gardencorev1beta1.Shoot, want change) ([]byte, error) {
	metadata := map[string]any{"resourceVersion": shoot.ResourceVersion}
	patch := map[string]any{"metadata": metadata}
	inWindow := !confinesRollout(shoot) || windowOpen(shoot, t.Now)
	if want.in(shoot) {
		metadata["annotations"] = retryIn(inWindow)
		return marshal(patch)
	}
	if confinesRollout(shoot) && operationOf(shoot).State == gardencorev1beta1.LastOperationStateFailed {
		metadata["annotations"] = retryIn(inWindow)
	}
	spec := map[string]any{}
	if shoot.Spec.Kubernetes.Version != want.Version {
		spec["kubernetes"] = map[string]any{"version": want.Version}
	}
	if !want.MachineImage.isZero() && len(shoot.Spec.Provider.Workers) > 0 {
		pools, err := e.pools(ctx, shoot, want.MachineImage)
		if err != nil {
			return nil, err
		}
		spec["provider"] = map[string]any{"workers": pools}
	}
	patch["spec"] = spec
	return marshal(patch)
}

// retryIn returns the annotation that makes Gardener try again: now, or in the Shoot's next window.
func retryIn(now bool) map[string]any {
	if now {
		return map[string]any{constants.GardenerOperation: constants.ShootOperationRetry}
	}
	return map[string]any{constants.FailedShootNeedsRetryOperation: "true"}
}

// pools returns the Shoot's worker pools with the wanted image. A merge patch replaces lists as a whole, so the pools are read as the
// JSON that Gardener holds, with every field that this program does not know. The patch carries the resource version of the Shoot that was
// judged, so pools that changed in between make it fail instead of being written back.
func (e *Executor) pools(ctx context.Context, shoot *gardencorev1beta1.Shoot, want image) ([]any, error) {
	raw, err := e.client.RESTClient().Get().Namespace(e.namespace).Resource("shoots").Name(shoot.Name).
		SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	return withImage(raw, want)
}

// withImage takes the worker pools out of a Shoot's JSON and sets their machine image.
func withImage(raw []byte, want image) ([]any, error) {
	var doc struct {
		Spec struct {
			Provider struct {
				Workers []map[string]any `json:"workers"`
			} `json:"provider"`
		} `json:"spec"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("read the worker pools: %w", err)
	}
	pools := make([]any, len(doc.Spec.Provider.Workers))
	for i, pool := range doc.Spec.Provider.Workers {
		if pool == nil {
			return nil, fmt.Errorf("read the worker pools: pool %d is null", i)
		}
		machine, _ := pool["machine"].(map[string]any)
		if machine == nil {
			machine = map[string]any{}
			pool["machine"] = machine
		}
		have, _ := machine["image"].(map[string]any)
		if have == nil || want.name != "" && have["name"] != want.name {
			// Another image has another configuration; only the name that is wanted is kept, and Gardener picks the version when none is named.
			have = map[string]any{}
			if want.name != "" {
				have["name"] = want.name
			}
			machine["image"] = have
		}
		if want.version != "" {
			have["version"] = want.version
		}
		pools[i] = pool
	}
	return pools, nil
}

func marshal(patch map[string]any) ([]byte, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("build the patch: %w", err)
	}
	return body, nil
}
