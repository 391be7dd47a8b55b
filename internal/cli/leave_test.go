package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// Who removes a context is logged out of its server. The login goes on at the servers of other contexts that it was made for, and ends with the last.
func TestRemovingAContextEndsItsLogin(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	login := home.Login{Issuer: "https://login.example", ClientID: "swell", Scopes: []string{"openid"}}
	require.NoError(t, folder.ChangeContexts(t.Context(), func(c *home.Contexts) error {
		for name, address := range map[string]string{"one": "https://one.example", "again": "https://ONE.example:443", "two": "https://two.example", "evil": "https://evil.example"} {
			c.Put(home.Context{Name: name, URL: address, Login: &login})
		}
		return nil
	}))
	_, err := tokens.Replace(t.Context(), folder, tokens.Tokens{
		Login: login, Subject: "ann", IDToken: "token", Servers: []string{"https://one.example", "https://two.example"},
	})
	require.NoError(t, err)
	for _, step := range []struct {
		remove string
		left   []string
	}{
		{"again", []string{"https://one.example", "https://two.example"}},
		{"one", []string{"https://two.example"}},
		{"two", nil},
	} {
		var errs bytes.Buffer
		c := &console.Console{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &errs, Home: folder, Clock: time.Now}
		require.Zero(t, cli.Run(t.Context(), c, []string{"context", "remove", step.remove}), errs.String())
		kept, ok, err := tokens.Load(folder, login)
		require.NoError(t, err)
		require.Equal(t, step.left != nil, ok, step.remove)
		require.Equal(t, step.left, kept.Servers, step.remove)
	}
}
