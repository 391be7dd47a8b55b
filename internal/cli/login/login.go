// Package login logs users in and out, and tells who they are.
package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/orchestration"
)

// options are the flags of the command.
type options struct {
	device    bool
	noBrowser bool
	port      int
	asked     home.Login
}

// NewCommand returns "swell login".
func NewCommand(c *console.Console) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in to a server",
		Long: `Log in to a server, with a browser on this machine, or with --device with a browser anywhere.

The server says which identity provider it trusts. The login belongs to the context of the server; a server without one gets a context under
the name of its host. Tokens are kept in files that only you can read, and are renewed by themselves as long as the provider lets them.

No login is needed where SWELL_TOKEN or --token-file brings a token.`,
		Example: `  swell login
  swell login --url https://swell.example.com
  swell login --device`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), c) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.device, "device", false, "log in with a code that is entered in a browser on any machine")
	flags.BoolVar(&o.noBrowser, "no-browser", false, "do not open a browser, only say the address")
	flags.IntVar(&o.port, "port", 0, "`PORT` of this machine that the browser is sent back to (default: any that is free)")
	flags.StringVar(&o.asked.Issuer, "issuer", "", "`URL` of the identity provider (default: what the server says)")
	flags.StringVar(&o.asked.ClientID, "client-id", "", "`ID` of this program at the provider (default: what the server says)")
	console.ListFlag(flags, &o.asked.Scopes, "scopes", "", "`SCOPES` to ask the provider for (default: what the server or the provider says)")
	cmd.MarkFlagsMutuallyExclusive("device", "no-browser")
	cmd.MarkFlagsMutuallyExclusive("device", "port")
	return cmd
}

func (o *options) run(ctx context.Context, c *console.Console) error {
	switch from := origin(c.Source); {
	case from == fromFile:
		return console.Usagef("--token-file brings the token; no login is needed")
	case from == fromEnvironment:
		return console.Usagef("%s is set and would be used instead of the login; unset it first", console.TokenVariable)
	case o.port < 0 || o.port > 65535:
		return console.Usagef("--port %d: ports are numbers up to 65535", o.port)
	}
	// What is known of an earlier login does not matter any more.
	c.Source = nil
	login, err := choose(ctx, c, o.asked)
	if errors.Is(err, errNoLogin) {
		c.Printf("%s asks for no login.\n", display.Text(c.URL))
		return nil
	}
	if err != nil {
		return err
	}
	// It would be a pity to find out after the user has logged in.
	if err := c.Home.Try(ctx); err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	got, err := o.ask(ctx, c, login)
	if err != nil {
		return err
	}
	c.Source = tokens.Given{Text: got.IDToken}
	who, err := console.Call(c, func() (orchestration.Identity, error) { return c.Orchestrations(ctx).WhoAmI() })
	if refused, ok := errors.AsType[*orchestration.Error](err); ok && refused.Status == http.StatusUnauthorized {
		c.Revoke(ctx, got)
		return fmt.Errorf("the provider logged you in, but the server does not accept its token: %w", err)
	}
	if saveErr := keep(ctx, c, got); saveErr != nil {
		return saveErr
	}
	if err != nil {
		c.Notef("the server could not be asked who you are: %s", console.Clean(err.Error()))
		c.Printf("Logged in to %s.\n", display.Text(c.URL))
		return nil
	}
	c.Printf("Logged in to %s as %s, %s.\n", display.Text(c.URL), display.Text(who.User), roles(who))
	return nil
}

// roles says what somebody may do.
func roles(who orchestration.Identity) string {
	if len(who.Roles) == 0 {
		return "without any role: ask for one of the groups that the server knows"
	}
	return "role " + display.Text(strings.Join(who.Roles, ", "))
}

// ask brings the tokens of a login from its provider.
func (o *options) ask(ctx context.Context, c *console.Console, login home.Login) (tokens.Tokens, error) {
	provider, err := tokens.Discover(ctx, c.ProviderClient(), login.Issuer, c.Clock)
	if err != nil {
		return tokens.Tokens{}, err
	}
	if login.Scopes == nil {
		login.Scopes = provider.Scopes()
	}
	if !slices.Contains(login.Scopes, oidc.ScopeOpenID) {
		login.Scopes = append([]string{oidc.ScopeOpenID}, login.Scopes...)
	}
	c.Notef("Logging in to %s at %s ...", console.Clean(c.URL), console.Clean(login.Issuer))
	switch {
	case o.device && !provider.HasDevices():
		return tokens.Tokens{}, console.Usagef("--device: the provider %s does not know this way to log in", login.Issuer)
	case o.device, !provider.HasCodes():
		return byDevice(ctx, c, provider, login)
	default:
		return byBrowser(ctx, c, provider, login, o.port, !o.noBrowser)
	}
}

// keep keeps the login in the context of the server, and then its tokens: whoever is killed in between leaves none that nobody finds. The login that the
// context had before is given up.
func keep(ctx context.Context, c *console.Console, got tokens.Tokens) error {
	// An interrupt must not end it half-way.
	ctx = context.WithoutCancel(ctx)
	before := c.Context
	rest, err := remember(ctx, c, got.Login)
	if err != nil {
		c.Revoke(ctx, got)
		return err
	}
	got.Servers = []string{home.Server(c.URL)}
	old, err := tokens.Replace(ctx, c.Home, got)
	if err != nil {
		c.Revoke(ctx, got)
		return err
	}
	c.Revoke(ctx, old...)
	if before.Login == nil || tokens.Same(*before.Login, got.Login) {
		return nil
	}
	return c.Leave(ctx, before, rest)
}

// remember keeps a login in the context of the server, and returns all contexts.
func remember(ctx context.Context, c *console.Console, login home.Login) ([]home.Context, error) {
	var all []home.Context
	err := c.Home.ChangeContexts(ctx, func(contexts *home.Contexts) error {
		one, known := contexts.Find(c.Context.Name)
		if !known {
			one = home.Context{Name: free(c.URL, contexts), URL: c.URL}
		}
		one.Login = &login
		contexts.Put(one)
		all = contexts.List
		if !known {
			c.Notef("Context %s was added for this server.", one.Name)
		}
		if contexts.Current != one.Name {
			c.Notef("It is not the current context; to talk to this server from now on: swell context use %s", one.Name)
		}
		return nil
	})
	return all, err
}

// free returns a name for the context of a server that no other context has.
func free(server string, contexts *home.Contexts) string {
	name := "server"
	if u, err := url.Parse(server); err == nil {
		name = strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '-' {
				return r
			}
			return -1
		}, u.Hostname())
	}
	name = strings.Trim(name, ".-")
	const longest = 55
	if name = name[:min(len(name), longest)]; name == "" {
		name = "server"
	}
	taken := contexts.Names()
	for n, base := 2, name; slices.Contains(taken, name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}
