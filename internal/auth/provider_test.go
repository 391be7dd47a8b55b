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
		i.SetFault(issuer.Away)
		time.Sleep(auth.DefaultRefresh + 10*time.Second)
		valid(t, v, old)
		i.SetFault(nil)
		time.Sleep(15*time.Minute - (auth.DefaultRefresh + 10*time.Second))
		invalid(t, v, old, "the key of the token is not known")
	})
}

// answering is the fault of a provider that answers one path with a text.
func answering(path, text string) issuer.Fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == path {
			fmt.Fprint(w, text)
		}
		return r.URL.Path == path
	}
}

// A provider that withdraws its only key publishes a set without any: it has answered, and what it answered holds.
func TestTheLastKeyThatIsWithdrawnIsForgotten(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"none": `{"keys":[]}`, "a secret": `{"keys":[{"kty":"oct","k":"AAAA","kid":"key-1"}]}`, "of a future kind": `{"keys":[{"kty":"future","kid":"key-1"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i, v, log := timeless(t)
				run(t, v)
				old := i.Token(issuer.Claims{"exp": time.Now().Add(24 * time.Hour).Unix()})
				valid(t, v, old)
				i.SetFault(answering("/keys", text))
				time.Sleep(auth.DefaultRefresh + time.Second)
				invalid(t, v, old, "the key of the token is not known")
				require.ErrorContains(t, v.Healthy(t.Context()), "no keys from "+i.URL)
				time.Sleep(time.Hour)
				invalid(t, v, old, "the key of the token is not known")
				require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), "it is told once: %s", log.String())
				i.SetFault(nil)
				time.Sleep(auth.DefaultRefresh + time.Second)
				valid(t, v, old)
				require.NoError(t, v.Healthy(t.Context()))
				require.Equal(t, 2, strings.Count(log.String(), "identity provider answers"), log.String())
			})
		})
	}
}

// What is no set of keys says nothing about them.
func TestAnAnswerThatIsNoSetOfKeysLeavesThem(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `null`, `{}`, `[]`, `17`, `{"keys":null}`, `{"keys":{}}`, `{"keys":[]`, `{"keys":[]} {}`, `<html>`} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i, v, log := timeless(t)
				run(t, v)
				valid(t, v, i.Token(nil))
				i.SetFault(answering("/keys", text))
				time.Sleep(auth.DefaultRefresh + time.Minute)
				valid(t, v, i.Token(nil))
				require.ErrorContains(t, v.Healthy(t.Context()), "no answer from "+i.URL)
				require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
			})
		})
	}
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
	const discovery = "/.well-known/openid-configuration"
	for name, fault := range map[string]issuer.Fault{
		"another issuer":    answering(discovery, `{"issuer":"https://evil.example","jwks_uri":"https://login.example/keys"}`),
		"keys without TLS":  answering(discovery, `{"issuer":"https://login.example","jwks_uri":"http://login.example/keys"}`),
		"keys in a file":    answering(discovery, `{"issuer":"https://login.example","jwks_uri":"file:///etc/passwd"}`),
		"no list of keys":   answering("/keys", `{"keys":null}`),
		"no JSON":           answering("/keys", `<html>`),
		"no discovery":      answering(discovery, ``),
		"endless discovery": answering(discovery, strings.Repeat(" ", 2<<20)+`{}`),
		"endless keys":      answering("/keys", strings.Repeat(" ", 2<<20)+`{"keys":[]}`),
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
