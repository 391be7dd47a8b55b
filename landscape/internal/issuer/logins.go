package issuer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// loginTime is how long a user may look at the page to log in on.
const loginTime = 10 * time.Minute

// login is an authorization request. It implements op.AuthRequest and does not
// change: when a user has been chosen, another one takes its place.
type login struct {
	id    string
	asked oidc.AuthRequest
	user  string
	at    time.Time
}

func (l *login) GetID() string          { return l.id }
func (l *login) GetACR() string         { return "" }
func (l *login) GetAMR() []string       { return []string{"pwd"} }
func (l *login) GetAudience() []string  { return []string{l.asked.ClientID} }
func (l *login) GetAuthTime() time.Time { return l.at }
func (l *login) GetClientID() string    { return l.asked.ClientID }
func (l *login) GetCodeChallenge() *oidc.CodeChallenge {
	return &oidc.CodeChallenge{Challenge: l.asked.CodeChallenge, Method: l.asked.CodeChallengeMethod}
}
func (l *login) GetNonce() string                   { return l.asked.Nonce }
func (l *login) GetRedirectURI() string             { return l.asked.RedirectURI }
func (l *login) GetResponseType() oidc.ResponseType { return l.asked.ResponseType }
func (l *login) GetResponseMode() oidc.ResponseMode { return l.asked.ResponseMode }
func (l *login) GetScopes() []string                { return l.asked.Scopes }
func (l *login) GetState() string                   { return l.asked.State }
func (l *login) GetSubject() string                 { return l.user }
func (l *login) Done() bool                         { return l.user != "" }

func (s storage) CreateAuthRequest(_ context.Context, asked *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	if slices.Contains(asked.Prompt, oidc.PromptNone) {
		return nil, oidc.ErrLoginRequired()
	}
	if asked.CodeChallenge == "" || asked.CodeChallengeMethod != oidc.CodeChallengeMethodS256 {
		return nil, oidc.ErrInvalidRequest().WithDescription("PKCE with the method S256 is required")
	}
	if asked.ResponseMode != "" && asked.ResponseMode != oidc.ResponseModeQuery {
		return nil, oidc.ErrInvalidRequest().WithDescription("the response mode is not supported")
	}
	l := &login{id: rand.Text(), asked: *asked}
	l.asked.Scopes = known(asked.Scopes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins.put(l.id, l, time.Now().Add(loginTime))
	return l, nil
}

func (i *Issuer) login(id string) (*login, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	l, ok := i.logins.get(id)
	if !ok {
		return nil, fmt.Errorf("login: %w", ErrNotFound)
	}
	return l, nil
}

// chose notes who logs in.
func (i *Issuer) chose(id, user string) error {
	if _, err := i.User(user); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	l, ok := i.logins.get(id)
	if !ok || l.Done() {
		return fmt.Errorf("login: %w", ErrNotFound)
	}
	now := time.Now()
	done := *l
	done.user, done.at = user, now
	i.logins.put(id, &done, now.Add(loginTime))
	return nil
}

func (s storage) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	l, err := s.login(id)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (s storage) SaveAuthCode(_ context.Context, id, code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes.put(code, id, time.Now().Add(time.Duration(s.settings.Code)))
	return nil
}

// AuthRequestByCode takes the code: it can be tried once, also with a wrong
// verifier. A second try takes what the first one got.
func (s storage) AuthRequestByCode(_ context.Context, code string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unused(code); err != nil {
		return nil, err
	}
	id, ok := s.codes.take(code)
	if !ok {
		return nil, errors.New("the code is not known, or has expired")
	}
	s.spend(code, id)
	l, ok := s.logins.take(id)
	if !ok {
		return nil, errors.New("the login has expired")
	}
	return l, nil
}

func (s storage) DeleteAuthRequest(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins.take(id)
	return nil
}
