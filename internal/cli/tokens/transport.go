package tokens

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/swell-fleet/swell/internal/apiclient"
)

// Transport sends the token along with requests to one server, and nowhere else, and repeats a request once with a new token when the server
// says that the token is not good any more.
type Transport struct {
	// Server is the address of the server.
	Server *url.URL
	// Source brings the token.
	Source Source
	// Base carries the requests.
	Base http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.own(r.URL) {
		return t.Base.RoundTrip(r)
	}
	token, err := t.Source.Token(r.Context())
	if err != nil {
		return nil, refuse(r, err)
	}
	response, err := t.Base.RoundTrip(with(r, token, r.Body))
	if err != nil || !worn(response) || (r.Body != nil && r.GetBody == nil) {
		return response, err
	}
	fresh, err := t.Source.Renew(r.Context(), token)
	if err == nil && fresh == token {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, drained)
	_ = response.Body.Close()
	if err != nil {
		return nil, lasting(err)
	}
	body := r.Body
	if r.GetBody != nil {
		if body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.Base.RoundTrip(with(r, fresh, body))
}

// drained is how much of an answer that nobody needs is read, in bytes, so that its connection can be used again.
const drained = 4 << 10

// own reports whether an address is at the server. Whoever else is there, under the same host too, must not get the token.
func (t *Transport) own(u *url.URL) bool {
	base := strings.TrimRight(t.Server.EscapedPath(), "/")
	below, found := strings.CutPrefix(u.EscapedPath(), base)
	return strings.EqualFold(u.Scheme, t.Server.Scheme) && strings.EqualFold(u.Host, t.Server.Host) && found && (below == "" || below[0] == '/')
}

// worn reports whether the server says that the token is not good any more.
func worn(response *http.Response) bool {
	return response.StatusCode == http.StatusUnauthorized && strings.Contains(response.Header.Get("WWW-Authenticate"), `error="invalid_token"`)
}

// with returns a copy of a request with a token. A transport must not change the request itself.
func with(r *http.Request, token string, body io.ReadCloser) *http.Request {
	copied := r.Clone(r.Context())
	copied.Body = body
	copied.Header.Set("Authorization", "Bearer "+token)
	return copied
}

// refuse ends a request that was not sent.
func refuse(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return lasting(err)
}

// lasting marks an error so that the request is not tried again: the token was asked for as often as is good.
func lasting(err error) error { return &apiclient.TokenError{Err: err} }
