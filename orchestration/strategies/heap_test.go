package strategies

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever is pushed, popped and ordered: what comes out is the earliest that is in, and of the same time the first of the list.
func TestTimeHeap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var heap timeHeap
		for i, at := range rapid.SliceOfN(rapid.Int64Range(0, 20), 0, 60).Draw(t, "appended") {
			heap = append(heap, timed{at: at, op: int32(i)})
		}
		heap.order()
		sorted := slices.Clone(heap)
		for i, at := range rapid.SliceOfN(rapid.Int64Range(-1, 20), 0, 60).Draw(t, "pushed") {
			if at >= 0 {
				heap.push(timed{at: at, op: int32(100 + i)})
				sorted = append(sorted, timed{at: at, op: int32(100 + i)})
				continue
			}
			slices.SortFunc(sorted, func(a, b timed) int {
				if a.before(b) {
					return -1
				}
				return 1
			})
			require.Len(t, heap, len(sorted))
			if len(sorted) > 0 {
				require.Equal(t, sorted[0], heap.pop())
				sorted = sorted[1:]
			}
		}
	})
}
