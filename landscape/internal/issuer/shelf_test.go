package issuer

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShelfKeepsTheNewest(t *testing.T) {
	t.Parallel()
	s := newShelf[int](3)
	later := time.Now().Add(time.Hour)
	for n := range 5 {
		s.put(strconv.Itoa(n), n, later)
	}
	require.Len(t, s.items, 3)
	_, ok := s.get("1")
	require.False(t, ok)
	s.put("2", 20, later)
	require.Len(t, s.items, 3)
	value, ok := s.take("2")
	require.True(t, ok)
	require.Equal(t, 20, value)
	_, ok = s.take("2")
	require.False(t, ok)
	require.Equal(t, 1, s.drop(func(n int) bool { return n == 3 }))
	_, ok = s.find(func(n int) bool { return n == 4 })
	require.True(t, ok)
}

func TestShelfForgetsWhatHasExpired(t *testing.T) {
	t.Parallel()
	s := newShelf[int](3)
	s.put("old", 1, time.Now().Add(-time.Second))
	_, ok := s.get("old")
	require.False(t, ok)
	_, ok = s.find(func(int) bool { return true })
	require.False(t, ok)
	s.put("new", 2, time.Now().Add(time.Hour))
	require.Len(t, s.items, 1)
}
