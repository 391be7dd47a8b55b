package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/go-jose/go-jose/v4"
)

// Keys are the public keys with which a provider's signatures are verified.
type Keys []jose.JSONWebKey

// errNoKeys is the error of a provider that answers with a set of keys, and none of them can be used.
var errNoKeys = errors.New("it has none that can be used")

// ReadKeys reads the keys that a provider publishes at an address, over https alone. Every error of it means that there are no keys at the moment;
// errNoKeys means that the provider has said so itself.
func ReadKeys(ctx context.Context, client *http.Client, address string) (Keys, error) {
	if u, err := url.Parse(address); err != nil || !Secure(u) {
		return nil, fmt.Errorf("the address of its keys %q is not an https address", address)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // all that matters has been read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read keys: it answers %s", response.Status)
	}
	return parseKeys(text)
}

// parseKeys reads a set of keys. What is no public key for signatures, or of a kind that is not known, is passed over. Without a list of keys it is no
// set.
func parseKeys(text []byte) (Keys, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	if set.Keys == nil {
		return nil, errors.New("read keys: the answer holds no list of keys")
	}
	var keys Keys
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) != nil || !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
			continue
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("read keys: %w", errNoKeys)
	}
	return keys, nil
}

// VerifySignature implements oidc.KeySet: it returns what was signed. Which algorithms are accepted is for the oidc.IDTokenVerifier to say, which has
// looked before it asks.
func (k Keys) VerifySignature(_ context.Context, raw string) ([]byte, error) {
	token, err := jose.ParseSignedCompact(raw, signatures(asymmetric))
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	payload, found := k.check(token)
	switch {
	case payload != nil:
		return payload, nil
	case found:
		return nil, errors.New("the signature is wrong")
	default:
		return nil, errors.New("the key is not known")
	}
}

// check returns what was signed when one of the keys verifies it, and whether any key was the one that the header names.
func (k Keys) check(token *jose.JSONWebSignature) (payload []byte, found bool) {
	header := token.Signatures[0].Header
	for i := range k {
		key := &k[i]
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
			return nil, &InvalidTokenError{Reason: notAnIDToken, Err: fmt.Errorf("its type is %q", kind)}
		}
	}
	wrong := &InvalidTokenError{Reason: "the signature of the token is wrong"}
	payload, found := s.provider.known().check(token)
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
	payload, found = keys.check(token)
	switch {
	case payload != nil:
		return payload, nil
	case found:
		return nil, wrong
	default:
		return nil, &InvalidTokenError{Reason: "the key of the token is not known"}
	}
}
