package config

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/swell-fleet/swell/internal/auth"
)

// Auth says whose tokens are accepted and what their owners may do. Without issuers the server serves callers on its own machine, as admins.
type Auth struct {
	Issuers        []string `key:"issuers" usage:"OpenID Connect providers whose ID tokens are accepted, by their addresses as in the claim iss; empty serves this machine only, without login"`
	Audiences      []string `key:"audiences" usage:"values of which a token has to name one in its claim aud, such as the client ID of the command line"`
	ClientID       string   `key:"client-id" usage:"client that people log in as, as the issuers know it; everybody is told; empty takes the first of auth.audiences"`
	Scopes         []string `key:"scopes" usage:"scopes that a login asks the issuer for, such as openid,groups; everybody is told; empty leaves them to the program that logs in"`
	GroupsClaim    string   `key:"groups-claim" default:"groups" usage:"claim of a token that holds the groups, as text or a list"`
	AdminGroups    []string `key:"admin-groups" default:"runtimeAdmin" usage:"groups whose members may read and write"`
	OperatorGroups []string `key:"operator-groups" default:"runtimeOperator" usage:"groups whose members may read"`
	Algorithms     []string `key:"algorithms" default:"RS256,ES256,PS256" usage:"signature algorithms of tokens that are accepted"`
}

// Enabled reports whether callers have to log in.
func (a Auth) Enabled() bool { return len(a.Issuers) > 0 }

// LoginClient returns the client that people log in as.
func (a Auth) LoginClient() string {
	if a.ClientID == "" && len(a.Audiences) > 0 {
		return a.Audiences[0]
	}
	return a.ClientID
}

// TLS says how connections are encrypted. The files are read again when they change.
type TLS struct {
	Cert                string `key:"cert" usage:"file with the certificate of the server and those that sign it, as PEM; read again when it changes"`
	Key                 string `key:"key" usage:"file with the key of the certificate, as PEM; read again when it changes"`
	ClientCA            string `key:"client-ca" usage:"file with certificates, as PEM; every client then needs a certificate that one of them signed, besides its token"`
	TerminatedElsewhere bool   `key:"terminated-elsewhere" default:"false" usage:"a proxy in front of the server encrypts, so the server listens on a public address without TLS"`
}

// Enabled reports whether the server encrypts.
func (t TLS) Enabled() bool { return t.Cert != "" }

// Proxies returns the networks of the trusted proxies. Each is an address or a network such as 10.0.0.0/8.
func (a API) Proxies() ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range a.TrustedProxies {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			addr, addrErr := netip.ParseAddr(text)
			if addrErr != nil {
				return nil, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", text)
			}
			prefix = netip.PrefixFrom(addr.WithZone(""), addr.BitLen())
		}
		if prefix.Addr().Is4In6() {
			// Addresses of callers are compared in the form of IPv4.
			if prefix.Bits() < 96 {
				return nil, fmt.Errorf("%q is an address of IPv4 written as one of IPv6, and a network of others too", text)
			}
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		list = append(list, prefix)
	}
	return list, nil
}

// checkAccess checks who may reach the server and how.
func (c *Config) checkAccess(bad func(key, format string, args ...any)) {
	if c.Auth.Enabled() {
		for _, issuer := range c.Auth.Issuers {
			if err := auth.CheckIssuer(issuer); err != nil {
				bad("auth.issuers", "%v", err)
			}
		}
		if len(c.Auth.Audiences) == 0 {
			bad("auth.audiences", "it is empty, so tokens for any other service would be accepted; name the client ID that logs in")
		}
		if len(c.Auth.AdminGroups) == 0 && len(c.Auth.OperatorGroups) == 0 {
			bad("auth.admin-groups", "there are no groups at all, so nobody could do anything")
		}
		if c.Auth.GroupsClaim == "" {
			bad("auth.groups-claim", "it is empty")
		}
		if len(c.Auth.Algorithms) == 0 {
			bad("auth.algorithms", "it is empty")
		}
	}
	c.checkLogin(bad)
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		bad("tls.cert", "a certificate and its key belong together, and one of them is missing")
	}
	if c.TLS.ClientCA != "" && !c.TLS.Enabled() {
		bad("tls.client-ca", "clients cannot show certificates without tls.cert and tls.key")
	}
	if c.TLS.TerminatedElsewhere && c.TLS.Enabled() {
		bad("tls.terminated-elsewhere", "the server has a certificate of its own")
	}
	if _, err := c.API.Proxies(); err != nil {
		bad("api.trusted-proxies", "%v", err)
	}
	if !(c.API.RateLimit >= 0) || math.IsInf(c.API.RateLimit, 0) {
		bad("api.rate-limit", "%v is no rate", c.API.RateLimit)
	}
	if c.API.RateLimit > 0 && c.API.RateBurst < 1 {
		bad("api.rate-burst", "%d is below 1", c.API.RateBurst)
	}
	if c.API.MaxConnections < 0 {
		bad("api.max-connections", "%d is below 0", c.API.MaxConnections)
	}
	if c.API.MaxConnectionsOfOne < 0 {
		bad("api.max-connections-of-one", "%d is below 0", c.API.MaxConnectionsOfOne)
	}
	c.checkListen(bad)
}

// scope is what RFC 6749 lets a scope look like.
var scope = regexp.MustCompile(`^[!#-\[\]-~]+$`)

// checkLogin checks what people are told who want to log in.
func (c *Config) checkLogin(bad func(key, format string, args ...any)) {
	a := c.Auth
	if !a.Enabled() {
		if len(a.Audiences) > 0 || a.ClientID != "" || len(a.Scopes) > 0 {
			bad("auth.issuers", "it is empty, but auth.audiences, auth.client-id or auth.scopes is set; name the provider whose tokens are accepted")
		}
		return
	}
	client := a.LoginClient()
	if !utf8.ValidString(client) || strings.ContainsFunc(client, func(r rune) bool { return !unicode.IsPrint(r) }) {
		bad("auth.client-id", "%q has characters that cannot be shown", client)
	}
	if len(a.Audiences) > 0 && !slices.Contains(a.Audiences, client) {
		bad("auth.client-id", "%q is not among auth.audiences, so the tokens that a login as this client gives would be refused; add it there", client)
	}
	for _, name := range a.Scopes {
		if !scope.MatchString(name) {
			bad("auth.scopes", "%q is no scope", name)
		}
	}
	if len(a.Scopes) > 0 && !slices.Contains(a.Scopes, "openid") {
		bad("auth.scopes", "openid is missing, and without it a login gives no ID token")
	}
}

// checkListen refuses an address that others can reach as long as nobody has to say who they are, and one on which tokens could be read on the way.
func (c *Config) checkListen(bad func(key, format string, args ...any)) {
	host, _, err := net.SplitHostPort(c.Listen)
	switch {
	case err != nil:
		bad("listen", "%q does not have the form host:port", c.Listen)
	case LoopbackHost(host):
	case !c.Auth.Enabled():
		bad("listen", "%q can be reached from other machines, and without authentication everyone there could start upgrades; set auth.issuers, or use a loopback address such as 127.0.0.1:8080", c.Listen)
	case !c.TLS.Enabled() && !c.TLS.TerminatedElsewhere:
		bad("listen", "%q can be reached from other machines, and without tls.cert and tls.key tokens could be read on the way; with a proxy in front that encrypts set tls.terminated-elsewhere", c.Listen)
	}
}

// LoopbackHost reports whether a host without a port names this machine only: localhost or a loopback address.
func LoopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
