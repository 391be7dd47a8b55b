package orchestration_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/orchestration"
)

func TestWhoAmI(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]orchestration.Identity{
		`{"user":"ann@example.com","issuer":"https://login.example","roles":["admin","operator"]}`: {
			User: "ann@example.com", Issuer: "https://login.example", Roles: []string{"admin", "operator"},
		},
		`{"user":"bob","roles":[]}`:              {User: "bob", Roles: []string{}},
		`{"user":"bob","roles":null,"more":{}}`:  {User: "bob", Roles: []string{}},
		`{"user":"local","roles":["something"]}`: {User: "local", Roles: []string{"something"}},
	} {
		server := newServer(t, answer(http.StatusOK, body))
		got, err := server.client(t, "/api/").WhoAmI()
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, []request{{Method: http.MethodGet, URI: "/api/whoami", Authorization: "Bearer id-token"}}, server.seen())
	}
}

func TestListLogins(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]orchestration.Login{
		`{"data":[]}`: {},
		`{"data":[{"issuer":"https://a.example","clientID":"swell"},{"issuer":"https://b.example","clientID":"cli","scopes":["openid","groups"]}]}`: {
			{Issuer: "https://a.example", ClientID: "swell"}, {Issuer: "https://b.example", ClientID: "cli", Scopes: []string{"openid", "groups"}},
		},
	} {
		server := newServer(t, answer(http.StatusOK, body))
		got, err := server.client(t, "/api").ListLogins()
		require.NoError(t, err)
		require.Equal(t, want, got.Data)
		require.Equal(t, []request{{Method: http.MethodGet, URI: "/api/logins"}}, server.seen(), "no token is sent")
	}
}

// noToken is a token source of somebody who has not logged in yet.
type noToken struct{}

func (noToken) Token() (*oauth2.Token, error) { return nil, errors.New("log in first") }

// Whoever wants to know where to log in has no token yet.
func TestListLoginsNeedsNoToken(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(http.StatusOK, `{"data":[]}`))
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := orchestration.NewHastyClient(t.Context(), server.URL, noToken{}, 10*time.Second, &http.Client{Transport: transport})
	_, err := client.ListLogins()
	require.NoError(t, err)
	_, err = client.WhoAmI()
	require.ErrorContains(t, err, "log in first")
	require.Len(t, server.seen(), 1)
}

// A server that is older, or no Swell at all, is not taken for one that knows nobody and has no logins.
func TestAccessAtOtherServers(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"older":          answer(http.StatusNotFound, `{"detail":"there is no route"}`),
		"another object": answer(http.StatusOK, `{"status":"ok"}`),
		"nulls":          answer(http.StatusOK, `{"user":null,"data":null}`),
		"a page":         answer(http.StatusOK, `<html>log in</html>`),
		"another type":   answer(http.StatusOK, `{"user":{},"data":{}}`),
	} {
		client := newServer(t, handler).client(t, "")
		identity, whoErr := client.WhoAmI()
		require.ErrorContains(t, whoErr, "ask who the caller is: ", name)
		require.Zero(t, identity)
		logins, err := client.ListLogins()
		require.ErrorContains(t, err, "list logins: ", name)
		require.Zero(t, logins)
		for _, err := range []error{whoErr, err} {
			var refused *orchestration.Error
			if require.Equal(t, name == "older", errors.As(err, &refused)); refused != nil {
				require.Equal(t, http.StatusNotFound, refused.Status)
			}
		}
	}
}
