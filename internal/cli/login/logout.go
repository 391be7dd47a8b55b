package login

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/home"
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
