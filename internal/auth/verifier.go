package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Options configure a Verifier.
type Options struct {
	// Issuers are the addresses of the providers whose tokens are trusted, exactly as they stand in the claim "iss". At least one.
	Issuers []string
	// Audiences are the values of which a token has to name at least one in its claim "aud". At least one.
	Audiences []string
	// GroupsClaim is the claim that holds the groups; empty means "groups".
	GroupsClaim string
	Groups      Groups
	// Algorithms are the signature algorithms that are accepted; empty means RS256, ES256 and PS256. Symmetric ones and "none" are refused.
	Algorithms []string
	// Leeway is how far the clocks of the provider and of this machine may be apart; zero means 30 s.
	Leeway time.Duration
	// Client reaches the providers; nil takes one with a timeout of 10 s.
	Client *http.Client
	Logger *slog.Logger
	Clock  func() time.Time
}

// maxToken is the size of the largest token that is looked at, in bytes. Tokens of people in hundreds of groups stay far below it.
const maxToken = 32 << 10

// retryAfter is how long after a failed discovery the provider is asked again at the earliest.
const retryAfter = 5 * time.Second

// Verifier verifies ID tokens. It is safe for concurrent use.
type Verifier struct {
	o         Options
	providers map[string]*provider
}

// provider is one trusted issuer, found when it is needed first.
type provider struct {
	issuer string

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	failure  error
	tried    time.Time
}

// NewVerifier checks the options, all problems together. The providers need not be reachable yet.
func NewVerifier(o Options) (*Verifier, error) {
	var problems []error
	if len(o.Issuers) == 0 {
		problems = append(problems, errors.New("no issuer is trusted"))
	}
	if len(o.Audiences) == 0 {
		problems = append(problems, errors.New("no audience is accepted"))
	}
	for _, issuer := range o.Issuers {
		if u, err := url.Parse(issuer); err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || !secure(u) {
			problems = append(problems, fmt.Errorf("the issuer %q is not an https address (http is accepted for this machine only)", issuer))
		}
	}
	if slices.Contains(o.Audiences, "") {
		problems = append(problems, errors.New("an audience is empty"))
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = []string{oidc.RS256, oidc.ES256, oidc.PS256}
	}
	for _, algorithm := range o.Algorithms {
		if !slices.Contains(asymmetric, algorithm) {
			problems = append(problems, fmt.Errorf("the signature algorithm %q is not one of %s", algorithm, strings.Join(asymmetric, ", ")))
		}
	}
	if o.GroupsClaim == "" {
		o.GroupsClaim = "groups"
	}
	if o.Leeway == 0 {
		o.Leeway = 30 * time.Second
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 10 * time.Second}
	}
	if o.Logger == nil || o.Clock == nil {
		problems = append(problems, errors.New("the logger or the clock is missing"))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("set up authentication: %w", errors.Join(problems...))
	}
	v := &Verifier{o: o, providers: map[string]*provider{}}
	for _, issuer := range o.Issuers {
		v.providers[issuer] = &provider{issuer: issuer}
	}
	return v, nil
}

// asymmetric are the algorithms that a provider can sign with and nobody else.
var asymmetric = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// secure reports whether nobody on the way can answer instead of the provider.
func secure(u *url.URL) bool {
	host := u.Hostname()
	return u.Scheme == "https" || u.Scheme == "http" && (host == "localhost" || host == "127.0.0.1" || host == "::1")
}

// ErrInvalidToken is returned for tokens that do not verify. Its text may be shown to the caller.
type ErrInvalidToken struct {
	Reason string
	// Err is the cause, for the log.
	Err error
}

// Error returns the reason and the cause.
func (e *ErrInvalidToken) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ErrInvalidToken) Unwrap() error { return e.Err }

// ErrUnavailable is returned while the provider that could verify a token does not answer.
type ErrUnavailable struct {
	Issuer string
	Err    error
}

// Error names the provider.
func (e *ErrUnavailable) Error() string {
	return fmt.Sprintf("the identity provider %s does not answer: %v", e.Issuer, e.Err)
}

// Unwrap returns the cause.
func (e *ErrUnavailable) Unwrap() error { return e.Err }

// Verify returns whose token it is. Its errors are *ErrInvalidToken and *ErrUnavailable.
func (v *Verifier) Verify(ctx context.Context, raw string) (Identity, error) {
	if len(raw) > maxToken {
		return Identity{}, &ErrInvalidToken{Reason: "the token is too long"}
	}
	issuer, err := claimedIssuer(raw)
	if err != nil {
		return Identity{}, &ErrInvalidToken{Reason: "the token is not a JSON Web Token", Err: err}
	}
	p, ok := v.providers[issuer]
	if !ok {
		return Identity{}, &ErrInvalidToken{Reason: "the issuer of the token is not trusted"}
	}
	verifier, err := v.discover(ctx, p)
	if err != nil {
		return Identity{}, &ErrUnavailable{Issuer: p.issuer, Err: err}
	}
	token, err := verifier.Verify(oidc.ClientContext(ctx, v.o.Client), raw)
	if err != nil {
		return Identity{}, v.refusal(p, err)
	}
	return v.identify(token)
}

// refusal tells a token that is wrong from keys that cannot be had.
func (v *Verifier) refusal(p *provider, err error) error {
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return &ErrInvalidToken{Reason: "the token has expired", Err: err}
	case strings.Contains(err.Error(), "fetching keys"):
		return &ErrUnavailable{Issuer: p.issuer, Err: err}
	default:
		return &ErrInvalidToken{Reason: "the token does not verify", Err: err}
	}
}

// identify reads the claims of a verified token.
func (v *Verifier) identify(token *oidc.IDToken) (Identity, error) {
	if !slices.ContainsFunc(token.Audience, func(a string) bool { return slices.Contains(v.o.Audiences, a) }) {
		return Identity{}, &ErrInvalidToken{Reason: "the token is meant for another audience"}
	}
	var claims struct {
		NotBefore     *json.Number    `json:"nbf"`
		Email         json.RawMessage `json:"email"`
		EmailVerified json.RawMessage `json:"email_verified"`
	}
	if err := token.Claims(&claims); err != nil {
		return Identity{}, &ErrInvalidToken{Reason: "the claims of the token cannot be read", Err: err}
	}
	if claims.NotBefore != nil {
		seconds, err := claims.NotBefore.Float64()
		if err != nil || v.o.Clock().Add(v.o.Leeway).Before(time.Unix(int64(seconds), 0)) {
			return Identity{}, &ErrInvalidToken{Reason: "the token is not valid yet", Err: err}
		}
	}
	if token.Subject == "" {
		return Identity{}, &ErrInvalidToken{Reason: "the token names no subject"}
	}
	all := map[string]json.RawMessage{}
	if err := token.Claims(&all); err != nil {
		return Identity{}, &ErrInvalidToken{Reason: "the claims of the token cannot be read", Err: err}
	}
	return Identity{
		User:    userOf(token.Subject, claims.Email, claims.EmailVerified),
		Issuer:  token.Issuer,
		Subject: token.Subject,
		Roles:   v.o.Groups.roles(readGroups(all[v.o.GroupsClaim])),
	}, nil
}

// userOf returns the mail address when the provider has verified it. Names that people choose themselves are not used: they could choose
// somebody else's.
func userOf(subject string, email, verified json.RawMessage) string {
	var address string
	if json.Unmarshal(email, &address) != nil || address == "" {
		return subject
	}
	var flag bool
	var text string
	if json.Unmarshal(verified, &flag) == nil && flag || json.Unmarshal(verified, &text) == nil && text == "true" {
		return address
	}
	return subject
}

// discover returns the verifier of a provider, and asks the provider for its keys' address where that is not known yet. A provider that
// does not answer is not asked again for some seconds, so that requests do not pile up behind it.
func (v *Verifier) discover(ctx context.Context, p *provider) (*oidc.IDTokenVerifier, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.verifier != nil {
		return p.verifier, nil
	}
	now := v.o.Clock()
	if p.failure != nil && now.Sub(p.tried) < retryAfter && !now.Before(p.tried) {
		return nil, p.failure
	}
	// Keys are fetched with this context for as long as the process lives, so it must not be that of a request.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), v.o.Client), p.issuer)
	p.tried = v.o.Clock()
	if err != nil {
		if p.failure == nil {
			v.o.Logger.WarnContext(ctx, "identity provider does not answer", "issuer", p.issuer, "error", err)
		}
		p.failure = err
		return nil, err
	}
	p.failure = nil
	p.verifier = found.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), v.o.Client), &oidc.Config{
		// The audience is compared with a list, after the signature.
		SkipClientIDCheck:    true,
		SupportedSigningAlgs: v.o.Algorithms,
		Now:                  func() time.Time { return v.o.Clock().Add(-v.o.Leeway) },
	})
	return p.verifier, nil
}

// claimedIssuer reads who a token says to come from, before it is verified, to pick the provider that can verify it.
func claimedIssuer(raw string) (string, error) {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return "", errors.New("it does not have three parts")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", fmt.Errorf("decode the claims: %w", err)
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return "", fmt.Errorf("read the claims: %w", err)
	}
	return claims.Issuer, nil
}

// Healthy returns nil when every provider has been found.
func (v *Verifier) Healthy(ctx context.Context) error {
	var problems []error
	for _, issuer := range v.o.Issuers {
		if _, err := v.discover(ctx, v.providers[issuer]); err != nil {
			problems = append(problems, &ErrUnavailable{Issuer: issuer, Err: err})
		}
	}
	return errors.Join(problems...)
}

// Bearer returns the token of an Authorization header; false when there is none or it has another form.
func Bearer(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " ,") {
		return "", false
	}
	return token, true
}
