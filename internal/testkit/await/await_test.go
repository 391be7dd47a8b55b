package await_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
)

func TestThatLooksUntilItHolds(t *testing.T) {
	t.Parallel()
	looks := 0
	await.That(t, "the third look", func() error {
		looks++
		if looks < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	require.Equal(t, 3, looks)
}

// record is a test that only notes how it ended.
type record struct {
	testing.TB

	message string
}

func (r *record) Fatalf(format string, args ...any) {
	r.message = fmt.Sprintf(format, args...)
	panic(r)
}

func (*record) Helper() {}

func TestWithinFailsWithTheLastReason(t *testing.T) {
	t.Parallel()
	r := &record{TB: t}
	require.PanicsWithValue(t, r, func() {
		await.Within(r, time.Millisecond, "the end of the world", func() error { return errors.New("it goes on") })
	})
	require.Equal(t, "the end of the world did not happen within 1ms: it goes on", r.message)
}
