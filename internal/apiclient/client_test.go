package apiclient

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

func TestAddressesJoinBaseURLAndPath(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://keb.example":         "https://keb.example/orchestrations/o-1",
		"https://keb.example/":        "https://keb.example/orchestrations/o-1",
		" https://keb.example/ ":      "https://keb.example/orchestrations/o-1",
		"https://keb.example/api":     "https://keb.example/api/orchestrations/o-1",
		"https://keb.example/api///":  "https://keb.example/api/orchestrations/o-1",
		"http://keb.example:8080/a/b": "http://keb.example:8080/a/b/orchestrations/o-1",
		"http://[::1]:8080":           "http://[::1]:8080/orchestrations/o-1",
		"https://keb.example/a%2Fb/":  "https://keb.example/a%2Fb/orchestrations/o-1",
	} {
		address, err := New(Options{BaseURL: base}).address([]string{"orchestrations", "o-1"}, nil)
		require.NoError(t, err, base)
		require.Equal(t, want, address.String(), base)
	}
}

func TestPathSegmentsAndQueriesAreEscaped(t *testing.T) {
	t.Parallel()
	client := New(Options{BaseURL: "https://keb.example/api/"})

	address, err := client.address([]string{"orchestrations", "a/b c?d#e%&é"}, url.Values{"state": {"in progress", "a&b"}})
	require.NoError(t, err)
	require.Equal(t, "https://keb.example/api/orchestrations/a%2Fb%20c%3Fd%23e%25&%C3%A9?state=in+progress&state=a%26b", address.String())

	for _, segment := range []string{"", ".", ".."} {
		_, err := client.address([]string{"orchestrations", segment}, nil)
		require.ErrorContains(t, err, "cannot be part of it")
	}
}

func TestBaseURLsThatCannotBeUsedAreReportedByTheCalls(t *testing.T) {
	t.Parallel()
	for base, reason := range map[string]string{
		"":                                  "scheme",
		"keb.example":                       "scheme",
		"ftp://keb.example":                 "scheme",
		"unix:///run/keb":                   "scheme",
		"https://":                          "host",
		"https:///runtimes":                 "host",
		"https://keb.example?page=1":        "query",
		"https://keb.example/#top":          "fragment",
		"https://operator:s3cret@keb\x7f/":  "parse base URL",
		"https://operator:s3cret@keb:port/": "parse base URL",
		"ftp://operator:s3cret@keb.example": "scheme",
	} {
		_, err := Get[thing](t.Context(), New(Options{BaseURL: base}), []string{"things"}, nil)
		require.ErrorContains(t, err, reason, base)
		require.NotContains(t, err.Error(), "s3cret", base)
	}
}

func TestRequestsCarryTheirHeaders(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		auth oauth2.TokenSource
		req  Request
		want map[string]string
	}{
		"a token source becomes a bearer token": {
			auth: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "id-token", TokenType: "mac"}),
			req:  Request{Method: http.MethodGet},
			want: map[string]string{"Authorization": "Bearer id-token", "Accept": "application/json"},
		},
		"an anonymous request has none": {
			auth: tokenSource(func() (*oauth2.Token, error) { return nil, errors.New("asked for a token") }),
			req:  Request{Method: http.MethodGet, Anonymous: true},
			want: map[string]string{"Accept": "application/json"},
		},
		"without one there is no authorization": {
			req:  Request{Method: http.MethodPut},
			want: map[string]string{"Accept": "application/json"},
		},
		"JSON with an idempotency key": {
			req: Request{Method: http.MethodPost, JSON: thing{ID: "1"}, IdempotencyKey: "key-1"},
			want: map[string]string{
				"Accept": "application/json", "Content-Type": "application/json", "Idempotency-Key": "key-1",
			},
		},
		"a form": {
			req:  Request{Method: http.MethodPost, Form: url.Values{"operation-id": {"op-1"}}},
			want: map[string]string{"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]string{}
			client := overNetwork(t, func(_ http.ResponseWriter, r *http.Request) {
				for _, key := range []string{"Authorization", "Accept", "Content-Type", "Idempotency-Key"} {
					if value := r.Header.Get(key); value != "" {
						seen[key] = value
					}
				}
			}, func(o *Options) { o.Auth = test.auth })
			test.req.Path = []string{"things"}
			require.NoError(t, SendNoBody(t.Context(), client, test.req))
			require.Equal(t, test.want, seen)
		})
	}
}

// tokenSource is a token source made of a function.
type tokenSource func() (*oauth2.Token, error)

func (f tokenSource) Token() (*oauth2.Token, error) { return f() }

func TestATokenThatCannotBeHadIsAnErrorBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	handler := func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }
	broken := errors.New("issuer is away")
	for _, source := range []tokenSource{
		func() (*oauth2.Token, error) { return nil, broken },
		func() (*oauth2.Token, error) { return nil, nil },
		func() (*oauth2.Token, error) { return &oauth2.Token{}, nil },
	} {
		client := overNetwork(t, handler, func(o *Options) { o.Auth = source })
		_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
		require.ErrorContains(t, err, "get token")
	}
	client := overNetwork(t, handler, func(o *Options) {
		o.Auth = tokenSource(func() (*oauth2.Token, error) { return nil, broken })
	})
	_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
	require.ErrorIs(t, err, broken)
}

func TestEachTryAsksForItsToken(t *testing.T) {
	t.Parallel()
	tokens := []string{"old", "new"}
	var seen []string
	client := overNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		if len(seen) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{}`))
	}, func(o *Options) {
		o.Auth = tokenSource(func() (*oauth2.Token, error) {
			token := tokens[0]
			tokens = tokens[1:]
			return &oauth2.Token{AccessToken: token}, nil
		})
	})
	_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"Bearer old", "Bearer new"}, seen)
}

func TestUserAndPasswordOfTheBaseURLAreUsedButNeverShown(t *testing.T) {
	t.Parallel()
	client := overNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "operator" || password != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}, func(o *Options) {
		o.BaseURL = "http://operator:s3cret@" + o.BaseURL[len("http://"):]
	})
	_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
	require.ErrorContains(t, err, "status 418")
	require.NotContains(t, err.Error(), "operator")

	unreachable := New(Options{BaseURL: "http://operator:s3cret@127.0.0.1:1", Tries: 1})
	_, err = Get[thing](t.Context(), unreachable, []string{"things"}, nil)
	require.ErrorContains(t, err, "GET http://127.0.0.1:1/things: ")
	require.NotContains(t, err.Error(), "operator")
}

func TestAPageIsSelectedWithoutTouchingTheFilters(t *testing.T) {
	t.Parallel()
	query := url.Values{"state": {"failed"}}
	require.Equal(t, url.Values{"state": {"failed"}, "page": {"2"}, "page_size": {"50"}}, pageQuery(query, 2, 50))
	require.Equal(t, url.Values{"state": {"failed"}, "page": {"1"}}, pageQuery(query, 1, 0))
	require.Equal(t, url.Values{"page": {"1"}}, pageQuery(nil, 1, 0))
	require.Equal(t, url.Values{"state": {"failed"}}, query)
}
