package apiclient

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// crossroads is a server that answers everything below its own path with a redirect, and counts what arrives elsewhere.
func crossroads(t *testing.T, status int, location string) (address string, elsewhere *atomic.Int32) {
	t.Helper()
	elsewhere = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/swell/things/1" {
			elsewhere.Add(1)
			_, _ = fmt.Fprint(w, `{"id":"elsewhere"}`)
			return
		}
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/swell", elsewhere
}

func TestAWriteIsNeverSentToWhereAnAnswerPoints(t *testing.T) {
	t.Parallel()
	for _, status := range redirects {
		for _, req := range []Request{
			{Method: http.MethodPost, JSON: thing{ID: "1"}, IdempotencyKey: "key-1"},
			{Method: http.MethodPost, JSON: thing{ID: "1"}, Safe: true},
			{Method: http.MethodPost, Form: url.Values{"operation-id": {"op-1"}}},
			{Method: http.MethodPut},
			{Method: http.MethodDelete, Safe: true},
		} {
			for _, given := range []*http.Client{nil, {}, {CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}} {
				address, elsewhere := crossroads(t, status, "/other/things/1")
				req.Path = []string{"things", "1"}
				err := SendNoBody(t.Context(), New(Options{BaseURL: address, HTTPClient: given, Tries: 1}), req)
				require.ErrorContains(t, err, "redirects are not followed", "%s %d", req.Method, status)
				require.Zero(t, elsewhere.Load(), "%s %d", req.Method, status)
			}
		}
	}
}

func TestReadsFollowTheRedirectsThatTheGivenClientFollows(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given  *http.Client
		follow bool
	}{
		"none is given":           {nil, false},
		"the policy of net/http":  {&http.Client{}, true},
		"a policy of the caller":  {&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}, true},
		"a caller who wants none": {&http.Client{CheckRedirect: stay}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, elsewhere := crossroads(t, http.StatusTemporaryRedirect, "/other/things/1")
			got, err := Get[thing](t.Context(), New(Options{BaseURL: address, HTTPClient: test.given, Tries: 1}), []string{"things", "1"}, nil)
			if !test.follow {
				require.ErrorContains(t, err, "redirects are not followed")
				require.Zero(t, elsewhere.Load())
				return
			}
			require.NoError(t, err)
			require.Equal(t, "elsewhere", got.ID)
		})
	}
}

func TestTheErrorSaysWhereTheServerPoints(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"https://new.example/base/things/1":                   "it points to https://new.example/base; redirects",
		"https://new.example/things/1?page=2#top":             "it points to https://new.example; redirects",
		"https://login.example/auth?state=s3cret&token=t0ken": "it points to https://login.example/auth; redirects",
		"https://ann:s3cret@new.example/":                     "it points to https://new.example/; redirects",
		"//new.example/things/1":                              "it points to http://new.example; redirects",
		"https://new.example/\u202e\u009b2J":                  "it points to https://new.example/%E2%80%AE%C2%9B2J; redirects",
		"":                                                    "without an address that can be read",
	} {
		address, _ := crossroads(t, http.StatusPermanentRedirect, location)
		_, err := Get[thing](t.Context(), New(Options{BaseURL: address, Tries: 1}), []string{"things", "1"}, nil)
		require.ErrorContains(t, err, "status 308 Permanent Redirect: ", location)
		require.ErrorContains(t, err, want, location)
		for _, secret := range []string{"s3cret", "t0ken", "ann"} {
			require.NotContains(t, err.Error(), secret, location)
		}
	}
}
