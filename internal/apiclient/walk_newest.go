package apiclient

import "context"

// WalkNewestFirst is Walk for a list to which rows are added at its begin only, such as a history.
//
// What is added pushes the others back, where they are met again, so a list that grows all the time costs no second look. Only what goes
// away brings rows forward, past the reader, and by no more than the total falls: then the pages from there on are read again. Hence,
// while the totals are right, a row that is in the list all the time is in the result, however many others come and go. The rows are in the
// order in which they were met.
func WalkNewestFirst[T any](ctx context.Context, id func(row *T) string, fetch func(ctx context.Context, number int) (Page[T], error)) ([]T, error) {
	return newWalk(id, fetch).runNewestFirst(ctx)
}

func (w *walk[T]) runNewestFirst(ctx context.Context) ([]T, error) {
	// Every row that is to be found is taken already, or is at this place or a later one.
	begin := 0
	farthest, stale := 0, 0
	for number := 1; ; {
		lost := w.moves.lost
		length, fresh, err := w.read(ctx, number)
		if err != nil {
			return nil, err
		}
		if w.size == 0 {
			w.size = length
		}
		begin = max(0, begin-(w.moves.lost-lost))
		if next := w.pageOf(begin); next < number && w.mayGoBack(number, next) {
			number = next
			continue
		}
		switch {
		case length == 0:
			return w.rows, nil
		case fresh > 0:
			stale = 0
		case number > farthest:
			stale++
		}
		if stale >= maxStalePages {
			return nil, staleError(number)
		}
		farthest = max(farthest, number)
		begin = number * w.size
		number++
	}
}

// pageOf returns the number of the page that a place of the list is on.
func (w *walk[T]) pageOf(place int) int { return place/max(1, w.size) + 1 }

// mayGoBack says whether the pages from one to another may be read again, and counts them. Totals that are noise must not make the walk endless.
func (w *walk[T]) mayGoBack(from, to int) bool {
	w.again += from - to
	return w.again <= 3*from
}
