package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/orchestration"
)

// errNoLogin says that the server lets everybody in who can reach it.
var errNoLogin = errors.New("the server asks for no login")

// choose finds out where to log in: what is said on the command line, what the context says, and what the server says. A server that names
// somebody else than before is not believed, since the user would be sent there with a password.
func choose(ctx context.Context, c *console.Console, asked home.Login) (home.Login, error) {
	if err := home.CheckPrivate(c.URL); err != nil {
		return home.Login{}, console.Usagef("%w", err)
	}
	offered, err := offers(ctx, c)
	if err != nil {
		return unoffered(c, asked, err)
	}
	if len(offered) == 0 {
		return home.Login{}, errNoLogin
	}
	var names []string
	matching := slices.DeleteFunc(slices.Clone(offered), func(one orchestration.Login) bool {
		names = append(names, fmt.Sprintf("%q (client %q)", one.Issuer, one.ClientID))
		return asked.Issuer != "" && one.Issuer != asked.Issuer || asked.ClientID != "" && one.ClientID != asked.ClientID
	})
	if kept := c.Context.Login; kept != nil {
		pinned := slices.DeleteFunc(slices.Clone(matching), func(one orchestration.Login) bool {
			// What is said on the command line is believed, also about the client of the same provider.
			issuer := asked.Issuer == "" && one.Issuer != kept.Issuer
			return issuer || asked.ClientID == "" && one.Issuer == kept.Issuer && one.ClientID != kept.ClientID
		})
		if len(pinned) == 0 && len(matching) > 0 {
			return home.Login{}, console.Usagef("context %s logs in at %s (client %s), but the server now names %s; if that is right, give --issuer and --client-id",
				c.Context.Name, kept.Issuer, kept.ClientID, strings.Join(names, ", "))
		}
		matching = pinned
	}
	switch {
	case len(matching) == 0:
		return home.Login{}, console.Usagef("the server accepts no login at %q (client %q); it accepts %s", asked.Issuer, asked.ClientID, strings.Join(names, ", "))
	case len(matching) > 1:
		return home.Login{}, console.Usagef("the server accepts several logins; choose one with --issuer: %s", strings.Join(names, ", "))
	}
	login := home.Login{Issuer: matching[0].Issuer, ClientID: matching[0].ClientID, Scopes: asked.Scopes}
	if login.Scopes == nil {
		login.Scopes = matching[0].Scopes
	}
	return login, checked(login)
}

// unoffered is where to log in when the server does not say it.
func unoffered(c *console.Console, asked home.Login, err error) (home.Login, error) {
	login := asked
	if kept := c.Context.Login; kept != nil {
		if login.Issuer == "" {
			login.Issuer = kept.Issuer
		}
		if login.ClientID == "" && login.Issuer == kept.Issuer {
			login.ClientID = kept.ClientID
		}
		if login.Scopes == nil {
			login.Scopes = kept.Scopes
		}
	}
	if login.Issuer != "" && login.ClientID != "" {
		return login, checked(login)
	}
	if refused, ok := errors.AsType[*orchestration.Error](err); ok && refused.Status == http.StatusNotFound {
		return home.Login{}, console.Usagef("the server does not say where to log in; give --issuer and --client-id")
	}
	return home.Login{}, fmt.Errorf("ask the server where to log in: %w", err)
}

// offers asks the server which logins it accepts.
func offers(ctx context.Context, c *console.Console) ([]orchestration.Login, error) {
	list, err := console.Call(c, func() (orchestration.LoginList, error) { return c.Orchestrations(ctx).ListLogins() })
	return list.Data, err
}

// checked returns an error when a login cannot be used.
func checked(login home.Login) error {
	probe := home.Context{Name: "login", URL: console.DefaultURL, Login: &login}
	if err := probe.Check(); err != nil {
		return console.Usagef("log in: %w", err)
	}
	return nil
}
