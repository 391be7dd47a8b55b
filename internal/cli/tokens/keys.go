package tokens

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/swell-fleet/swell/internal/auth"
	"github.com/swell-fleet/swell/internal/cli/home"
)

// keys are the keys of a provider that were read last.
type keys struct {
	mu   sync.Mutex
	last auth.Keys
}

func (k *keys) known() auth.Keys {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

func (k *keys) learn(fresh auth.Keys) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = fresh
}

// verify returns an ID token that the provider signed for a login. Its error is a *ProviderError, which is Away when the keys could not be had: the same
// token may be good later.
func (p *Provider) verify(ctx context.Context, login home.Login, raw string) (*oidc.IDToken, error) {
	set := &keySet{provider: p}
	token, err := oidc.NewVerifier(p.issuer, set, &oidc.Config{
		ClientID: login.ClientID,
		// Where the provider names none, go-oidc takes the one that every provider has to know.
		SupportedSigningAlgs: slices.DeleteFunc(slices.Clone(p.document.Algorithms), func(name string) bool { return !auth.Asymmetric(name) }),
		// The clock of this machine may be wrong; whether a token is in force is for the server to say.
		SkipExpiryCheck: true,
	}).Verify(ctx, raw)
	switch {
	case set.away != nil:
		return nil, &ProviderError{Away: true, Err: set.away, text: shorten(set.away.Error())}
	case err != nil:
		return nil, &ProviderError{Err: err, text: shorten(err.Error())}
	}
	return token, nil
}

// keySet verifies the signature of one token. The verifier of go-oidc keeps only the text of an error, so why the keys could not be had stays here.
type keySet struct {
	provider *Provider
	away     error
}

// VerifySignature implements oidc.KeySet. When the keys that are known do not verify a token, the provider may have taken new ones into use.
func (s *keySet) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	if payload, err := s.provider.keys.known().VerifySignature(ctx, raw); err == nil {
		return payload, nil
	}
	fresh, err := auth.ReadKeys(ctx, s.provider.client, s.provider.document.KeysURL)
	if err != nil {
		s.away = fmt.Errorf("the keys of the provider cannot be had: %w", err)
		return nil, s.away
	}
	s.provider.keys.learn(fresh)
	return fresh.VerifySignature(ctx, raw)
}
