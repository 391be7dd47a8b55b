package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// keySet verifies the signature of one token. The verifier of go-oidc keeps only the text of an error, so the error itself stays here.
type keySet struct {
	provider *provider
	accepted []jose.SignatureAlgorithm
	err      error
}

// types are what the header of a token may say that it is. The tokens by which a provider tells of a logout are signed with the same keys and
// are nobody's credentials.
var types = map[string]bool{"": true, "JWT": true, "jwt": true, "at+jwt": true, "application/at+jwt": true}

// VerifySignature implements oidc.KeySet.
func (s *keySet) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	payload, err := s.verify(ctx, raw)
	s.err = err
	return payload, err
}

func (s *keySet) verify(ctx context.Context, raw string) ([]byte, error) {
	token, err := jose.ParseSignedCompact(raw, s.accepted)
	if err != nil {
		return nil, &InvalidTokenError{Reason: "the token is not a JSON Web Token", Err: err}
	}
	header := token.Signatures[0].Header
	if kind, ok := header.ExtraHeaders["typ"]; ok {
		if name, ok := kind.(string); !ok || !types[name] {
			return nil, &InvalidTokenError{Reason: "the token is not an ID token", Err: fmt.Errorf("its type is %q", kind)}
		}
	}
	wrong := &InvalidTokenError{Reason: "the signature of the token is wrong"}
	payload, found := check(token, s.provider.known(), header)
	if payload != nil {
		return payload, nil
	}
	if found && header.KeyID != "" {
		return nil, wrong
	}
	// The provider may have taken new keys into use.
	keys, err := s.provider.fresh(ctx)
	if errors.Is(err, errNotAgain) {
		return nil, &InvalidTokenError{Reason: "the key of the token is not known", Err: err}
	}
	if err != nil {
		return nil, &UnavailableError{Issuer: s.provider.issuer, Err: err}
	}
	payload, found = check(token, keys, header)
	switch {
	case payload != nil:
		return payload, nil
	case found:
		return nil, wrong
	default:
		return nil, &InvalidTokenError{Reason: "the key of the token is not known"}
	}
}

// check returns what was signed when one of the keys verifies it, and whether any key was the one that the header names.
func check(token *jose.JSONWebSignature, keys []jose.JSONWebKey, header jose.Header) (payload []byte, found bool) {
	for i := range keys {
		key := &keys[i]
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		found = true
		if payload, err := token.Verify(key); err == nil {
			return payload, true
		}
	}
	return nil, found
}
