// Package await waits in tests for what other processes bring about. Where a signal can be waited for, that is better.
package await

import (
	"context"
	"testing"
	"time"
)

const (
	// Limit is how long That waits. It is generous: a test that passes never waits for it, and machines may be busy.
	Limit = 2 * time.Minute
	// pauseFrom and pauseTo are the first and the longest wait between two looks. It grows, because looks of dozens of tests keep what they wait for busy.
	pauseFrom, pauseTo = 10 * time.Millisecond, 100 * time.Millisecond
)

// That looks again and again until check returns nil, and fails the test with check's last error when that does not happen within Limit.
func That(t testing.TB, what string, check func() error) {
	t.Helper()
	Within(t, Limit, what, check)
}

// Within is That with a limit of its own.
func Within(t testing.TB, limit time.Duration, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for pause := pauseFrom; ; pause = min(pause*5/4, pauseTo) {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not happen within %s: %v", what, limit, err)
		case <-time.After(pause):
		}
	}
}
