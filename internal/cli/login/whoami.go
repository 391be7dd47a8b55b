package login

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/orchestration"
)

// whoami is who a user is, as programs read it.
type whoami struct {
	orchestration.Identity

	Server  string `json:"server"`
	Context string `json:"context,omitempty"`
	// Token says where the token comes from: login, file or environment; empty without a token.
	Token string `json:"token,omitempty"`
	// TokenExpiresAt is when the token ends.
	TokenExpiresAt *time.Time `json:"tokenExpiresAt,omitempty"`
	// TokenRenewed is true when the token is renewed by itself.
	TokenRenewed bool `json:"tokenRenewed,omitempty"`
}

// NewWhoAmICommand returns "swell whoami".
func NewWhoAmICommand(c *console.Console) *cobra.Command {
	var output console.Format
	cmd := &cobra.Command{
		Use:   "whoami",
		Short: "Show who the server takes you for, and what you may do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			who, err := ask(cmd.Context(), c)
			if err != nil {
				return err
			}
			if output == console.JSON {
				return c.PrintJSON(who)
			}
			who.print(c)
			return nil
		},
	}
	console.OutputFlag(cmd, &output)
	return cmd
}

func ask(ctx context.Context, c *console.Console) (whoami, error) {
	identity, err := console.Call(c, func() (orchestration.Identity, error) { return c.Orchestrations(ctx).WhoAmI() })
	if err != nil {
		return whoami{}, err
	}
	who := whoami{Identity: identity, Server: c.URL, Context: c.Context.Name, Token: origin(c.Source)}
	if c.Source == nil {
		return who, nil
	}
	token, err := c.Source.Token(ctx)
	if err != nil {
		return whoami{}, err
	}
	if session, ok := c.Source.(*tokens.Session); ok {
		who.TokenRenewed = session.Lasting()
	}
	if expiry, ok := tokens.Expiry(token); ok {
		who.TokenExpiresAt = &expiry
	}
	return who, nil
}

// Where a token comes from.
const (
	fromLogin       = "login"
	fromFile        = "file"
	fromEnvironment = "environment"
)

// origin says where a token comes from; empty where there is none.
func origin(source tokens.Source) string {
	switch source := source.(type) {
	case *tokens.Session:
		return fromLogin
	case tokens.Given:
		if source.Origin == console.TokenVariable {
			return fromEnvironment
		}
		return fromFile
	case tokens.File:
		return fromFile
	default:
		return ""
	}
}

func (w *whoami) print(c *console.Console) {
	clock := display.Clock{Now: c.Clock(), Machine: !c.IsTerminal()}
	about := map[string]string{fromLogin: "of the login", fromFile: "of --token-file", fromEnvironment: "of " + console.TokenVariable}[w.Token]
	if about != "" && w.TokenExpiresAt != nil {
		about += ", until " + clock.Both(*w.TokenExpiresAt)
	}
	if w.TokenRenewed {
		about += ", renewed by itself"
	}
	var d display.Details
	d.Add("User", w.User)
	d.Add("Roles", strings.Join(w.Roles, ", "))
	d.Add("Groups", strings.Join(w.Groups, ", "))
	d.Add("Server", w.Server)
	d.Add("Context", w.Context)
	d.Add("Issuer", w.Issuer)
	d.Add("Token", about)
	d.Print(c)
	switch {
	case len(w.Roles) > 0:
	case len(w.Groups) == 0:
		c.Notef("your token names no group, so you have no role and may not even read; ask whether the provider tells groups to this program")
	default:
		c.Notef("none of your groups gives you a role, so you may not even read; ask for one that the server knows")
	}
}
