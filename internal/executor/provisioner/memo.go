package provisioner

import (
	"encoding/json"
	"fmt"

	"github.com/swell-fleet/swell/internal/fleet"
)

// memo is what is kept between the steps of one operation.
type memo struct {
	// Watched is true once Before is known: the newest operation of the runtime before ours was asked for, empty when there was none.
	Watched bool   `json:"watched,omitempty"`
	Before  string `json:"before,omitempty"`
	// Operation is the Provisioner's ID of the operation that upgrades.
	Operation string `json:"operation,omitempty"`
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

func (m memo) raw() json.RawMessage { return marshal(m) }

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what is marshalled here holds texts, numbers and flags only
	}
	return b
}
