package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// remoteHost is the address at the other end of the connection, without the port.
func remoteHost(r *http.Request) string { return hostOf(r.RemoteAddr) }

// hostOf is an address without its port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// clientAddr is the address of whoever made the request. That is the other end of the connection, or, when that is a trusted proxy, who it says that
// it speaks for: the last address of X-Forwarded-For that is no trusted proxy itself. What stands before it was written by a stranger.
func (a *api) clientAddr(r *http.Request) string {
	peer := remoteHost(r)
	addr, err := netip.ParseAddr(peer)
	if err != nil {
		return peer
	}
	addr = addr.Unmap().WithZone("")
	if !a.trusts(addr) {
		return addr.String()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next, err := parseHop(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		addr = next.Unmap().WithZone("")
		if !a.trusts(addr) {
			break
		}
	}
	return addr.String()
}

// parseHop reads an address with or without a port.
func parseHop(text string) (netip.Addr, error) {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr(), nil
	}
	return netip.ParseAddr(text)
}

func (a *api) trusts(addr netip.Addr) bool { return contains(a.TrustedProxies, addr) }

func contains(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}
