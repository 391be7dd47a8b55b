package strategies

// timed is an operation, by its index, and a point in time in nanoseconds.
type timed struct {
	at int64
	op int32
}

func (t timed) before(other timed) bool {
	return t.at < other.at || t.at == other.at && t.op < other.op
}

// timeHeap gives back operations by their time, those of the same time in the order of the list. (container/heap would allocate for
// each of them.)
type timeHeap []timed

func (h *timeHeap) push(t timed) {
	s := append(*h, t)
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !t.before(s[parent]) {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = t
	*h = s
}

func (h *timeHeap) pop() timed {
	s := *h
	top, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	if len(s) > 0 {
		s.sink(0, last)
	}
	*h = s
	return top
}

// order makes a heap of entries that were appended in any order.
func (h timeHeap) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i, h[i])
	}
}

// sink puts t into place i or, as long as something earlier is there, below it.
func (h timeHeap) sink(i int, t timed) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if right := child + 1; right < len(h) && h[right].before(h[child]) {
			child = right
		}
		if !h[child].before(t) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = t
}
