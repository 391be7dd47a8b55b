package console

import (
	"context"
	"errors"
	"slices"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// GiveUp ends the login of the context: its tokens are forgotten, and the provider is told. It reports whether there was one. The tokens go in any
// case: what the provider does not hear of ends by itself.
func (c *Console) GiveUp(ctx context.Context) (bool, error) {
	if c.Context.Login == nil {
		return false, nil
	}
	old, err := tokens.Take(ctx, c.Home, *c.Context.Login)
	if err != nil || len(old) == 0 {
		return false, err
	}
	c.Revoke(ctx, old...)
	return true, nil
}

// Leave logs out of the server of a context that is gone, or has another login now. A login that was made for the server of one of the rest, too, goes on
// there.
func (c *Console) Leave(ctx context.Context, gone home.Context, rest []home.Context) error {
	if gone.Login == nil {
		return nil
	}
	kept, had, err := tokens.Load(c.Home, *gone.Login)
	if err != nil {
		return err
	}
	used, here := false, false
	for _, one := range rest {
		if had && one.Login != nil && tokens.Same(*one.Login, *gone.Login) && kept.For(one.URL) {
			used, here = true, here || home.SameServer(one.URL, gone.URL)
		}
	}
	switch {
	case here:
		return nil
	case used:
		return tokens.Leave(ctx, c.Home, *gone.Login, gone.URL)
	}
	c.Context = gone
	_, err = c.GiveUp(ctx)
	return err
}

// Revoke tells the provider that tokens of a login are not needed any more, as far as it can be told.
func (c *Console) Revoke(ctx context.Context, old ...tokens.Tokens) {
	old = slices.DeleteFunc(slices.Clone(old), func(t tokens.Tokens) bool { return t.RefreshToken == "" })
	if len(old) == 0 {
		return
	}
	provider, err := tokens.Discover(ctx, c.ProviderClient(), old[0].Login.Issuer, c.Clock)
	if err == nil {
		for _, one := range old {
			err = errors.Join(err, provider.Revoke(ctx, one))
		}
	}
	if err != nil {
		c.Notef("the provider could not be told that the login is over: %s", Clean(err.Error()))
	}
}
