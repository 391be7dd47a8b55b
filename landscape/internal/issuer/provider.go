package issuer

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// Quiet silences the process-wide logger, to which the library writes whatever it
// refuses. Call it first thing in main.
func Quiet() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

// provider speaks the protocol. What changes while it runs, it asks the issuer.
type provider struct {
	*op.Provider

	issuer *Issuer
}

func newProvider(i *Issuer) (*provider, error) {
	config := &op.Config{
		CodeMethodS256: true, AuthMethodPost: true, GrantTypeRefreshToken: true, DefaultLogoutRedirectURI: i.url + endedPath,
	}
	_, _ = rand.Read(config.CryptoKey[:]) // It never fails.
	algorithms := []string{string(jose.ES256), string(jose.RS256)}
	protocol, err := op.NewProvider(config, storage{i}, op.StaticIssuer(i.url),
		op.WithAllowInsecure(), op.WithCORSOptions(nil),
		op.WithAccessTokenVerifierOpts(op.WithSupportedAccessTokenSigningAlgorithms(algorithms...)),
		op.WithIDTokenHintVerifierOpts(op.WithSupportedIDTokenHintSigningAlgorithms(algorithms...)))
	if err != nil {
		return nil, fmt.Errorf("make provider: %w", err)
	}
	return &provider{Provider: protocol, issuer: i}, nil
}

// GrantTypeJWTAuthorizationSupported says that no client has a key.
func (p *provider) GrantTypeJWTAuthorizationSupported() bool { return false }

// DeviceAuthorization says what devices are told.
func (p *provider) DeviceAuthorization() op.DeviceAuthorizationConfig {
	settings := p.issuer.Settings()
	seconds := func(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }
	return op.DeviceAuthorizationConfig{
		Lifetime: seconds(time.Duration(settings.DeviceCode)), PollInterval: seconds(time.Duration(settings.Interval)),
		UserFormPath: devicePath, UserCode: op.UserCodeBase20,
	}
}

// routes returns the handler of everything below the issuer's address.
func (p *provider) routes() http.Handler {
	mux := http.NewServeMux()
	protocol := op.CreateRouter(p)
	mux.Handle("/", protocol)
	mux.HandleFunc("GET "+oidc.DiscoveryEndpoint, p.discover)
	mux.HandleFunc("POST "+p.TokenEndpoint().Relative(), func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("grant_type") == string(oidc.GrantTypeDeviceCode) {
			if err := p.issuer.poll(r.PostFormValue("device_code")); err != nil {
				op.RequestError(w, r, err, nil)
				return
			}
		}
		protocol.ServeHTTP(w, r)
	})
	p.pages(mux)
	return mux
}

// discover describes the issuer, and no more than it does.
func (p *provider) discover(w http.ResponseWriter, r *http.Request) {
	document := op.CreateDiscoveryConfig(op.ContextWithIssuer(r.Context(), p.issuer.url), p, storage{p.issuer})
	document.ScopesSupported = scopes
	document.ResponseTypesSupported = []string{string(oidc.ResponseTypeCode)}
	document.GrantTypesSupported = []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeClientCredentials, oidc.GrantTypeDeviceCode}
	document.ClaimsSupported = []string{
		"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "amr", "azp", "at_hash", "name", "preferred_username", "email", "email_verified", "groups",
	}
	op.Discover(w, document)
}
