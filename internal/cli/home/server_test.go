package home_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/cli/home"
)

// A server is the same however its address is written: the provider that is remembered for it cannot be passed by.
func TestAServerIsTheSameHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	for want, written := range map[string][]string{
		"https://swell.example": {
			"https://swell.example", "https://swell.example/", "https://swell.example///", "https://SWELL.example:443", "HTTPS://swell.example.:443/",
			"https://swell.example:0443", "https://swell.example:",
		},
		"http://127.0.0.1":            {"http://127.0.0.1:80/", "http://127.0.0.1", "http://[::ffff:127.0.0.1]:80", "http://127.0.0.1.:80"},
		"https://127.0.0.1":           {"https://127.0.0.1:443", "https://[::ffff:7f00:1]/"},
		"https://[::1]":               {"https://[::1]:443", "https://[0:0:0:0:0:0:0:1]"},
		"https://[::1]:8443/swell":    {"https://[::1]:8443/swell/", "https://[0::1]:8443//swell"},
		"https://swell.example:80":    {"https://swell.example:80", "https://swell.example:080/"},
		"https://swell.example/a/b":   {"https://swell.example/a/b", "https://swell.example:443/a//%62/"},
		"https://swell.example/A/b":   {"https://swell.example/A/b/"},
		"https://swell.example/a%2Fb": {"https://swell.example/a%2Fb", "https://swell.example/a%2fb/"},
	} {
		for _, one := range written {
			require.Equal(t, want, home.Server(one), one)
			require.True(t, home.SameServer(want, one), one)
			require.NoError(t, home.CheckURL(one), one)
			contexts := home.Contexts{List: []home.Context{{Name: "known", URL: want}}}
			require.Len(t, contexts.Of(one), 1, one)
		}
	}
	for _, one := range []string{"https://swell.example/a/../b", "https://swell.example/.", "https://swell.example/%2e%2E/b"} {
		require.ErrorContains(t, home.CheckURL(one), "must not hold the steps . and ..", one)
	}
}

func TestTheFormOfAnAddressIsItsOwnForm(t *testing.T) {
	t.Parallel()
	part := rapid.StringMatching(`[a-zA-Z0-9.%/:\[\]-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.SampledFrom([]string{"http", "https", "HTTPS"}).Draw(t, "scheme") + "://" + part.Draw(t, "host") + "/" + part.Draw(t, "path")
		if home.CheckURL(address) != nil {
			t.Skip("it is no address")
		}
		form := home.Server(address)
		require.Equal(t, form, home.Server(form))
		_, err := url.Parse(form)
		require.NoError(t, err)
	})
}
