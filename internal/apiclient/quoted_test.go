package apiclient

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// failing is a transport that brings no answer.
type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// What the other side has a part in, such as the names in a certificate, is no line of its own. What the caller's own transport says stays as it is.
func TestAnErrorOfTheNetworkIsOneLine(t *testing.T) {
	t.Parallel()
	cause := errors.New("valid for evil\nFORGED\x1b[2J\u202e")
	for _, test := range []struct {
		err  error
		want string
	}{
		{cause, "valid for evil FORGED [2J"},
		{&TokenError{errors.New("no token:\n  log in")}, "no token:\n  log in"},
	} {
		client := New(Options{BaseURL: "https://keb.example", HTTPClient: &http.Client{Transport: failing{test.err}}, Tries: 1})
		_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
		require.EqualError(t, err, "GET https://keb.example/things: "+test.want)
		require.ErrorIs(t, err, test.err)
	}
}
