package fleetgen

import (
	"fmt"
	"math/rand/v2"
)

// nameSet holds the names that are taken.
type nameSet map[string]bool

// next draws a Shoot name of the form c-1a2b3c4 that is not taken yet.
func (s nameSet) next(draw *rand.Rand) string {
	for {
		name := fmt.Sprintf("c-%07x", draw.Uint32N(1<<28))
		if !s[name] {
			s[name] = true
			return name
		}
	}
}

// newUUID draws a version 4 UUID.
func newUUID(draw *rand.Rand) string {
	high, low := draw.Uint64(), draw.Uint64()
	high = high&^0xf000 | 0x4000
	low = low&^(3<<62) | 1<<63
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&0xffffffffffff)
}

// accounts are the names that customers are invented from.
var accounts = []string{
	"aurora", "birch", "cobalt", "delta", "ember", "fjord", "granite", "harbor", "indigo", "juniper", "krill", "lagoon",
	"maple", "nimbus", "onyx", "pine", "quartz", "reef", "summit", "tundra", "umber", "vale", "willow", "xenon", "yarrow", "zephyr",
}

// account draws a global account and one of its up to four sub-accounts. A few
// accounts own many runtimes and most own few, as in a real fleet.
func account(draw *rand.Rand) (global, sub string) {
	index := min(draw.IntN(len(accounts)), draw.IntN(len(accounts)))
	name := accounts[index]
	return "ga-" + name, fmt.Sprintf("sa-%s-%d", name, 1+draw.IntN(4))
}
