package fleet

import (
	"time"

	"github.com/swell-fleet/swell/runtime"
)

// Runtime is the record of one managed runtime.
type Runtime struct {
	// DTO is the document as its source gave it. Swell's own operations are not in it: they are in Own.
	DTO runtime.RuntimeDTO
	// State is derived from the operations of the document and Swell's own; see DeriveState. Readers get it in DTO.Status.State too.
	State runtime.State
	// Own are Swell's own operations on the runtime, newest first, without pending, canceled and dry-run ones.
	// Only the lists for people carry them.
	Own []OwnOperation
	// Source names where the document came from, such as "import" or "gardener".
	Source string
	// UpdatedAt is when the document was last changed.
	UpdatedAt time.Time
}

// OwnOperation is an upgrade that Swell carried out or carries out, as the list of runtimes shows it.
type OwnOperation struct {
	// Type is runtime.UpgradeKyma or runtime.UpgradeCluster.
	Type      runtime.OperationType
	Operation runtime.Operation
}
