package landscape_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/internal/testkit/landscape"
)

// waiting is a program that waits for a code on a loopback port.
func waiting(t *testing.T, i *landscape.Issuer) (oauth2.Config, <-chan url.Values) {
	t.Helper()
	called := make(chan url.Values, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called <- r.URL.Query()
		_, _ = w.Write([]byte("go back to your terminal"))
	}))
	t.Cleanup(server.Close)
	return oauth2.Config{
		ClientID: i.ClientID, RedirectURL: server.URL + "/callback", Scopes: []string{"openid", "groups", "offline_access"}, Endpoint: oauth2.Endpoint{
			AuthURL: i.URL + "/authorize", TokenURL: i.URL + "/oauth/token", DeviceAuthURL: i.URL + "/device_authorization", AuthStyle: oauth2.AuthStyleInParams,
		},
	}, called
}

func TestUserLogsInInAPlayedBrowser(t *testing.T) {
	t.Parallel()
	i := landscape.NewIssuer(t, landscape.IssuerOptions{Algorithm: "RS256"})
	config, called := waiting(t, i)
	verifier := oauth2.GenerateVerifier()
	address := config.AuthCodeURL("s-1", oauth2.S256ChallengeOption(verifier))
	page := i.LogIn(t, address, "ann")
	require.Equal(t, http.StatusOK, page.Status)
	require.Equal(t, "go back to your terminal", page.Body)
	query := <-called
	require.Equal(t, "s-1", query.Get("state"))
	token, err := config.Exchange(t.Context(), query.Get("code"), oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	require.NotEmpty(t, token.Extra("id_token"))

	i.Set(t, landscape.IssuerSettings{AccessToken: time.Minute, RefreshToken: time.Hour})
	refreshed, err := config.TokenSource(t.Context(), &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Minute), refreshed.Expiry, 30*time.Second)
	require.Equal(t, 1, i.Requests(t).Received["token/refresh_token"])
	i.ForgetRequests(t)
	require.Empty(t, i.Requests(t).Received)
	require.Equal(t, 1, i.Revoke(t, "ann"))

	i.LogIn(t, address, "")
	require.Equal(t, "access_denied", (<-called).Get("error"))
	_, err = i.Browse(t.Context(), address, "nobody")
	require.ErrorContains(t, err, "nobody")
	_, err = i.Browse(t.Context(), i.URL+"/device", "ann")
	require.ErrorContains(t, err, "/device")
}

func TestDevicesAreApprovedAndDenied(t *testing.T) {
	t.Parallel()
	i := landscape.NewIssuer(t, landscape.IssuerOptions{})
	i.Set(t, landscape.IssuerSettings{Interval: time.Millisecond})
	config, _ := waiting(t, i)
	d, err := config.DeviceAuth(t.Context())
	require.NoError(t, err)
	require.Equal(t, d.UserCode, i.Devices(t)[0].UserCode)
	i.ApproveDevice(t, d.UserCode, "bob")
	token, err := config.DeviceAccessToken(t.Context(), d)
	require.NoError(t, err)
	require.NotEmpty(t, token.RefreshToken)

	d, err = config.DeviceAuth(t.Context())
	require.NoError(t, err)
	i.DenyDevice(t, d.UserCode)
	_, err = config.DeviceAccessToken(t.Context(), d)
	require.ErrorContains(t, err, "access_denied")
}

func TestIssuerDoesWhatTheTestSays(t *testing.T) {
	t.Parallel()
	i := landscape.NewIssuer(t, landscape.IssuerOptions{})
	other := landscape.NewIssuer(t, landscape.IssuerOptions{})
	before := i.Token(t, "ann")
	i.SetGroups(t, "ann")
	i.SetGroups(t, "new", "some", "groups")
	i.RotateKeys(t, false)
	require.Len(t, strings.Split(before, "."), 3)
	require.NotEmpty(t, i.Issue(t, landscape.Wish{User: "new", Scopes: []string{"openid", "offline_access"}}).RefreshToken)
	expired := i.Issue(t, landscape.Wish{User: "new", Lifetime: -time.Minute, Claims: map[string]any{"aud": "others"}})
	require.True(t, expired.Expires.Before(time.Now()))
	i.ForgiveReuse(t, true)

	reached := func(of *landscape.Issuer) bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(of.URL, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	require.True(t, reached(i))
	i.SetState(t, landscape.IssuerDown)
	require.False(t, reached(i))
	require.True(t, reached(other))
	i.SetState(t, landscape.IssuerUp)
	require.True(t, reached(i))
}
