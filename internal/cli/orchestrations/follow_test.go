package orchestrations

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/orchestration"
)

// growing is a history that grows while it is followed.
type growing struct {
	events []orchestration.Event
	// before runs ahead of every request.
	before func()
}

func (g *growing) add(n int) {
	for range n {
		g.events = slices.Insert(g.events, 0, orchestration.Event{ID: strconv.Itoa(len(g.events) + 1)})
	}
}

func (g *growing) list(page, size int) (orchestration.EventList, error) {
	if g.before != nil {
		g.before()
	}
	begin := min((page-1)*size, len(g.events))
	return orchestration.EventList{Data: slices.Clone(g.events[begin:min(begin+size, len(g.events))])}, nil
}

func ids(events []orchestration.Event) []int {
	numbers := []int{}
	for _, e := range events {
		n, _ := strconv.Atoi(e.ID)
		numbers = append(numbers, n)
	}
	return numbers
}

// upTo are the numbers from one to another.
func upTo(from, to int) []int {
	numbers := []int{}
	for n := from; n <= to; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

func TestFollowingBeginsWithTheNewestAndGoesOn(t *testing.T) {
	t.Parallel()
	g := &growing{}
	f := follower{list: g.list}
	g.add(2*followPage + 1)
	for _, step := range []struct{ grows, from int }{
		{0, 2*followPage + 2 - followFirst}, {0, 2*followPage + 2}, {1, 2*followPage + 2}, {3 * followPage, 2*followPage + 3}, {0, 5*followPage + 3},
	} {
		g.add(step.grows)
		events, err := f.fresh()
		require.NoError(t, err)
		require.Equal(t, upTo(step.from, len(g.events)), ids(events))
	}
}

func TestFollowingAHistoryThatIsEmptyAtFirst(t *testing.T) {
	t.Parallel()
	g := &growing{}
	f := follower{list: g.list}
	for _, grows := range []int{0, 0, followPage + 7, 0} {
		before := len(g.events)
		g.add(grows)
		events, err := f.fresh()
		require.NoError(t, err)
		require.Equal(t, upTo(before+1, len(g.events)), ids(events))
	}
}

// An answer that is lost loses no event.
func TestFollowingGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	g := &growing{}
	broken := errors.New("broken")
	fail := false
	f := follower{list: func(page, size int) (orchestration.EventList, error) {
		if fail && page == 2 {
			return orchestration.EventList{}, broken
		}
		return g.list(page, size)
	}}
	g.add(5)
	_, err := f.fresh()
	require.NoError(t, err)
	g.add(followPage + 20)
	fail = true
	_, err = f.fresh()
	require.ErrorIs(t, err, broken)
	fail = false
	events, err := f.fresh()
	require.NoError(t, err)
	require.Equal(t, upTo(6, followPage+25), ids(events))
}

// However the history grows, also between two pages: every event after the first ones is shown once, and in the end none is missing.
func TestPropertyFollowingShowsEachEventOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := &growing{}
		g.add(rapid.IntRange(0, 15).Draw(t, "before"))
		f := follower{list: g.list}
		events, err := f.fresh()
		require.NoError(t, err)
		shown := ids(events)
		first := max(1, len(g.events)-followFirst+1)
		for range rapid.IntRange(0, 6).Draw(t, "questions") {
			left := 3
			g.before = func() {
				if left--; left >= 0 {
					g.add(rapid.IntRange(0, 2*followPage).Draw(t, "grows"))
				}
			}
			events, err := f.fresh()
			require.NoError(t, err)
			require.True(t, slices.IsSorted(ids(events)))
			shown = append(shown, ids(events)...)
		}
		g.before = nil
		events, err = f.fresh()
		require.NoError(t, err)
		shown = append(shown, ids(events)...)
		slices.Sort(shown)
		require.Equal(t, upTo(first, len(g.events)), shown)
	})
}
