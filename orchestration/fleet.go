package orchestration

import (
	"strings"

	"github.com/swell-fleet/swell/runtime"
)

// fleetIndex joins Shoots and runtimes by runtime ID. Each distinct runtime ID has a slot; the slots of the runtimes that the lister
// knows come first, with the runtime's place in the lister's answer as their number.
type fleetIndex struct {
	shoots   []shootFacts
	runtimes []runtime.RuntimeDTO
	// slot holds the slot of each Shoot, -1 for a Shoot without a runtime ID.
	slot []int32
	// ambiguous marks the slots of runtime IDs that more than one Shoot carries or that the lister has for more than one instance.
	ambiguous []bool
	// repeated marks Shoots that stand in the list a second time.
	repeated []bool
	// sharers names who has an ambiguous runtime ID; nil until somebody asks.
	sharers map[string][]string
}

// index joins the two lists.
func index(shoots []shootFacts, runtimes []runtime.RuntimeDTO) *fleetIndex {
	fleet := &fleetIndex{
		shoots:    shoots,
		runtimes:  runtimes,
		slot:      make([]int32, len(shoots)),
		ambiguous: make([]bool, len(runtimes), len(runtimes)+16),
		repeated:  make([]bool, len(shoots)),
	}
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
	owner := make([]int32, len(runtimes), len(runtimes)+16)
	for i := range owner {
		owner[i] = -1
	}
	for i := range shoots {
		id := shoots[i].runtimeID
		if id == "" {
			fleet.slot[i] = -1
			continue
		}
		slot, ok := slots[id]
		if !ok {
			slot = int32(len(fleet.ambiguous))
			slots[id] = slot
			fleet.ambiguous = append(fleet.ambiguous, false)
			owner = append(owner, -1)
		}
		fleet.slot[i] = slot
		switch other := owner[slot]; {
		case other < 0:
			owner[slot] = int32(i)
		case shoots[other].name == shoots[i].name && shoots[other].namespace == shoots[i].namespace:
			fleet.repeated[i] = true
		default:
			fleet.ambiguous[slot] = true
		}
	}
	return fleet
}

// runtimeOf returns the runtime of a Shoot, nil when the lister does not know it.
func (f *fleetIndex) runtimeOf(shoot int) *runtime.RuntimeDTO {
	slot := f.slot[shoot]
	if slot < 0 || int(slot) >= len(f.runtimes) {
		return nil
	}
	return &f.runtimes[slot]
}

// maxNamesakes is how many Shoots and instances the description of an ambiguous runtime ID names.
const maxNamesakes = 5

// namesakes says who shares the runtime ID of a Shoot.
func (f *fleetIndex) namesakes(shoot int) string {
	if f.sharers == nil {
		f.findSharers()
	}
	own := "Shoot " + f.shoots[shoot].name
	var others []string
	for _, sharer := range f.sharers[f.shoots[shoot].runtimeID] {
		if sharer == own {
			continue
		}
		if len(others) == maxNamesakes {
			others = append(others, "others")
			break
		}
		others = append(others, sharer)
	}
	return strings.Join(others, ", ")
}

// findSharers notes, for each ambiguous runtime ID, some of the Shoots and all of the instances that have it.
func (f *fleetIndex) findSharers() {
	f.sharers = map[string][]string{}
	for i := range f.shoots {
		if slot := f.slot[i]; slot >= 0 && f.ambiguous[slot] && !f.repeated[i] {
			id := f.shoots[i].runtimeID
			if len(f.sharers[id]) < maxNamesakes+2 {
				f.sharers[id] = append(f.sharers[id], "Shoot "+f.shoots[i].name)
			}
		}
	}
}
