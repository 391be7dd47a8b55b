package auth

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// CheckIssuer returns an error that says what is wrong with the address of a provider.
func CheckIssuer(issuer string) error {
	if u, err := url.Parse(issuer); err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || !Secure(u) {
		return fmt.Errorf("the issuer %q is not an https address (http is accepted for this machine only)", issuer)
	}
	return nil
}

// Secure reports whether nobody on the way can answer instead of the provider.
func Secure(u *url.URL) bool {
	host := u.Hostname()
	return u.Scheme == "https" || u.Scheme == "http" && (host == "localhost" || host == "127.0.0.1" || host == "::1")
}

// maxDocument is the size of the largest answer of a provider that is read, in bytes.
const maxDocument = 1 << 20

// ProviderClient returns a client for requests to a provider, made from another one; nil takes one with a timeout of 10 s. It asks and follows
// nobody at an address where others could answer, and reads answers up to a mebibyte.
func ProviderClient(client *http.Client) *http.Client {
	own := http.Client{Timeout: 10 * time.Second}
	if client != nil {
		own = *client
	}
	if own.Transport == nil {
		own.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second, IdleConnTimeout: 30 * time.Second,
		}
	}
	own.Transport = limitedTransport{own.Transport}
	own.CheckRedirect = func(_ *http.Request, via []*http.Request) error {
		if len(via) > 3 {
			return errors.New("it sends somewhere else too often")
		}
		return nil
	}
	return &own
}

// limitedTransport cuts answers off, and asks nobody where others could answer.
type limitedTransport struct{ next http.RoundTripper }

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (t limitedTransport) CloseIdleConnections() {
	if closer, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !Secure(r.URL) {
		return nil, fmt.Errorf("the address %q of the provider is not an https address", r.URL.Scheme+"://"+r.URL.Host)
	}
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxDocument), response.Body}
	return response, nil
}
