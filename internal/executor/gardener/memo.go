package gardener

import (
	"encoding/json"
	"fmt"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/swell-fleet/swell/internal/fleet"
)

// memo is what is kept between the steps of one operation.
type memo struct {
	// UID tells the Shoot from a later one with the same name.
	UID types.UID `json:"uid,omitempty"`
	// Generation is what the Shoot's generation was after our write; 0 before it.
	Generation int64 `json:"generation,omitempty"`
	// Rollout is set where the wanted specification does not show in the generation.
	Rollout *rollout `json:"rollout,omitempty"`
	// AskedAt is when Gardener itself was last asked, instead of the informer's cache.
	AskedAt time.Time `json:"askedAt,omitzero"`
}

func readMemo(t fleet.Task) (memo, error) {
	var m memo
	if len(t.Memo) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(t.Memo, &m); err != nil {
		return m, fmt.Errorf("read what the last step kept: %w", err)
	}
	return m, nil
}

// in puts the memo into a result.
func (m memo) in(r fleet.Result) (fleet.Result, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return fleet.Result{}, fmt.Errorf("keep what this step found: %w", err)
	}
	r.Memo = raw
	return r, nil
}

// wrote returns the memo after a write of ours that made one Shoot of the other.
func (m memo) wrote(before, written *gardencorev1beta1.Shoot) memo {
	m.UID, m.Generation, m.Rollout = written.UID, written.Generation, nil
	if written.Generation == before.Generation {
		m.Rollout = newRollout(before)
	}
	return m
}
