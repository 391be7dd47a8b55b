package server

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/app"
	"github.com/swell-fleet/swell/internal/config"
)

// quick are settings that make waiting short.
var quick = map[string]string{
	"listen": "127.0.0.1:0", "engine-sweep-interval": "100ms", "engine-poll-interval": "500ms", "gardener-qps": "2000", "gardener-burst": "2000",
	"log-level": "warn", "log-format": "json",
}

// Settings are settings of the server by flag name.
type Settings map[string]string

// over returns the settings on top of those that make waiting short.
func (s Settings) over() map[string]string {
	all := make(map[string]string, len(quick)+len(s))
	for key, value := range quick {
		all[key] = value
	}
	for key, value := range s {
		all[key] = value
	}
	return all
}

// Clock is a clock that can be set. It goes on from there.
type Clock struct {
	mu     sync.Mutex
	offset time.Duration
}

// NewClock returns a clock that shows a time.
func NewClock(now time.Time) *Clock {
	c := &Clock{}
	c.Set(now)
	return c
}

// Set sets the clock.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = time.Until(now)
}

// Now tells the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

// Local is a server inside the test program.
type Local struct {
	Clients

	stop func(ctx context.Context) error
	once sync.Once
}

// StartLocal starts a server in the test program, with a clock, or nil for the real one. The test stops it at its end.
func StartLocal(t testing.TB, clock *Clock, settings Settings) *Local {
	t.Helper()
	c, err := config.Load(config.Sources{Flags: settings.over()})
	require.NoError(t, err)
	var o app.Options
	if clock != nil {
		o.Clock = clock.Now
	}
	a, err := app.StartWith(t.Context(), c, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})), o)
	require.NoError(t, err)
	s := &Local{Clients: newClients(t, "http://"+a.Addr().String()+c.BasePath), stop: a.Stop}
	t.Cleanup(func() { s.Stop(t) })
	return s
}

// Stop stops the server in good order; doing it again does nothing.
func (s *Local) Stop(t testing.TB) {
	t.Helper()
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := s.stop(ctx); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	})
}
