package apiclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// The defaults of Options. The pauses between the tries sum up to 8 to 23 seconds, so the restart of a server passes unnoticed.
const (
	DefaultTries          = 6
	DefaultFirstPause     = 500 * time.Millisecond
	DefaultLongestPause   = 15 * time.Second
	DefaultRetryAfterCap  = time.Minute
	DefaultAttemptTimeout = 2 * time.Minute
	DefaultBodyLimit      = 64 << 20
)

// Options configure a Client. Only BaseURL is required.
type Options struct {
	// BaseURL is the address that all paths are relative to: http or https, with or without a path prefix and a trailing slash.
	BaseURL string
	// HTTPClient sends the requests. Nil means a client of its own on http.DefaultTransport, which follows no redirect. A client that is given follows
	// those of reads as its own policy says; a write is never sent to where an answer points.
	HTTPClient *http.Client
	// Auth brings the token whose AccessToken is sent as bearer. Nil means no Authorization header.
	Auth oauth2.TokenSource
	// NewError makes the error of an answer with an unexpected status. Nil means an error that has the failure's text only.
	NewError func(Failure) error
	// Tries is how often a request is sent at most, the first time included. 0 means DefaultTries.
	Tries uint
	// FirstPause is the pause before the second try; each later pause is about twice as long. 0 means DefaultFirstPause.
	FirstPause time.Duration
	// LongestPause limits the pauses that the client chooses. 0 means DefaultLongestPause.
	LongestPause time.Duration
	// RetryAfterCap limits the pauses that the server asks for with Retry-After. 0 means DefaultRetryAfterCap.
	RetryAfterCap time.Duration
	// AttemptTimeout limits a single try, the body of the answer included. 0 means DefaultAttemptTimeout.
	AttemptTimeout time.Duration
	// BodyLimit is the largest answer that is read, in bytes. 0 means DefaultBodyLimit.
	BodyLimit int64
}

// Client sends requests to one server.
type Client struct {
	opts Options
	base *url.URL
	// baseErr says what is wrong with the base URL. The constructors of the public packages have no error to return, so each call does.
	baseErr error
}

// New makes a client. A base URL that cannot be used is reported by every call.
func New(opts Options) *Client {
	setDefault(&opts.Tries, DefaultTries)
	setDefault(&opts.FirstPause, DefaultFirstPause)
	setDefault(&opts.LongestPause, DefaultLongestPause)
	setDefault(&opts.RetryAfterCap, DefaultRetryAfterCap)
	setDefault(&opts.AttemptTimeout, DefaultAttemptTimeout)
	setDefault(&opts.BodyLimit, DefaultBodyLimit)
	if opts.HTTPClient == nil {
		opts.HTTPClient = &http.Client{CheckRedirect: stay}
	}
	if opts.NewError == nil {
		opts.NewError = func(f Failure) error { return errors.New(f.String()) }
	}
	c := &Client{opts: opts}
	c.base, c.baseErr = parseBase(opts.BaseURL)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func parseBase(raw string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		// The error of url.Parse quotes its input, which may hold a password.
		var parseErr *url.Error
		if errors.As(err, &parseErr) {
			err = parseErr.Err
		}
		return nil, fmt.Errorf("parse base URL: %w", err)
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("base URL %s: the scheme must be http or https", printable(base))
	case base.Host == "":
		return nil, fmt.Errorf("base URL %s: the host is missing", printable(base))
	case base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("base URL %s: must have neither query nor fragment", printable(base))
	}
	return base, nil
}

// address joins the base URL, the escaped segments of a path and a query.
func (c *Client) address(path []string, query url.Values) (*url.URL, error) {
	if c.baseErr != nil {
		return nil, c.baseErr
	}
	escaped := strings.TrimRight(c.base.EscapedPath(), "/")
	for _, segment := range path {
		// These three would name another resource than the one that is meant.
		if segment == "" || segment == "." || segment == ".." {
			return nil, fmt.Errorf("build path %q: %q cannot be part of it", strings.Join(path, "/"), segment)
		}
		escaped += "/" + url.PathEscape(segment)
	}
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, fmt.Errorf("build path: %w", err)
	}
	u := *c.base
	u.Path, u.RawPath = plain, escaped
	u.RawQuery = query.Encode()
	return &u, nil
}

// printable is the address as it may appear in messages: without user name and password.
func printable(u *url.URL) string {
	public := *u
	public.User = nil
	return public.String()
}

// pageQuery returns a copy of query with the parameters that select a page; those that are 0 are left out.
func pageQuery(query url.Values, number, size int) url.Values {
	paged := make(url.Values, len(query)+2)
	for name, values := range query {
		paged[name] = values
	}
	if number > 0 {
		paged.Set("page", strconv.Itoa(number))
	}
	if size > 0 {
		paged.Set("page_size", strconv.Itoa(size))
	}
	return paged
}
