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
Servers that you logged in to with the same provider, client and scopes are logged out of together.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			contexts, err := c.Home.Contexts()
			if err != nil {
				return err
			}
			if !all {
				contexts.List = nil
				made, err := madeFor(c)
				if err != nil {
					return err
				}
				if made {
					contexts.List = []home.Context{c.Context}
				}
			}
			return logout(cmd.Context(), c, contexts.List)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "log out of the servers of all contexts")
	return cmd
}

// madeFor reports whether there may be something to give up at the server of the context: not, when what there is was for others only.
func madeFor(c *console.Console) (bool, error) {
	if c.Context.Login == nil {
		return false, nil
	}
	kept, ok, err := tokens.Load(c.Home, *c.Context.Login)
	return !ok || kept.For(c.URL), err
}

func logout(ctx context.Context, c *console.Console, list []home.Context) error {
	out := 0
	for _, one := range list {
		c.Context = one
		had, err := c.GiveUp(ctx)
		if err != nil {
			return err
		}
		if had {
			out++
			c.Printf("Logged out of %s.\n", display.Text(one.URL))
		}
	}
	if out == 0 {
		c.Printf("There is no login to give up.\n")
	}
	return nil
}
