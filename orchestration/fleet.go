package orchestration

import (
	"slices"
	"strings"

	"github.com/swell-fleet/swell/runtime"
)

// fleetIndex joins Shoots and runtimes by runtime ID. Each distinct runtime ID has a slot; the slots of the runtimes that the lister
// knows come first, with the runtime's place in the lister's answer as their number.
type fleetIndex struct {
	shoots   []shootFacts
	runtimes []runtime.RuntimeDTO
	// slot holds the slot of each Shoot, noSlot for a Shoot without a runtime ID.
	slot []int32
	// ambiguous marks the slots of runtime IDs that more than one Shoot carries or that the lister has for more than one instance.
	ambiguous []bool
	// reachable marks the runtimes whose operations let them be targets.
	reachable []bool
	// repeated marks Shoots that stand in the list a second time.
	repeated []bool
	// sharers names the Shoots that have an ambiguous runtime ID.
	sharers map[string][]string
}

const noSlot = -1

// shootKey identifies a Shoot among those with one runtime ID.
type shootKey struct {
	slot            int32
	namespace, name string
}

// index joins the two lists.
func index(shoots []shootFacts, runtimes []runtime.RuntimeDTO) *fleetIndex {
	fleet := &fleetIndex{
		shoots:    shoots,
		runtimes:  runtimes,
		slot:      make([]int32, len(shoots)),
		ambiguous: make([]bool, len(runtimes), len(runtimes)+16),
		reachable: make([]bool, len(runtimes)),
		repeated:  make([]bool, len(shoots)),
	}
	// Runtimes lie behind each other in memory and are large, so they are judged in their own order and not in that of the Shoots.
	inParallel(len(runtimes), stepsPerShoot, func(begin, end int) {
		for i := begin; i < end; i++ {
			reason, _ := unreachable(&runtimes[i])
			fleet.reachable[i] = reason == ""
		}
	})
	slots := make(map[string]int32, len(runtimes))
	for i := range runtimes {
		id := runtimes[i].RuntimeID
		if id == "" {
			continue
		}
		earlier, ok := slots[id]
		if ok && runtimes[earlier].InstanceID != runtimes[i].InstanceID {
			fleet.ambiguous[earlier] = true
			continue
		}
		// The same instance twice is one whose page moved while it was read; the later answer is the fresher one.
		slots[id] = int32(i)
		if ok {
			fleet.ambiguous[i] = fleet.ambiguous[earlier]
		}
	}
	inParallel(len(shoots), stepsPerShoot, func(begin, end int) {
		for i := begin; i < end; i++ {
			slot, ok := slots[shoots[i].runtimeID]
			if !ok {
				slot = noSlot
			}
			fleet.slot[i] = slot
		}
	})
	fleet.findRepeats(slots)
	return fleet
}

// findRepeats gives Shoots that the lister does not know their slots and finds Shoots that share one.
func (f *fleetIndex) findRepeats(slots map[string]int32) {
	owner := make([]int32, len(f.runtimes), len(f.runtimes)+16)
	for i := range owner {
		owner[i] = noSlot
	}
	shared := map[shootKey]bool{}
	for i := range f.shoots {
		shoot := &f.shoots[i]
		if shoot.runtimeID == "" {
			continue
		}
		slot := f.slot[i]
		if slot == noSlot {
			known, ok := slots[shoot.runtimeID]
			if !ok {
				known = int32(len(f.ambiguous))
				slots[shoot.runtimeID] = known
				f.ambiguous = append(f.ambiguous, false)
				owner = append(owner, noSlot)
			}
			slot = known
			f.slot[i] = slot
		}
		other := owner[slot]
		if other == noSlot {
			owner[slot] = int32(i)
			continue
		}
		key := shootKey{slot, shoot.namespace, shoot.name}
		if shared[key] || f.shoots[other].name == shoot.name && f.shoots[other].namespace == shoot.namespace {
			f.repeated[i] = true
			continue
		}
		shared[key] = true
		f.ambiguous[slot] = true
	}
	if slices.Contains(f.ambiguous, true) {
		f.findSharers()
	}
}

// runtimeOf returns the runtime of a Shoot, nil when the lister does not know it.
func (f *fleetIndex) runtimeOf(shoot int) *runtime.RuntimeDTO {
	slot := f.slot[shoot]
	if slot < 0 || int(slot) >= len(f.runtimes) {
		return nil
	}
	return &f.runtimes[slot]
}

// maxNamesakes is how many Shoots the description of an ambiguous runtime ID names.
const maxNamesakes = 5

// namesakes says who else has the runtime ID of a Shoot.
func (f *fleetIndex) namesakes(shoot int) string {
	var others []string
	for _, name := range f.sharers[f.shoots[shoot].runtimeID] {
		if name != f.shoots[shoot].name {
			others = append(others, name)
		}
	}
	switch {
	case len(others) == 0:
		return "more than one instance has the runtime ID"
	case len(others) > maxNamesakes:
		return "other Shoots have the runtime ID too: " + strings.Join(others[:maxNamesakes], ", ") + " and others"
	case len(others) == 1:
		return "another Shoot has the runtime ID too: " + others[0]
	}
	return "other Shoots have the runtime ID too: " + strings.Join(others, ", ")
}

// findSharers notes, for each ambiguous runtime ID, the first Shoots that have it.
func (f *fleetIndex) findSharers() {
	f.sharers = map[string][]string{}
	for i := range f.shoots {
		if slot := f.slot[i]; slot != noSlot && f.ambiguous[slot] && !f.repeated[i] {
			id := f.shoots[i].runtimeID
			if len(f.sharers[id]) < maxNamesakes+2 {
				f.sharers[id] = append(f.sharers[id], f.shoots[i].name)
			}
		}
	}
}
