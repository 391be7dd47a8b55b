package console

import (
	"context"

	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// GiveUp ends the login of the context: its tokens are forgotten, and the provider is told. It reports whether there was one. The tokens go in any
// case: what the provider does not hear of ends by itself.
func (c *Console) GiveUp(ctx context.Context) (bool, error) {
	if c.Context.Login == nil {
		return false, nil
	}
	old, had, err := tokens.Take(ctx, c.Home, *c.Context.Login)
	if err != nil || !had {
		return false, err
	}
	c.Revoke(ctx, old)
	return true, nil
}

// Revoke tells the provider that tokens are not needed any more, as far as it can be told.
func (c *Console) Revoke(ctx context.Context, old tokens.Tokens) {
	if old.RefreshToken == "" {
		return
	}
	provider, err := tokens.Discover(ctx, c.ProviderClient(), old.Login.Issuer, c.Clock)
	if err == nil {
		err = provider.Revoke(ctx, old)
	}
	if err != nil {
		c.Notef("the provider could not be told that the login is over: %s", Clean(err.Error()))
	}
}
