package tokens

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swell-fleet/swell/internal/cli/home"
)

// Session is the Source of a login: its tokens are kept in a file and renewed ahead of their end, by one process at a time.
type Session struct {
	// Login is whose tokens are brought.
	Login home.Login
	// Server is the address of the server that they are for. Tokens of a login that was not made for it are not brought.
	Server string
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
	// last is the token that the provider does not renew any more; it is used to its end without asking again.
	last string
	// asking is true while the tokens are renewed.
	asking atomic.Bool
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
	// Whether a token that cannot be renewed is still good, the server knows better than the clock of this machine.
	if t.fresh(s.Clock()) || t.RefreshToken == "" || t.IDToken == s.last && s.Clock().Before(t.Expiry) {
		s.held = t
		return t.IDToken, nil
	}
	return s.renew(ctx, t.IDToken, t.Expiry)
}

// Asking reports whether it is the provider that is being waited for.
func (s *Session) Asking() bool { return s.asking.Load() }

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
	fresh, err := s.locked(ctx, old)
	switch {
	case err == nil:
		s.held = fresh
		return fresh.IDToken, nil
	case fresh.IDToken == old && s.Clock().Before(usable):
		if _, over := errors.AsType[*AbsentError](err); over {
			s.last = old
		}
		return old, nil
	default:
		return "", err
	}
}

// locked renews a token while no other process does. With an error it returns the tokens that there still are.
func (s *Session) locked(ctx context.Context, old string) (Tokens, error) {
	s.asking.Store(true)
	defer s.asking.Store(false)
	unlock, err := s.Folder.Lock(ctx, file(s.Login))
	if err != nil {
		kept, _, _ := Load(s.Folder, s.Login)
		if ctx.Err() != nil {
			return kept, ctx.Err()
		}
		return kept, s.absent("the login cannot be renewed: " + err.Error())
	}
	defer unlock()
	if err := finish(s.Folder, s.Login); err != nil {
		return Tokens{}, err
	}
	t, err := s.load()
	if err != nil {
		return Tokens{}, err
	}
	if t.IDToken != old && t.fresh(s.Clock()) {
		// Another process was faster.
		return t, nil
	}
	fresh, err := s.ask(ctx, t)
	if provider, ok := errors.AsType[*ProviderError](err); ok && provider.Ended() {
		err = s.absent("the login has ended")
		if s.Clock().Before(t.Expiry) {
			return t, err
		}
		// Nothing of it is good any more.
		if _, err := s.Folder.Remove(file(s.Login)); err != nil {
			s.Note("the tokens of the login that has ended could not be removed: %v", err)
		}
		return Tokens{}, err
	}
	if fresh.RefreshToken != t.RefreshToken || fresh.IDToken != t.IDToken {
		if err := save(s.Folder, fresh); err != nil {
			s.Note("the renewed login could not be kept, so the next command may ask for a new one: %v", err)
		}
	}
	return fresh, err
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
	provider, ok := errors.AsType[*ProviderError](err)
	switch {
	case err == nil, ctx.Err() != nil, ok && (provider.Away || provider.Ended()):
		return fresh, err
	default:
		// The provider would say the same again.
		return fresh, s.absent(err.Error())
	}
}

func (s *Session) load() (Tokens, error) {
	t, ok, err := Load(s.Folder, s.Login)
	if err != nil {
		return Tokens{}, err
	}
	switch {
	case !ok:
		return Tokens{}, s.absent("you are not logged in")
	case !t.For(s.Server):
		return Tokens{}, s.absent("you are not logged in to this server")
	}
	return t, nil
}

func (s *Session) absent(reason string) error {
	return &AbsentError{Reason: reason + "; log in with '" + s.Again + "'"}
}
