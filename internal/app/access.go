package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/swell-fleet/swell/internal/auth"
	"github.com/swell-fleet/swell/internal/config"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/orchestration"
)

// access is who may use the API.
type access struct {
	authenticator httpapi.Authenticator
	// loopback is true when nobody logs in, and only this machine is served.
	loopback bool
	checks   []httpapi.Check
	// logins are where people get their tokens.
	logins []orchestration.Login
	// about says it in one line, for the log.
	about string
}

// newAccess reads the configuration, and keeps the keys of identity providers up to date until the server stops.
func (a *App) newAccess(ctx context.Context) (access, error) {
	c := a.config.Auth
	if !c.Enabled() {
		return access{authenticator: httpapi.Loopback{}, loopback: true, about: "this machine only, without login"}, nil
	}
	verifier, err := auth.NewVerifier(auth.Options{
		Issuers: c.Issuers, Audiences: c.Audiences, GroupsClaim: c.GroupsClaim, Algorithms: c.Algorithms,
		Groups: auth.Groups{Admin: c.AdminGroups, Operator: c.OperatorGroups},
		Logger: a.logger, Clock: a.clock,
	})
	if err != nil {
		return access{}, err
	}
	a.life.push("identity providers", background(ctx, verifier.Run))
	return access{
		authenticator: httpapi.Tokens{Verifier: verifier},
		checks:        []httpapi.Check{{Name: "identity providers", Optional: true, Run: verifier.Healthy}},
		logins:        logins(c),
		about:         describe(c),
	}, nil
}

// logins says where people log in.
func logins(c config.Auth) []orchestration.Login {
	list := make([]orchestration.Login, len(c.Issuers))
	for i, issuer := range c.Issuers {
		list[i] = orchestration.Login{Issuer: issuer, ClientID: c.LoginClient(), Scopes: c.Scopes}
	}
	return list
}

// describe says who may do what.
func describe(c config.Auth) string {
	names := func(list []string) string {
		if len(list) == 0 {
			return "nobody"
		}
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("tokens of %s for %s; login as %s; groups from the claim %s; admin: %s; operator: %s",
		names(c.Issuers), names(c.Audiences), c.LoginClient(), c.GroupsClaim, names(c.AdminGroups), names(c.OperatorGroups))
}
