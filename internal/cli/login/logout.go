package login

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// NewLogoutCommand returns "swell logout".
func NewLogoutCommand(c *console.Console) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "Log out of a server: give the login up and forget its tokens",
		Long: `Log out of a server: give the login up and forget its tokens.

The provider is told that the login is over. The last token stays valid to its end, for an hour or so, but it is nowhere to be found any more.
Contexts that share a login are logged out together.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			contexts, err := c.Home.Contexts()
			if err != nil {
				return err
			}
			if !all {
				contexts.List = []home.Context{c.Context}
			}
			return logout(cmd.Context(), c, contexts.List)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "log out of the servers of all contexts")
	return cmd
}

func logout(ctx context.Context, c *console.Console, list []home.Context) error {
	out := 0
	for _, one := range list {
		if one.Login == nil {
			continue
		}
		kept, ok, err := tokens.Load(c.Home, *one.Login)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		// The tokens go in any case: what the provider does not hear of ends by itself.
		if _, err := tokens.Forget(c.Home, *one.Login); err != nil {
			return err
		}
		out++
		c.Printf("Logged out of %s.\n", display.Text(one.URL))
		c.Context = one
		if err := revoke(ctx, c, kept); err != nil {
			c.Notef("the provider could not be told: %s", console.Clean(err.Error()))
		}
	}
	if out == 0 {
		c.Printf("There is no login to give up.\n")
	}
	return nil
}

func revoke(ctx context.Context, c *console.Console, kept tokens.Tokens) error {
	client, err := c.ProviderClient()
	if err != nil {
		return err
	}
	provider, err := tokens.Discover(ctx, client, kept.Login.Issuer, c.Clock)
	if err != nil {
		return err
	}
	return provider.Revoke(ctx, kept)
}
