package fleetgen

import "math/rand/v2"

// weighted draws one of the items, each as often as its weight says.
func weighted[T any](draw *rand.Rand, items []T, weight func(T) int) T {
	total := 0
	for _, item := range items {
		total += weight(item)
	}
	ticket := draw.IntN(total)
	for _, item := range items {
		if ticket -= weight(item); ticket < 0 {
			return item
		}
	}
	panic("fleetgen: weights changed while drawing")
}

// chance is true for about percent of a hundred draws.
func chance(draw *rand.Rand, percent int) bool { return draw.IntN(100) < percent }

func pick[T any](draw *rand.Rand, items []T) T { return items[draw.IntN(len(items))] }
