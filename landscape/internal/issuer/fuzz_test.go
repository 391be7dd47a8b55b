package issuer

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

func FuzzGroups(f *testing.F) {
	for _, seed := range []string{`null`, `"one"`, `[]`, `["one","two"]`, `[null]`, `{}`, `7`, `"\u0000"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var groups Groups
		if json.Unmarshal(data, &groups) != nil {
			return
		}
		text, err := json.Marshal(groups)
		require.NoError(t, err)
		var again Groups
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, groups.claim(), again.claim())
	})
}

// FuzzWish asks for all kinds of tokens. One that is not refused can be read, and
// holds the claims that were wished for.
func FuzzWish(f *testing.F) {
	for _, seed := range []string{
		`{"user":"ann"}`, `{"user":"bob","scopes":["openid","offline_access","x"],"lifetime":"-1h"}`, `{"user":"ann","claims":{"groups":null,"iss":7,"exp":"never"}}`,
		`{"user":"nobody"}`, `{"user":"ann","lifetime":"99999h"}`, `{"user":"ann","claims":{"":{"a":[1e300,null]}}}`, `null`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	i, err := Open(Options{})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, i.Close()) })
	f.Fuzz(func(t *testing.T, data []byte) {
		var wish Wish
		if json.Unmarshal(data, &wish) != nil {
			return
		}
		tokens, err := i.Issue(wish)
		if err != nil {
			require.Empty(t, tokens)
			return
		}
		parts := strings.Split(tokens.IDToken, ".")
		require.Len(t, parts, 3)
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		require.NoError(t, err)
		var claims map[string]any
		require.NoError(t, json.Unmarshal(payload, &claims))
		for name, wanted := range wish.Claims {
			require.Equal(t, wanted, claims[name])
		}
		require.Equal(t, slices.Contains(wish.Scopes, oidc.ScopeOfflineAccess), tokens.RefreshToken != "")
	})
}
