package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/swell-fleet/swell/internal/fleet"
)

// What Options take for fields that are not set.
const (
	// DefaultGroupsClaim is the claim that holds the groups.
	DefaultGroupsClaim = "groups"
	// DefaultLeeway is how far clocks may be apart.
	DefaultLeeway = 30 * time.Second
	// DefaultRefresh is how often the keys of a provider are read again without any reason. A key that was withdrawn is promised to be forgotten within 15 min,
	// of which a provider gets one to answer.
	DefaultRefresh = 14 * time.Minute
)

// DefaultAlgorithms returns the signature algorithms that are accepted when the Options do not say.
func DefaultAlgorithms() []string { return []string{oidc.RS256, oidc.ES256, oidc.PS256} }

// Options configure a Verifier.
type Options struct {
	// Issuers are the addresses of the providers whose tokens are trusted, exactly as they stand in the claim "iss". At least one.
	Issuers []string
	// Audiences are the values of which a token has to name at least one in its claim "aud". At least one.
	Audiences []string
	// GroupsClaim is the claim that holds the groups; empty means DefaultGroupsClaim.
	GroupsClaim string
	// Groups says which groups have which role.
	Groups Groups
	// Algorithms are the signature algorithms that are accepted; empty means DefaultAlgorithms. Symmetric ones and "none" are refused.
	Algorithms []string
	// Leeway is how far the clocks of the provider and of this machine may be apart; zero means DefaultLeeway.
	Leeway time.Duration
	// Refresh is how often keys are read again; zero means DefaultRefresh.
	Refresh time.Duration
	// Client reaches the providers; nil takes one with a timeout of 10 s. It is not changed.
	Client *http.Client
	// Logger takes one line when a provider goes away or publishes no keys, and one when it is back. Required.
	Logger *slog.Logger
	// Clock is the time by which tokens are judged. Required.
	Clock func() time.Time
}

// complete checks the options, all problems together, and sets what was left open.
func (o *Options) complete() error {
	var problems []error
	if len(o.Issuers) == 0 {
		problems = append(problems, errors.New("no issuer is trusted"))
	}
	for i, issuer := range o.Issuers {
		if err := CheckIssuer(issuer); err != nil {
			problems = append(problems, err)
		}
		if slices.Contains(o.Issuers[:i], issuer) {
			problems = append(problems, fmt.Errorf("the issuer %q is named twice", issuer))
		}
	}
	if len(o.Audiences) == 0 {
		problems = append(problems, errors.New("no audience is accepted"))
	}
	if slices.Contains(o.Audiences, "") {
		problems = append(problems, errors.New("an audience is empty"))
	}
	if slices.Contains(o.Groups.Admin, "") || slices.Contains(o.Groups.Operator, "") {
		problems = append(problems, errors.New("a group is empty"))
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = DefaultAlgorithms()
	}
	for _, algorithm := range o.Algorithms {
		if !Asymmetric(algorithm) {
			problems = append(problems, fmt.Errorf("the signature algorithm %q is not one of %s", algorithm, strings.Join(asymmetric, ", ")))
		}
	}
	if o.Leeway < 0 || o.Refresh < 0 {
		problems = append(problems, errors.New("the leeway or the time between two looks for keys is negative"))
	}
	if o.Logger == nil || o.Clock == nil {
		problems = append(problems, errors.New("the logger or the clock is missing"))
	}
	if o.GroupsClaim == "" {
		o.GroupsClaim = DefaultGroupsClaim
	}
	if o.Leeway == 0 {
		o.Leeway = DefaultLeeway
	}
	if o.Refresh == 0 {
		o.Refresh = DefaultRefresh
	}
	return errors.Join(problems...)
}

// asymmetric are the algorithms that a provider can sign with and nobody else.
var asymmetric = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// Asymmetric reports whether a signature algorithm is one of those that a provider can sign with and nobody else.
func Asymmetric(algorithm string) bool { return slices.Contains(asymmetric, algorithm) }

// signatures returns the algorithms as go-jose has them.
func signatures(algorithms []string) []jose.SignatureAlgorithm {
	var list []jose.SignatureAlgorithm
	for _, algorithm := range algorithms {
		list = append(list, jose.SignatureAlgorithm(algorithm))
	}
	return list
}

// Verifier verifies ID tokens. It is safe for concurrent use. Run has to run as long as it is used.
type Verifier struct {
	o         Options
	accepted  []jose.SignatureAlgorithm
	providers map[string]*provider
}

// NewVerifier checks the options. The providers need not be reachable, and are not asked before Run.
func NewVerifier(o Options) (*Verifier, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("set up authentication: %w", err)
	}
	v := &Verifier{o: o, accepted: signatures(o.Algorithms), providers: map[string]*provider{}}
	for _, issuer := range o.Issuers {
		v.providers[issuer] = newProvider(issuer, ProviderClient(o.Client), o.Refresh, o.Logger, o.Clock)
	}
	return v, nil
}

// Run keeps what is known of the providers up to date until ctx ends. It returns when nothing of it runs any more.
func (v *Verifier) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, p := range v.providers {
		running.Go(func() { p.run(ctx) })
	}
	running.Wait()
}

// maxToken is the size of the largest token that is looked at, in bytes. Tokens of people in hundreds of groups stay far below it.
const maxToken = 32 << 10

// Verify returns whose token it is. Its errors are *InvalidTokenError and *UnavailableError. It waits for a provider for some seconds at most.
func (v *Verifier) Verify(ctx context.Context, raw string) (Identity, error) {
	if len(raw) > maxToken {
		return Identity{}, &InvalidTokenError{Reason: "the token is too long"}
	}
	issuer, err := claimedIssuer(raw)
	if err != nil {
		return Identity{}, &InvalidTokenError{Reason: "the token is not a JSON Web Token", Err: err}
	}
	p, ok := v.providers[issuer]
	if !ok {
		return Identity{}, &InvalidTokenError{Reason: "the issuer of the token is not trusted"}
	}
	keys := &keySet{provider: p, accepted: v.accepted}
	token, err := oidc.NewVerifier(p.issuer, keys, &oidc.Config{
		// The audience is compared with a list, after the signature.
		SkipClientIDCheck:    true,
		SupportedSigningAlgs: v.o.Algorithms,
		Now:                  func() time.Time { return v.o.Clock().Add(-v.o.Leeway) },
	}).Verify(ctx, raw)
	switch {
	case keys.err != nil:
		return Identity{}, keys.err
	case err != nil:
		return Identity{}, refusal(err)
	}
	return v.identify(token)
}

// notAnIDToken is why a token of another kind is refused.
const notAnIDToken = "the token is not an ID token"

// refusal says what is wrong with a token.
func refusal(err error) error {
	if _, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return &InvalidTokenError{Reason: "the token has expired", Err: err}
	}
	return &InvalidTokenError{Reason: "the token does not verify", Err: err}
}

// identify reads the claims of a verified token.
func (v *Verifier) identify(token *oidc.IDToken) (Identity, error) {
	unreadable := func(err error) (Identity, error) {
		return Identity{}, &InvalidTokenError{Reason: "the claims of the token cannot be read", Err: err}
	}
	var payload json.RawMessage
	if err := token.Claims(&payload); err != nil {
		return unreadable(err)
	}
	all, err := readClaims(payload)
	if err != nil {
		return unreadable(err)
	}
	if err := all.otherKind(); err != nil {
		return Identity{}, &InvalidTokenError{Reason: notAnIDToken, Err: err}
	}
	if !slices.ContainsFunc(token.Audience, func(a string) bool { return slices.Contains(v.o.Audiences, a) }) {
		return Identity{}, &InvalidTokenError{Reason: "the token is meant for another audience"}
	}
	begin, err := all.notBefore()
	if err != nil {
		return unreadable(err)
	}
	if v.o.Clock().Add(v.o.Leeway).Before(begin) {
		return Identity{}, &InvalidTokenError{Reason: "the token is not valid yet"}
	}
	if !printable(token.Subject) {
		return Identity{}, &InvalidTokenError{Reason: "the token names no subject that can be recorded"}
	}
	groups := readGroups(all[v.o.GroupsClaim])
	return Identity{
		User:    v.userOf(token, all),
		Issuer:  token.Issuer,
		Subject: token.Subject,
		Groups:  groups,
		Roles:   v.o.Groups.roles(groups),
	}, nil
}

// userOf returns the name under which a person is recorded. A subject that looks like a mail address is marked, and with several issuers each name
// says whose it is, so that no two people have the same name.
func (v *Verifier) userOf(token *oidc.IDToken, all claims) string {
	user := all.mail()
	if user == "" {
		user = token.Subject
		if strings.Contains(user, "@") {
			user = subjectMark + user
		}
	}
	if len(v.o.Issuers) > 1 {
		user += " (" + token.Issuer + ")"
	}
	return user
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

// Healthy returns nil when every provider has answered the last time it was asked, and published keys. Its message may be shown to everyone.
func (v *Verifier) Healthy(context.Context) error {
	var away, bare []string
	var causes []error
	for _, issuer := range v.o.Issuers {
		err := v.providers[issuer].state()
		switch {
		case err == nil:
			continue
		case errors.Is(err, errNoKeys):
			bare = append(bare, issuer)
		default:
			away = append(away, issuer)
		}
		causes = append(causes, err)
	}
	var messages []string
	if len(away) > 0 {
		messages = append(messages, "no answer from "+strings.Join(away, ", "))
	}
	if len(bare) > 0 {
		messages = append(messages, "no keys from "+strings.Join(bare, ", "))
	}
	if len(messages) == 0 {
		return nil
	}
	return fleet.Unavailable(strings.Join(messages, "; "), errors.Join(causes...))
}
