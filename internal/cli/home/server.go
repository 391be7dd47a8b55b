package home

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// CheckURL returns an error when a text is not the address of a server.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("the address of the server, %q, does not have the form https://host:port", text)
	case u.User != nil:
		return errors.New("the address of the server must not hold a user name or a password")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("the address of the server, %q, must have neither query nor fragment", text)
	case slices.ContainsFunc(segments(u), func(segment string) bool { return segment == "." || segment == ".." }):
		return fmt.Errorf("the address of the server must not hold the steps . and .., as %q does", text)
	}
	return nil
}

// SameServer reports whether two addresses are those of one server.
func SameServer(a, b string) bool { return Server(a) == Server(b) }

// Server returns the address of a server in the one form that all ways to write it have in common: letter case of the host, a dot at its end, the usual
// port of the scheme, forms of IP addresses and slashes in the path make no difference. What is no address stays as it is.
func Server(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	scheme := strings.ToLower(u.Scheme)
	host := strings.TrimRight(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	usual := map[string]string{"http": "80", "https": "443"}[scheme]
	if port := strings.TrimLeft(u.Port(), "0"); port != "" && port != usual {
		host += ":" + port
	}
	text := scheme + "://" + host
	for _, segment := range segments(u) {
		if segment != "" {
			text += "/" + url.PathEscape(segment)
		}
	}
	return text
}

// segments returns the parts of a path, without the escapes.
func segments(u *url.URL) []string {
	parts := strings.Split(u.EscapedPath(), "/")
	for i, part := range parts {
		if plain, err := url.PathUnescape(part); err == nil {
			parts[i] = plain
		}
	}
	return parts
}
