// Package issuer is an OpenID Connect provider for tests: it publishes its keys and signs tokens, and can be away, hang, rotate its keys and lie.
package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// Audience is the audience of tokens when a test does not say.
const Audience = "swell"

// Issuer is one provider. It is safe for concurrent use.
type Issuer struct {
	// URL is its address, and the claim "iss" of its tokens.
	URL string

	t     testing.TB
	clock func() time.Time

	mu       sync.Mutex
	keys     []key
	fault    Fault
	requests map[string]int
}

// Fault answers a request in place of the provider, and returns true when it did.
type Fault func(w http.ResponseWriter, r *http.Request) bool

type key struct {
	id        string
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
}

// New makes a provider that answers through Client only, without a network. The clock decides when its tokens expire.
func New(t testing.TB, address string, clock func() time.Time) *Issuer {
	t.Helper()
	i := &Issuer{URL: address, t: t, clock: clock, requests: map[string]int{}}
	i.Rotate()
	return i
}

// Start makes a provider that listens on the loopback interface, without TLS, until the test ends.
func Start(t testing.TB, clock func() time.Time) *Issuer {
	t.Helper()
	i := New(t, "", clock)
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// StartTLS makes a provider that listens on the loopback interface with TLS, until the test ends. The client trusts its certificate.
func StartTLS(t testing.TB, clock func() time.Time) (*Issuer, *http.Client) {
	t.Helper()
	i := New(t, "", clock)
	server := httptest.NewUnstartedServer(i)
	// A client that does not trust the certificate is what some tests are about.
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i, server.Client()
}

// Client returns a client that reaches the given providers and nothing else, without a network.
func Client(issuers ...*Issuer) *http.Client { return &http.Client{Transport: transport(issuers)} }

type transport []*Issuer

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, i := range t {
		if strings.HasPrefix(r.URL.String(), i.URL+"/") {
			w := httptest.NewRecorder()
			i.ServeHTTP(w, r)
			return w.Result(), r.Context().Err()
		}
	}
	return nil, fmt.Errorf("dial %s: connection refused", r.URL.Host)
}

// SetFault makes a fault answer from now on; nil ends it.
func (i *Issuer) SetFault(fault Fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fault = fault
}

// Away is the fault of a provider that is down.
func Away(w http.ResponseWriter, _ *http.Request) bool {
	http.Error(w, "away", http.StatusServiceUnavailable)
	return true
}

// Hang is the fault of a provider that takes requests and never answers.
func Hang(_ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}

// Requests returns how often a path was asked for: "/keys" or "/.well-known/openid-configuration".
func (i *Issuer) Requests(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests[path]
}

// Rotate takes a new key with an ID of its own into use, for ES256, and withdraws the others.
func (i *Issuer) Rotate() {
	i.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(i.t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	number := 1
	if len(i.keys) > 0 {
		_, err := fmt.Sscanf(i.keys[0].id, "key-%d", &number)
		require.NoError(i.t, err)
		number++
	}
	i.keys = []key{{id: fmt.Sprintf("key-%d", number), algorithm: jose.ES256, private: private}}
}

// rsaKey is shared, because making one takes long.
var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// AddRSA publishes an RSA key beside the others and returns it.
func (i *Issuer) AddRSA(id string) *rsa.PrivateKey {
	i.t.Helper()
	private, err := rsaKey()
	require.NoError(i.t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append(i.keys, key{id: id, algorithm: "", private: private})
	return private
}

// Published returns the set of keys as it is published.
func (i *Issuer) Published() jose.JSONWebKeySet {
	i.mu.Lock()
	defer i.mu.Unlock()
	var set jose.JSONWebKeySet
	for _, k := range i.keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{KeyID: k.id, Key: k.private.Public(), Algorithm: string(k.algorithm), Use: "sig"})
	}
	return set
}

// ServeHTTP publishes the address of the keys, and the keys.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The address of a provider may have a path of its own.
	path := r.URL.Path
	if u, err := url.Parse(i.URL); err == nil {
		path = strings.TrimPrefix(path, u.Path)
	}
	i.mu.Lock()
	i.requests[path]++
	fault := i.fault
	i.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	var answer any
	switch path {
	case "/.well-known/openid-configuration":
		answer = map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"}}
	case "/keys":
		answer = i.Published()
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		i.t.Error(err)
	}
}

// Claims are the claims of a token. A nil value leaves a claim out.
type Claims map[string]any

// Claims returns the claims of a good token for an hour, changed as the test wants it.
func (i *Issuer) Claims(change Claims) Claims {
	now := i.clock()
	all := Claims{
		"iss": i.URL, "sub": "user-1", "aud": Audience, "exp": now.Add(time.Hour).Unix(), "iat": now.Unix(),
	}
	maps.Copy(all, change)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

// Token signs a good token for an hour, changed as the test wants it.
func (i *Issuer) Token(change Claims) string {
	payload, err := json.Marshal(i.Claims(change))
	if err != nil {
		i.t.Fatal(err)
	}
	return i.Sign(payload, nil)
}

// Sign signs any payload with the newest key, with more headers than it has by itself.
func (i *Issuer) Sign(payload []byte, headers map[string]any) string {
	i.mu.Lock()
	k := i.keys[0]
	i.mu.Unlock()
	// require would call Helper, which is forbidden where a fuzz target runs.
	text, err := sign(payload, jose.SigningKey{Algorithm: k.algorithm, Key: jose.JSONWebKey{Key: k.private, KeyID: k.id}}, headers)
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// Sign signs any payload with any key.
func Sign(t testing.TB, payload []byte, by jose.SigningKey, headers map[string]any) string {
	t.Helper()
	text, err := sign(payload, by, headers)
	require.NoError(t, err)
	return text
}

func sign(payload []byte, by jose.SigningKey, headers map[string]any) (string, error) {
	options := (&jose.SignerOptions{}).WithType("JWT")
	for name, value := range headers {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(by, options)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
