package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// DefaultAlgorithm is what tokens are signed with unless something else is asked
// for.
const DefaultAlgorithm = jose.ES256

// maxKeys bounds how many keys are published at once.
const maxKeys = 5

// signingKey is a private key with its ID. It implements op.SigningKey.
type signingKey struct {
	id        string
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
}

func newKey(algorithm jose.SignatureAlgorithm) (signingKey, error) {
	var (
		private crypto.Signer
		err     error
	)
	switch algorithm {
	case jose.ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.RS256:
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		return signingKey{}, fmt.Errorf("%w: algorithm %q: want %s or %s", ErrInvalid, algorithm, jose.ES256, jose.RS256)
	}
	if err != nil {
		return signingKey{}, fmt.Errorf("make key: %w", err)
	}
	return signingKey{id: rand.Text(), algorithm: algorithm, private: private}, nil
}

func (k signingKey) ID() string                                  { return k.id }
func (k signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return k.algorithm }
func (k signingKey) Key() any                                    { return k.private }

// publicKey is what is published of a key. It implements op.Key.
type publicKey struct{ signingKey }

func (k publicKey) Algorithm() jose.SignatureAlgorithm { return k.algorithm }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                           { return k.private.Public() }

// RotateKeys signs with a new key from now on and returns its ID. The keys before
// it are withdrawn at once, or stay published.
func (i *Issuer) RotateKeys(keep bool) (string, error) {
	i.mu.Lock()
	algorithm := i.keys[0].algorithm
	i.mu.Unlock()
	key, err := newKey(algorithm)
	if err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	kept := i.keys
	if !keep {
		kept = nil
	}
	i.keys = append([]signingKey{key}, kept[:min(len(kept), maxKeys-1)]...)
	return key.id, nil
}

// KeyID returns the ID of the key that signs.
func (i *Issuer) KeyID() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[0].id
}
