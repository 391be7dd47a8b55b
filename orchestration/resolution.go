package orchestration

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
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
	return selector.resolve(factsOfShoots(shoots), runtimes), nil
}

// pick is a Shoot that is a target, with what decides its place in the order.
type pick struct {
	include int32
	// begin holds the first eight bytes of the name, most of the comparisons' answer.
	begin uint64
	name  string
	// shoot and known are its places among the Shoots and the runtimes.
	shoot, known int32
}

func comparePicks(a, b pick) int {
	switch {
	case a.include != b.include:
		return cmp.Compare(a.include, b.include)
	case a.begin != b.begin:
		return cmp.Compare(a.begin, b.begin)
	case a.name != b.name:
		return cmp.Compare(a.name, b.name)
	}
	return cmp.Compare(a.shoot, b.shoot)
}

// nameBegin returns the first eight bytes of a name as a number that is ordered like them.
func nameBegin(name string) uint64 {
	var begin [8]byte
	copy(begin[:], name)
	return binary.BigEndian.Uint64(begin[:])
}

// findings is what the look at a range of the Shoots brought.
type findings struct {
	picks   []pick
	leftOut []LeftOut
	// unmatched holds the include entries that selected none of these Shoots.
	unmatched []uint64
}

// resolve applies the selector. It must be called once only.
func (s *selector) resolve(shoots []shootFacts, runtimes []runtime.RuntimeDTO) Resolution {
	fleet := index(shoots, runtimes)
	s.read(shoots)
	found := s.lookAtAll(fleet)
	slices.SortFunc(found.picks, comparePicks)
	slices.SortFunc(found.leftOut, func(a, b LeftOut) int {
		return cmp.Or(cmp.Compare(a.ShootName, b.ShootName), cmp.Compare(a.RuntimeID, b.RuntimeID), cmp.Compare(a.Reason, b.Reason))
	})
	resolution := Resolution{Runtimes: make([]Runtime, len(found.picks)), LeftOut: found.leftOut, Unmatched: []int{}}
	inParallel(len(found.picks), stepsPerShoot, func(begin, end int) {
		windows := windowCache{}
		for i := begin; i < end; i++ {
			pick := found.picks[i]
			resolution.Runtimes[i] = target(&shoots[pick.shoot], &runtimes[pick.known], windows)
		}
	})
	for i := range s.includes {
		if has(found.unmatched, i) {
			resolution.Unmatched = append(resolution.Unmatched, i)
		}
	}
	return resolution
}

// lookAtAll puts the entries to all Shoots.
func (s *selector) lookAtAll(fleet *fleetIndex) findings {
	var mutex sync.Mutex
	all := findings{leftOut: []LeftOut{}, unmatched: slices.Clone(s.all[:s.includeWords])}
	var ranges [][]pick
	inParallel(len(fleet.shoots), stepsPerShoot, func(begin, end int) {
		part := s.look(fleet, begin, end)
		mutex.Lock()
		defer mutex.Unlock()
		ranges = append(ranges, part.picks)
		all.leftOut = append(all.leftOut, part.leftOut...)
		intersect(all.unmatched, part.unmatched)
	})
	if len(ranges) == 1 {
		all.picks = ranges[0]
		return all
	}
	all.picks = slices.Concat(ranges...)
	return all
}

// look puts the entries to a range of the Shoots.
func (s *selector) look(fleet *fleetIndex, begin, end int) findings {
	scratch := make([]uint64, s.words)
	found := findings{unmatched: slices.Clone(s.all[:s.includeWords])}
	for i := begin; i < end; i++ {
		if fleet.repeated[i] {
			continue
		}
		shoot, known := &fleet.shoots[i], fleet.runtimeOf(i)
		verdict := s.judge(i, shoot, known, scratch)
		if verdict.include < 0 {
			continue
		}
		subtract(found.unmatched, scratch)
		reason, description := fleet.hindrance(i, known)
		if verdict.excluded {
			reason, description = LeftOutExcluded, "an exclude entry selects it"
		}
		if reason == "" {
			if found.picks == nil {
				found.picks = make([]pick, 0, end-i)
			}
			found.picks = append(found.picks, pick{
				include: int32(verdict.include), begin: nameBegin(shoot.name), name: shoot.name, shoot: int32(i), known: fleet.slot[i],
			})
			continue
		}
		row := LeftOut{ShootName: shoot.name, RuntimeID: shoot.runtimeID, Reason: reason, Description: description}
		if known != nil {
			row.InstanceID = known.InstanceID
		}
		found.leftOut = append(found.leftOut, row)
	}
	return found
}

// hindrance says why a Shoot can be no target whatever the entries say; the reason is empty when it can.
func (f *fleetIndex) hindrance(i int, known *runtime.RuntimeDTO) (LeftOutReason, string) {
	switch shoot := &f.shoots[i]; {
	case shoot.runtimeID == "":
		return LeftOutNoRuntimeID, "the Shoot has no annotation with a runtime ID"
	case f.ambiguous[f.slot[i]]:
		return LeftOutDuplicateRuntimeID, f.namesakes(i)
	case shoot.beingDeleted:
		return LeftOutShootBeingDeleted, "the Shoot is being deleted"
	case known == nil:
		return LeftOutUnknownToLister, "no runtime with this ID is known"
	case f.reachable[f.slot[i]]:
		return "", ""
	}
	return unreachable(known)
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

// windowCache remembers the windows that were read, which are few in any fleet. The key is begin and end, one after the other.
type windowCache map[[2 * windowTextSize]byte][2]time.Time

// windowTextSize is the length of "HHMMSS±HHMM" in bytes.
const windowTextSize = 11

// get reads a window. Both times are zero unless both ends can be read: half a window is none.
func (c windowCache) get(begin, end string) (time.Time, time.Time) {
	if begin == "" || end == "" {
		return time.Time{}, time.Time{}
	}
	if len(begin) != windowTextSize || len(end) != windowTextSize {
		return readWindow(begin, end)
	}
	var key [2 * windowTextSize]byte
	copy(key[:windowTextSize], begin)
	copy(key[windowTextSize:], end)
	times, ok := c[key]
	if !ok {
		times[0], times[1] = readWindow(begin, end)
		c[key] = times
	}
	return times[0], times[1]
}

func readWindow(begin, end string) (time.Time, time.Time) {
	b, err := window.ParseClock(begin)
	if err != nil {
		return time.Time{}, time.Time{}
	}
	e, err := window.ParseClock(end)
	if err != nil {
		return time.Time{}, time.Time{}
	}
	return b, e
}
