package tokens

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/internal/cli/home"
)

// Session is the Source of a login: its tokens are kept in a file and renewed ahead of their end, by one process at a time.
type Session struct {
	// Login is whose tokens are brought.
	Login home.Login
	// Folder holds the file.
	Folder home.Folder
	// Client reaches the provider; nil takes one of its own.
	Client *http.Client
	// Clock is the time by which tokens end. Required.
	Clock func() time.Time
	// Again is the command that logs in, for messages.
	Again string
	// Note is told what the user should know and nothing failed for. Required.
	Note func(format string, args ...any)

	mu       sync.Mutex
	held     Tokens
	provider *Provider
}

// longestAhead is how long before its end a token is renewed, at most; shorter ones are after three quarters of their life.
const longestAhead = time.Minute

// fresh reports whether a token need not be renewed yet.
func (t *Tokens) fresh(now time.Time) bool {
	return now.Before(t.Expiry.Add(-min(longestAhead, max(0, t.Expiry.Sub(t.IssuedAt)/4))))
}

// Token implements Source.
func (s *Session) Token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held.fresh(s.Clock()) {
		return s.held.IDToken, nil
	}
	t, err := s.load()
	if err != nil {
		return "", err
	}
	if t.fresh(s.Clock()) {
		s.held = t
		return t.IDToken, nil
	}
	return s.renew(ctx, t.IDToken, t.Expiry)
}

// Lasting reports whether the login is renewed by itself. It knows after a token was asked for.
func (s *Session) Lasting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held.RefreshToken != ""
}

// Renew implements Source.
func (s *Session) Renew(ctx context.Context, refused string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renew(ctx, refused, time.Time{})
}

// renew replaces a token. Where that is not possible at the moment, the old one is good until usable.
func (s *Session) renew(ctx context.Context, old string, usable time.Time) (string, error) {
	unlock, err := s.Folder.Lock(ctx, file(s.Login))
	if err != nil {
		return "", err
	}
	defer unlock()
	t, err := s.load()
	if err != nil {
		return "", err
	}
	if t.IDToken != old && t.fresh(s.Clock()) {
		// Another process was faster.
		s.held = t
		return t.IDToken, nil
	}
	fresh, err := s.ask(ctx, t)
	if fresh.RefreshToken != t.RefreshToken || fresh.IDToken != t.IDToken {
		if err := Save(s.Folder, fresh); err != nil {
			s.Note("the renewed login could not be kept, so the next command may ask for a new one: %v", err)
		}
	}
	if err != nil {
		if t.IDToken == old && s.Clock().Before(usable) {
			return old, nil
		}
		return "", err
	}
	s.held = fresh
	return fresh.IDToken, nil
}

// ask asks the provider for new tokens. With an error it returns what to keep instead.
func (s *Session) ask(ctx context.Context, t Tokens) (Tokens, error) {
	if t.RefreshToken == "" {
		return t, s.absent("the login has ended")
	}
	if s.provider == nil {
		provider, err := Discover(ctx, s.Client, s.Login.Issuer, s.Clock)
		if err != nil {
			return t, err
		}
		s.provider = provider
	}
	fresh, err := s.provider.Renew(ctx, t)
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && final(refused) {
		return fresh, s.absent("the login has ended")
	}
	if errors.Is(err, errNoIDToken) {
		return fresh, s.absent("the login has ended, and the provider does not renew it")
	}
	return fresh, err
}

func (s *Session) load() (Tokens, error) {
	t, ok, err := Load(s.Folder, s.Login)
	if err != nil {
		return Tokens{}, err
	}
	if !ok {
		return Tokens{}, s.absent("you are not logged in")
	}
	return t, nil
}

func (s *Session) absent(reason string) error {
	return &AbsentError{Reason: reason + "; log in with '" + s.Again + "'"}
}
