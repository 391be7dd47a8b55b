package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxReasons is how many different reasons a summary names.
const maxReasons = 6

func sumUp(counts map[string]int, reasons []string) string {
	slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	parts := make([]string, 0, maxReasons+1)
	for i, reason := range reasons {
		if i == maxReasons {
			rest := 0
			for _, r := range reasons[i:] {
				rest += counts[r]
			}
			parts = append(parts, fmt.Sprintf("%d for other reasons", rest))
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s", counts[reason], strings.ReplaceAll(Line(reason), "_", " ")))
	}
	return strings.Join(parts, ", ")
}
