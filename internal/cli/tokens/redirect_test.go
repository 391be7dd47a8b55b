package tokens_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
)

// A refresh token is sent to the provider itself, and not again to where its answer points.
func TestARefreshTokenIsNotSentToWhereAnAnswerPoints(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		p := newProvider(t)
		var elsewhere atomic.Int32
		other := issuer.New(t, "https://evil.example", p.clock.Now)
		other.SetFault(func(http.ResponseWriter, *http.Request) bool {
			elsewhere.Add(1)
			return true
		})
		folder := home.At(t.TempDir())
		p.kept(t, folder)
		p.answers(func(w http.ResponseWriter) {
			w.Header().Set("Location", other.URL+"/token")
			w.WriteHeader(status)
		})
		p.clock.Set(2 * time.Hour)
		session := p.session(t, folder)
		session.Client = issuer.Client(p.Issuer, other)
		_, err := session.Token(t.Context())
		var away *tokens.ProviderError
		require.ErrorAs(t, err, &away)
		require.True(t, away.Away)
		require.ErrorContains(t, err, http.StatusText(status))
		require.Zero(t, elsewhere.Load())
	}
}
