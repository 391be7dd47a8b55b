package config_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/config"
)

// logins are the settings of a server that asks for tokens.
var logins = map[string]string{"gardener-namespace": "garden-demo", "auth-issuers": "https://login.example", "auth-audiences": "swell"}

func TestListsAreReadFromTextAndFromYAML(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"auth:\n  issuers: [https://a.example, https://b.example]\n  audiences: swell\n",
		"auth:\n  issuers: https://a.example, https://b.example\n  audiences:\n  - swell\n",
		"auth.issuers: 'https://a.example,https://b.example'\nauth.audiences: [swell]\n",
	} {
		c, err := config.Load(config.Sources{File: file(t, text), Flags: base})
		require.NoError(t, err)
		require.Equal(t, []string{"https://a.example", "https://b.example"}, c.Auth.Issuers)
		require.Equal(t, []string{"swell"}, c.Auth.Audiences)
		require.Equal(t, []string{"runtimeAdmin"}, c.Auth.AdminGroups)
		require.Equal(t, []string{"RS256", "ES256", "PS256"}, c.Auth.Algorithms)
		var out strings.Builder
		require.NoError(t, c.Dump(&out))
		require.Contains(t, out.String(), "auth.issuers: https://a.example,https://b.example\n")
	}
	c, err := config.Load(config.Sources{Environ: []string{"SWELL_AUTH_ISSUERS=https://a.example", "SWELL_AUTH_AUDIENCES= x , y ", "SWELL_AUTH_OPERATOR_GROUPS="}, Flags: base})
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y"}, c.Auth.Audiences)
	require.Empty(t, c.Auth.OperatorGroups)
	for _, text := range []string{"auth: {issuers: [[a]]}", "auth: {issuers: [{a: b}]}", "auth: {issuers: 'a,,b'}", "auth: {issuers: [a, '']}", "auth: {issuers: ['a,b']}", "auth: {issuers: {a: b}}"} {
		_, err := config.Load(config.Sources{File: file(t, text), Flags: base})
		require.ErrorContains(t, err, "auth.issuers", text)
	}
}

func TestWhoMayReachTheServer(t *testing.T) {
	t.Parallel()
	const public, local = "0.0.0.0:8080", "127.0.0.1:8080"
	for _, test := range []struct {
		listen string
		more   map[string]string
		key    string
	}{
		{local, nil, ""},
		{public, nil, "listen"},
		{public, map[string]string{"tls-cert": "c.pem", "tls-key": "k.pem"}, ""},
		{public, map[string]string{"tls-terminated-elsewhere": "true"}, ""},
		{public, map[string]string{"tls-cert": "c.pem", "tls-key": "k.pem", "auth-issuers": "", "auth-audiences": ""}, "listen"},
		{public, map[string]string{"tls-terminated-elsewhere": "true", "auth-issuers": "", "auth-audiences": ""}, "listen"},
		{local, map[string]string{"auth-issuers": ""}, "auth.issuers"},
		{local, map[string]string{"auth-issuers": "https://login.example,http://login.corp"}, "auth.issuers"},
		{local, map[string]string{"auth-issuers": "login.example"}, "auth.issuers"},
		{local, map[string]string{"auth-issuers": "", "auth-audiences": "", "auth-client-id": "swell"}, "auth.issuers"},
		{local, map[string]string{"auth-issuers": "", "auth-audiences": "", "auth-scopes": "openid"}, "auth.issuers"},
		{local, map[string]string{"auth-audiences": ""}, "auth.audiences"},
		{local, map[string]string{"auth-audiences": "", "auth-client-id": "swell"}, "auth.audiences"},
		{local, map[string]string{"auth-audiences": "swell,cli", "auth-client-id": "cli"}, ""},
		{local, map[string]string{"auth-client-id": "cli"}, "auth.client-id"},
		{local, map[string]string{"auth-client-id": " swell"}, "auth.client-id"},
		{local, map[string]string{"auth-client-id": "SWELL"}, "auth.client-id"},
		{local, map[string]string{"auth-audiences": "sw\x1bell", "auth-client-id": "sw\x1bell"}, "auth.client-id"},
		{local, map[string]string{"auth-audiences": "sw\u202eell"}, "auth.client-id"},
		{local, map[string]string{"auth-audiences": "sw\xffell"}, "auth.client-id"},
		{local, map[string]string{"auth-audiences": "swell,sw\u202eell"}, ""},
		{local, map[string]string{"auth-scopes": "openid"}, ""},
		{local, map[string]string{"auth-scopes": "groups, openid,api://swell/.default"}, ""},
		{local, map[string]string{"auth-scopes": "groups"}, "auth.scopes"},
		{local, map[string]string{"auth-scopes": "openid groups,openid"}, "auth.scopes"},
		{local, map[string]string{"auth-scopes": "openid,gro\u202eups"}, "auth.scopes"},
		{local, map[string]string{"auth-scopes": "openid,\"x"}, "auth.scopes"},
		{local, map[string]string{"auth-admin-groups": "", "auth-operator-groups": ""}, "auth.admin-groups"},
		{local, map[string]string{"auth-groups-claim": ""}, "auth.groups-claim"},
		{local, map[string]string{"auth-algorithms": ""}, "auth.algorithms"},
		{local, map[string]string{"tls-cert": "c.pem"}, "tls.cert"},
		{local, map[string]string{"tls-key": "k.pem"}, "tls.cert"},
		{local, map[string]string{"tls-client-ca": "ca.pem"}, "tls.client-ca"},
		{local, map[string]string{"tls-cert": "c.pem", "tls-key": "k.pem", "tls-terminated-elsewhere": "true"}, "tls.terminated-elsewhere"},
		{local, map[string]string{"api-trusted-proxies": "10.0.0.0/33"}, "api.trusted-proxies"},
		{local, map[string]string{"api-trusted-proxies": "proxy.example"}, "api.trusted-proxies"},
		{local, map[string]string{"api-rate-limit": "-1"}, "api.rate-limit"},
		{local, map[string]string{"api-rate-limit": "NaN"}, "api.rate-limit"},
		{local, map[string]string{"api-rate-burst": "0"}, "api.rate-burst"},
		{local, map[string]string{"api-max-connections": "-1"}, "api.max-connections"},
		{local, map[string]string{"api-max-connections-of-one": "-1"}, "api.max-connections-of-one"},
		{local, map[string]string{"api-max-connections": "0", "api-max-connections-of-one": "0"}, ""},
	} {
		flags := map[string]string{"listen": test.listen}
		for _, m := range []map[string]string{logins, test.more} {
			for name, value := range m {
				flags[name] = value
			}
		}
		_, err := config.Load(config.Sources{Flags: flags})
		if test.key == "" {
			require.NoError(t, err, flags)
			continue
		}
		require.Error(t, err, flags)
		require.True(t, strings.HasPrefix(err.Error(), test.key+": "), "%q does not begin with the key %q", err, test.key)
	}
}

func TestPeopleLogInAsTheFirstAudienceUnlessTheSettingsSay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ audiences, client, want string }{{"swell,cli", "", "swell"}, {"swell,cli", "cli", "cli"}, {"swell", "swell", "swell"}} {
		flags := map[string]string{"auth-issuers": "https://login.example", "auth-audiences": test.audiences, "auth-client-id": test.client}
		c, err := config.Load(config.Sources{Flags: with(flags)})
		require.NoError(t, err)
		require.Equal(t, test.want, c.Auth.LoginClient())
	}
	require.Empty(t, config.Auth{}.LoginClient())
}

func TestTrustedProxiesAreAddressesOrNetworks(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{Flags: with(map[string]string{"api-trusted-proxies": "10.0.0.0/8, 192.0.2.7,2001:db8::1,::ffff:127.0.0.1,::ffff:10.1.0.0/112"})})
	require.NoError(t, err)
	got, err := c.API.Proxies()
	require.NoError(t, err)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::1/128"),
		netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.1.0.0/16")}, got)
	_, err = config.Load(config.Sources{Flags: with(map[string]string{"api-trusted-proxies": "::ffff:10.0.0.0/64"})})
	require.ErrorContains(t, err, "api.trusted-proxies: ")
}
