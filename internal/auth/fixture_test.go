package auth_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/auth"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
)

// noon is the time of every test.
var noon = time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

var groups = auth.Groups{Admin: []string{"runtimeAdmin"}, Operator: []string{"runtimeOperator"}}

// logBuffer is a log that goroutines may write to.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// options trust one provider, without a network.
func options(i ...*issuer.Issuer) auth.Options {
	o := auth.Options{
		Audiences: []string{"swell-cli", issuer.Audience}, Groups: groups, Client: issuer.Client(i...),
		Logger: slog.New(slog.DiscardHandler), Clock: clock,
	}
	for _, one := range i {
		o.Issuers = append(o.Issuers, one.URL)
	}
	return o
}

// start makes a verifier and runs it until the test ends.
func start(t testing.TB, o auth.Options) *auth.Verifier {
	t.Helper()
	v, err := auth.NewVerifier(o)
	require.NoError(t, err)
	run(t, v)
	return v
}

func run(t testing.TB, v *auth.Verifier) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// invalid checks that a token is refused for a reason.
func invalid(t *testing.T, v *auth.Verifier, token, reason string) {
	t.Helper()
	who, err := v.Verify(t.Context(), token)
	var refused *auth.InvalidTokenError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, reason, refused.Reason, "%v", err)
	require.Equal(t, auth.Identity{}, who)
}

// unavailable checks that a token cannot be judged.
func unavailable(t *testing.T, v *auth.Verifier, token string) {
	t.Helper()
	who, err := v.Verify(t.Context(), token)
	var away *auth.UnavailableError
	require.ErrorAs(t, err, &away)
	require.Equal(t, auth.Identity{}, who)
}

func valid(t *testing.T, v *auth.Verifier, token string) auth.Identity {
	t.Helper()
	who, err := v.Verify(t.Context(), token)
	require.NoError(t, err)
	return who
}
