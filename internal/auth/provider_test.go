package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/auth"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
)

// timeless returns a provider, and a verifier of it that is not running yet, for a test in which time passes only while everyone waits.
func timeless(t *testing.T) (*issuer.Issuer, *auth.Verifier, *logBuffer) {
	t.Helper()
	i := issuer.New(t, "https://login.example", time.Now)
	log := &logBuffer{}
	o := options(i)
	o.Clock, o.Logger = time.Now, slog.New(slog.NewTextHandler(log, nil))
	v, err := auth.NewVerifier(o)
	require.NoError(t, err)
	return i, v, log
}

func TestAProviderIsReachedOverTLS(t *testing.T) {
	t.Parallel()
	i, client := issuer.StartTLS(t, clock)
	o := options(i)
	o.Client = client
	v := start(t, o)
	require.Equal(t, "user-1", valid(t, v, i.Token(nil)).User)

	o.Client = &http.Client{Timeout: 10 * time.Second}
	unavailable(t, start(t, o), i.Token(nil))
}

func TestAProviderThatIsDownAtTheStartIsFoundLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, v, log := timeless(t)
		i.SetFault(issuer.Away)
		run(t, v)
		for range 100 {
			unavailable(t, v, i.Token(nil))
			time.Sleep(time.Second)
		}
		asked := i.Requests("/.well-known/openid-configuration")
		require.Greater(t, asked, 8)
		require.Less(t, asked, 20, "it is asked less and less often")
		err := v.Healthy(t.Context())
		require.ErrorIs(t, err, fleet.ErrUnavailable)
		require.ErrorContains(t, err, i.URL)
		require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())

		i.SetFault(nil)
		time.Sleep(11 * time.Second)
		valid(t, v, i.Token(nil))
		require.NoError(t, v.Healthy(t.Context()))
		require.Contains(t, log.String(), "identity provider answers")
	})
}

func TestAProviderThatGoesAwayLaterLeavesItsKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, v, _ := timeless(t)
		run(t, v)
		valid(t, v, i.Token(nil))
		i.SetFault(issuer.Away)
		time.Sleep(time.Hour)
		valid(t, v, i.Token(nil))
		require.Error(t, v.Healthy(t.Context()))
		i.Rotate()
		unavailable(t, v, i.Token(nil))
		i.SetFault(nil)
		time.Sleep(11 * time.Second)
		valid(t, v, i.Token(nil))
	})
}

func TestNewKeysAreFoundWithTheFirstToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, v, _ := timeless(t)
		run(t, v)
		old := i.Token(nil)
		valid(t, v, old)
		i.Rotate()
		begin := time.Now()
		valid(t, v, i.Token(nil))
		require.Zero(t, time.Since(begin))
		invalid(t, v, old, "the key of the token is not known")
	})
}

func TestAKeyThatIsWithdrawnIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, v, _ := timeless(t)
		run(t, v)
		old := i.Token(nil)
		valid(t, v, old)
		i.Rotate()
		time.Sleep(auth.DefaultRefresh + time.Second)
		invalid(t, v, old, "the key of the token is not known")
	})
}

// Requests wait for a provider that hangs, but for two seconds only, and only those that come first.
func TestAProviderThatHangsHoldsNobodyUpForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, v, _ := timeless(t)
		i.SetFault(issuer.Hang)
		run(t, v)
		begin := time.Now()
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() { unavailable(t, v, i.Token(nil)) })
		}
		wait.Wait()
		require.Equal(t, 2*time.Second, time.Since(begin))
		for range 100 {
			unavailable(t, v, i.Token(nil))
		}
		require.Equal(t, 2*time.Second, time.Since(begin), "those that come later do not wait")
		require.Equal(t, 1, i.Requests("/.well-known/openid-configuration"))

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := v.Verify(ctx, i.Token(nil))
		require.Error(t, err)
	})
}

func TestAVerifierThatDoesNotRunDoesNotHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, v, _ := timeless(t)
		begin := time.Now()
		unavailable(t, v, i.Token(nil))
		require.Equal(t, 2*time.Second, time.Since(begin))
		require.Error(t, v.Healthy(t.Context()))
	})
}

// Whoever sends tokens with keys that nobody knows makes the provider be asked a few times and then once in a while.
func TestAFloodOfUnknownKeysDoesNotReachTheProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, v, _ := timeless(t)
		run(t, v)
		valid(t, v, i.Token(nil))
		payload, err := json.Marshal(i.Claims(nil))
		require.NoError(t, err)
		flood := func(name string) {
			var wait sync.WaitGroup
			for n := range 200 {
				forger := issuer.New(t, i.URL, time.Now)
				key := jose.JSONWebKey{Key: forger.AddRSA("x"), KeyID: fmt.Sprintf("%s-%d", name, n)}
				forged := issuer.Sign(t, payload, jose.SigningKey{Algorithm: jose.RS256, Key: key}, nil)
				wait.Go(func() { invalid(t, v, forged, "the key of the token is not known") })
			}
			wait.Wait()
		}
		flood("first")
		require.LessOrEqual(t, i.Requests("/keys"), 1+5)
		for second := range 60 {
			time.Sleep(time.Second)
			if second%20 == 0 {
				flood(fmt.Sprint(second))
			}
		}
		require.LessOrEqual(t, i.Requests("/keys"), 1+5+7)
		valid(t, v, i.Token(nil))
	})
}

func TestWhatAProviderSaysIsNotTrustedBlindly(t *testing.T) {
	t.Parallel()
	text := func(path, answer string) issuer.Fault {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == path {
				fmt.Fprint(w, answer)
			}
			return r.URL.Path == path
		}
	}
	const discovery = "/.well-known/openid-configuration"
	for name, fault := range map[string]issuer.Fault{
		"another issuer":    text(discovery, `{"issuer":"https://evil.example","jwks_uri":"https://login.example/keys"}`),
		"keys without TLS":  text(discovery, `{"issuer":"https://login.example","jwks_uri":"http://login.example/keys"}`),
		"keys in a file":    text(discovery, `{"issuer":"https://login.example","jwks_uri":"file:///etc/passwd"}`),
		"no keys":           text("/keys", `{"keys":[]}`),
		"symmetric keys":    text("/keys", `{"keys":[{"kty":"oct","k":"AAAA","kid":"key-1"}]}`),
		"no JSON":           text("/keys", `<html>`),
		"no discovery":      text(discovery, ``),
		"endless discovery": text(discovery, strings.Repeat(" ", 2<<20)+`{}`),
		"endless keys":      text("/keys", strings.Repeat(" ", 2<<20)+`{"keys":[]}`),
		"a redirect without TLS": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://login.example/x", http.StatusFound)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := issuer.New(t, "https://login.example", clock)
			i.SetFault(fault)
			unavailable(t, start(t, options(i)), i.Token(nil))
		})
	}
}

func TestKeysOfOtherKindsArePassedOver(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	var keys []any
	for _, key := range i.Published().Keys {
		keys = append(keys, key)
	}
	keys = append([]any{
		map[string]string{"kty": "EC", "crv": "secp256k1", "alg": "ES256K", "x": "AA", "y": "AA", "kid": "a"}, map[string]string{"kty": "future", "kid": "b"},
		map[string]string{"kty": "OKP", "crv": "X448", "x": "AA", "kid": "c"}, 17, nil, "x",
	}, keys...)
	i.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/keys" {
			if err := json.NewEncoder(w).Encode(map[string]any{"keys": keys}); err != nil {
				t.Error(err)
			}
		}
		return r.URL.Path == "/keys"
	})
	valid(t, start(t, options(i)), i.Token(nil))
}
