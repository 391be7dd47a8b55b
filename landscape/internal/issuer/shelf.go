package issuer

import "time"

// shelf keeps values until they expire, and no more than a number of them: the
// oldest goes when there is no room. The issuer's lock guards it.
type shelf[V any] struct {
	room  int
	next  uint64
	items map[string]item[V]
}

type item[V any] struct {
	value   V
	expires time.Time
	number  uint64
}

func newShelf[V any](room int) *shelf[V] { return &shelf[V]{room: room, items: map[string]item[V]{}} }

// put adds a value, and drops what has expired.
func (s *shelf[V]) put(key string, value V, expires time.Time) {
	now := time.Now()
	oldest, number := "", s.next
	for k, i := range s.items {
		switch {
		case now.After(i.expires):
			delete(s.items, k)
		case i.number < number:
			oldest, number = k, i.number
		}
	}
	if _, replaces := s.items[key]; !replaces && len(s.items) >= s.room {
		delete(s.items, oldest)
	}
	s.items[key] = item[V]{value: value, expires: expires, number: s.next}
	s.next++
}

// get returns a value that has not expired.
func (s *shelf[V]) get(key string) (V, bool) {
	i, ok := s.items[key]
	if !ok || time.Now().After(i.expires) {
		var none V
		return none, false
	}
	return i.value, true
}

// take returns a value that has not expired, and removes it.
func (s *shelf[V]) take(key string) (V, bool) {
	value, ok := s.get(key)
	delete(s.items, key)
	return value, ok
}

// drop removes the values that a function chooses, and returns how many that were.
func (s *shelf[V]) drop(chosen func(V) bool) int {
	dropped := 0
	for key, i := range s.items {
		if chosen(i.value) {
			delete(s.items, key)
			dropped++
		}
	}
	return dropped
}

// find returns the first value that a function chooses and that has not expired.
func (s *shelf[V]) find(chosen func(V) bool) (V, bool) {
	now := time.Now()
	for _, i := range s.items {
		if !now.After(i.expires) && chosen(i.value) {
			return i.value, true
		}
	}
	var none V
	return none, false
}
