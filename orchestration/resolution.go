package orchestration

import (
	"cmp"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/swell-fleet/swell/internal/window"
	"github.com/swell-fleet/swell/runtime"
)

// LeftOutReason says why a Shoot that an include entry selects is not a target.
type LeftOutReason string

const (
	// LeftOutExcluded means that an exclude entry selects the Shoot too.
	LeftOutExcluded LeftOutReason = "excluded"
	// LeftOutNoRuntimeID means that the Shoot carries no runtime ID.
	LeftOutNoRuntimeID LeftOutReason = "no_runtime_id"
	// LeftOutDuplicateRuntimeID means that another Shoot carries the same runtime ID, or that the lister knows two instances with it.
	LeftOutDuplicateRuntimeID LeftOutReason = "duplicate_runtime_id"
	// LeftOutShootBeingDeleted means that the Shoot is on its way out.
	LeftOutShootBeingDeleted LeftOutReason = "shoot_being_deleted"
	// LeftOutUnknownToLister means that the lister knows no runtime with the Shoot's runtime ID.
	LeftOutUnknownToLister LeftOutReason = "unknown_to_lister"
	// LeftOutNotProvisioned means that the runtime was not provisioned, or not woken up after a suspension, with success.
	LeftOutNotProvisioned LeftOutReason = "not_provisioned"
	// LeftOutSuspended means that the runtime is suspended, or that a suspension of it has begun.
	LeftOutSuspended LeftOutReason = "suspended"
	// LeftOutDeprovisioned means that the runtime was deprovisioned, or that its deprovisioning has begun.
	LeftOutDeprovisioned LeftOutReason = "deprovisioned"
)

// LeftOut is a Shoot that an include entry selects and that is not a target.
type LeftOut struct {
	// ShootName is the name of the Shoot.
	ShootName string `json:"shootName"`
	// RuntimeID is empty when the Shoot carries none.
	RuntimeID string `json:"runtimeID"`
	// InstanceID is empty when the lister does not know the runtime.
	InstanceID string `json:"instanceID"`
	// Reason is one of the LeftOut constants. Newer servers may know more of them.
	Reason LeftOutReason `json:"reason"`
	// Description says the reason in a sentence, with the details of this Shoot.
	Description string `json:"description"`
}

// Resolution is what a TargetSpec comes to in a fleet.
type Resolution struct {
	// Runtimes are the targets: each runtime once, ordered by the first include entry that selects it, then by the Shoot's name.
	Runtimes []Runtime `json:"runtimes"`
	// LeftOut lists the Shoots that an include entry selects and that are no targets, ordered by name. Where several reasons apply the
	// one that stands first among the constants is given. The plan of a Shoot that the lister does not know cannot be told; it counts
	// here as the one that was asked for. Shoots that no include entry selects are not listed.
	LeftOut []LeftOut `json:"leftOut"`
	// Unmatched lists the indexes of the include entries that select no Shoot at all, not even one that is left out: often a
	// typing mistake.
	Unmatched []int `json:"unmatched"`
}

// ResolveTargets is the resolver without its sources: it says what targets come to among these Shoots and runtimes. It keeps and
// changes nothing of its arguments. Its only error is a *TargetsError; see TargetSpec.Validate. A nil Shoot is passed over.
//
// The rules are those of GardenerRuntimeResolver.
func ResolveTargets(targets TargetSpec, shoots []*gardencorev1beta1.Shoot, runtimes []runtime.RuntimeDTO) (Resolution, error) {
	selector, err := compileTargets(targets)
	if err != nil {
		return Resolution{}, err
	}
	return selector.resolve(factsOf(shoots), runtimes), nil
}

// pick is a Shoot that was selected, as its place in the list of facts and the include entry that decides its place in the order.
type pick struct {
	name         string
	include      int32
	shoot, known int32
}

// resolve applies the selector. It must be called once only.
func (s *selector) resolve(shoots []shootFacts, runtimes []runtime.RuntimeDTO) Resolution {
	fleet := index(shoots, runtimes)
	scratch := make([]uint64, s.words)
	unmatched := append([]uint64(nil), s.all[:s.includeWords]...)
	var picks []pick
	leftOut := []LeftOut{}
	for i := range shoots {
		if fleet.repeated[i] {
			continue
		}
		shoot := &shoots[i]
		known := fleet.runtimeOf(i)
		verdict := s.judge(shoot, known, scratch)
		if verdict.include < 0 {
			continue
		}
		subtract(unmatched, scratch)
		reason, description := LeftOutReason(""), ""
		switch {
		case verdict.excluded:
			reason, description = LeftOutExcluded, "an exclude entry selects it"
		case shoot.runtimeID == "":
			reason, description = LeftOutNoRuntimeID, "the Shoot has no annotation with a runtime ID"
		case fleet.ambiguous[fleet.slot[i]]:
			reason, description = LeftOutDuplicateRuntimeID, "the runtime ID is not unique: "+fleet.namesakes(i)
		case shoot.beingDeleted:
			reason, description = LeftOutShootBeingDeleted, "the Shoot is being deleted"
		case known == nil:
			reason, description = LeftOutUnknownToLister, "no runtime with this ID is known"
		default:
			reason, description = unreachable(known)
		}
		if reason == "" {
			picks = append(picks, pick{name: shoot.name, include: int32(verdict.include), shoot: int32(i), known: fleet.slot[i]})
			continue
		}
		row := LeftOut{ShootName: shoot.name, RuntimeID: shoot.runtimeID, Reason: reason, Description: description}
		if known != nil {
			row.InstanceID = known.InstanceID
		}
		leftOut = append(leftOut, row)
	}
	slices.SortFunc(picks, func(a, b pick) int {
		return cmp.Or(cmp.Compare(a.include, b.include), cmp.Compare(a.name, b.name), cmp.Compare(a.shoot, b.shoot))
	})
	slices.SortStableFunc(leftOut, func(a, b LeftOut) int { return cmp.Compare(a.ShootName, b.ShootName) })
	resolution := Resolution{Runtimes: make([]Runtime, len(picks)), LeftOut: leftOut, Unmatched: []int{}}
	windows := windowCache{}
	for i, pick := range picks {
		resolution.Runtimes[i] = target(&shoots[pick.shoot], &runtimes[pick.known], windows)
	}
	for i := range s.includes {
		if has(unmatched, i) {
			resolution.Unmatched = append(resolution.Unmatched, i)
		}
	}
	return resolution
}

// target describes a target. What the Shoot does not say of it is taken from the lister.
func target(shoot *shootFacts, known *runtime.RuntimeDTO, windows windowCache) Runtime {
	result := Runtime{
		InstanceID:      known.InstanceID,
		RuntimeID:       shoot.runtimeID,
		GlobalAccountID: shoot.account,
		SubAccountID:    shoot.subAccount,
		ShootName:       shoot.name,
	}
	if !shoot.hasAccount {
		result.GlobalAccountID = known.GlobalAccountID
	}
	if !shoot.hasSubAccount {
		result.SubAccountID = known.SubAccountID
	}
	result.MaintenanceWindowBegin, result.MaintenanceWindowEnd = windows.get(shoot.windowBegin, shoot.windowEnd)
	return result
}

// windowCache remembers the windows that were read, which are few in any fleet.
type windowCache map[[2]string][2]time.Time

// get reads a window. Both times are zero unless both ends can be read: half a window is none.
func (c windowCache) get(begin, end string) (time.Time, time.Time) {
	if begin == "" || end == "" {
		return time.Time{}, time.Time{}
	}
	key := [2]string{begin, end}
	times, ok := c[key]
	if !ok {
		b, beginErr := window.ParseClock(begin)
		e, endErr := window.ParseClock(end)
		if beginErr == nil && endErr == nil {
			times = [2]time.Time{b, e}
		}
		c[key] = times
	}
	return times[0], times[1]
}
