package apiclient

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// stay is the policy of a client that follows no redirect: the answer is what it is.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// sender returns the HTTP client for a call. Only reads are up to the policy of the client that the caller gave: whoever answers a write with a
// redirect would have it, and its body, sent to a place that the caller did not choose.
func (c *Client) sender(call *call) *http.Client {
	if call.Method == http.MethodGet {
		return c.opts.HTTPClient
	}
	own := *c.opts.HTTPClient
	own.CheckRedirect = stay
	return &own
}

// redirects are the statuses of answers that send somewhere else.
var redirects = []int{
	http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
}

// pointer says where an answer sends; empty when it sends nowhere. What follows the address of a server is left out where that is what was asked for, so
// that the text is the address of a server again. Nothing is shown that may be secret.
func pointer(call *call, response *http.Response) string {
	if !slices.Contains(redirects, response.StatusCode) {
		return ""
	}
	target, err := response.Location()
	if err != nil {
		return "it sends somewhere else, without an address that can be read; redirects are not followed"
	}
	public := url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path, RawPath: target.RawPath}
	var asked strings.Builder
	for _, segment := range call.Path {
		asked.WriteString("/" + url.PathEscape(segment))
	}
	text := strings.TrimSuffix(public.String(), asked.String())
	return clean("it points to " + shorten(text) + "; redirects are not followed")
}
