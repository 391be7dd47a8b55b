package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// tokenFileFlag is the flag that names a file with a token.
const tokenFileFlag = "--token-file"

// access are the global flags that say which server is meant and who asks.
type access struct {
	url, context, tokenFile string
}

// addFlags adds the flags to the program.
func (a *access) addFlags(root *cobra.Command, c *console.Console) {
	flags := root.PersistentFlags()
	flags.StringVar(&a.url, "url", "", "`URL` of the server [$"+console.URLVariable+"] (default "+console.DefaultURL+")")
	flags.StringVar(&a.context, "context", "", "`NAME` of the context that names the server [$"+console.ContextVariable+"]")
	flags.StringVar(&a.tokenFile, "token-file", "", "`FILE` that holds the bearer token; $"+console.TokenVariable+" holds the token itself")
	// The completion of a flag that was just added cannot fail.
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		contexts, err := c.Home.Contexts()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return contexts.Names(), cobra.ShellCompDirectiveNoFileComp
	})
}

// settle finds the server and what is sent along with requests to it.
func (a *access) settle(ctx context.Context, c *console.Console) error {
	for _, flag := range []struct{ name, value string }{{"--url", a.url}, {"--context", a.context}, {tokenFileFlag, a.tokenFile}} {
		if flag.value != "" {
			c.Globals = append(c.Globals, flag.name, flag.value)
		}
	}
	contexts, err := c.Home.Contexts()
	if err != nil {
		return err
	}
	if err := a.server(c, &contexts); err != nil {
		return console.Usagef("%w", err)
	}
	if err := home.CheckURL(c.URL); err != nil {
		return console.Usagef("%w", err)
	}
	c.Reach()
	if err := a.token(ctx, c); err != nil {
		return err
	}
	if _, login := c.Source.(*tokens.Session); c.Source != nil && !login && home.CheckPrivate(c.URL) != nil {
		c.Notef("the token goes to %s without encryption: everybody on the way can read and use it", console.Clean(c.URL))
	}
	return nil
}

// server finds the address of the server, and the context that belongs to it. What is said on the command line wins over variables, and both over
// the current context.
func (a *access) server(c *console.Console, contexts *home.Contexts) error {
	address, name := a.url, a.context
	switch {
	case address != "" && name != "":
		return errors.New("--url and --context name a server each; give one of them")
	case address == "" && name == "":
		address, name = c.Getenv(console.URLVariable), c.Getenv(console.ContextVariable)
		if address != "" && name != "" {
			return fmt.Errorf("%s and %s name a server each; set one of them", console.URLVariable, console.ContextVariable)
		}
	}
	if address == "" && name == "" {
		if name = contexts.Current; name == "" && len(contexts.List) > 0 {
			return fmt.Errorf("no context is the current one; choose with 'swell context use': %s", strings.Join(contexts.Names(), ", "))
		}
	}
	switch {
	case name != "":
		found, err := contexts.Get(name)
		if err != nil {
			return err
		}
		c.Context, c.URL = found, found.URL
	default:
		if c.URL = address; address == "" {
			c.URL = console.DefaultURL
		}
		var err error
		if c.Context, err = same(c.URL, contexts); err != nil {
			return err
		}
	}
	return nil
}

// same returns the context of a server; without a name when there is none.
func same(address string, contexts *home.Contexts) (home.Context, error) {
	found := contexts.Of(address)
	if len(found) == 0 {
		return home.Context{}, nil
	}
	for _, other := range found[1:] {
		other.Name, other.URL = found[0].Name, found[0].URL
		if found[0].Name != contexts.Current && !reflect.DeepEqual(other, found[0]) {
			return home.Context{}, fmt.Errorf("several contexts are for the server %s; give --context", address)
		}
	}
	return found[0], nil
}

// token finds the source of the token: what is given wins over a login.
func (a *access) token(ctx context.Context, c *console.Console) error {
	given := c.Getenv(console.TokenVariable)
	switch {
	case a.tokenFile != "":
		source, err := tokens.Open(ctx, a.tokenFile, tokenFileFlag)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return console.Usagef("%s: %w", tokenFileFlag, err)
		}
		c.Source = source
	case given != "":
		if err := tokens.Check(given); err != nil {
			return console.Usagef("%s: %w", console.TokenVariable, err)
		}
		c.Source = tokens.Given{Text: given, Origin: console.TokenVariable}
	case c.Context.Login != nil:
		c.Source = c.Session()
	}
	return nil
}
