package auth_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/auth"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
)

// FuzzVerify feeds tokens that are not signed by the provider, but look like those that are.
func FuzzVerify(f *testing.F) {
	i := issuer.New(f, "https://login.example", clock)
	v := start(f, options(i))
	good := i.Token(issuer.Claims{"groups": "runtimeAdmin"})
	_, err := v.Verify(f.Context(), good)
	require.NoError(f, err)
	parts := strings.Split(good, ".")
	f.Add(parts[0], parts[1], "")
	f.Add("eyJhbGciOiJub25lIn0", parts[1], "")
	f.Add("eyJhbGciOiJIUzI1NiJ9", parts[1], parts[2])
	f.Add(parts[0], "e30", parts[2])
	f.Add("", "", "")
	f.Add("{", "}", "\x00")
	f.Fuzz(func(t *testing.T, header, payload, signature string) {
		token := header + "." + payload + "." + signature
		who, err := v.Verify(t.Context(), token)
		if token == good {
			return
		}
		var refused *auth.InvalidTokenError
		if err == nil && strings.HasPrefix(token, parts[0]+"."+parts[1]+".") {
			return // the last letter of a signature has bits that do not count
		}
		require.ErrorAs(t, err, &refused)
		require.Equal(t, auth.Identity{}, who)
	})
}

// FuzzClaims feeds payloads that the provider did sign. Whatever stands in them, nothing but the groups claim gives a role.
func FuzzClaims(f *testing.F) {
	i := issuer.New(f, "https://login.example", clock)
	v := start(f, options(i))
	for _, seed := range []string{`{}`, `{"groups":["runtimeAdmin"]}`, `{"nbf":1e999}`, `{"email":"a@b","email_verified":true}`, `{"GROUPS":"runtimeAdmin"}`, `{"_claim_names":{"groups":"x"}}`, `[]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := i.Claims(nil)
		var more map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &more) != nil {
			return
		}
		for name, value := range more {
			all[name] = value
		}
		who, err := v.Verify(t.Context(), i.Token(all))
		if err != nil {
			var refused *auth.InvalidTokenError
			require.ErrorAs(t, err, &refused)
			return
		}
		require.NotEmpty(t, who.User)
		require.NotContains(t, who.User, "\n")
		if len(who.Roles) > 0 {
			require.Contains(t, string(more["groups"]), "runtime")
		}
	})
}

func FuzzReadGroups(f *testing.F) {
	for _, seed := range []string{`"a"`, `["a","b"]`, `[]`, `null`, `{"a":1}`, `[{"id":"a"}]`, `[[["a"]]]`, ``, `[`, "\"\xff\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, claim []byte) {
		for _, group := range auth.ReadGroups(claim) {
			require.NotEmpty(t, group)
		}
	})
}

// FuzzReadKeys feeds what a provider publishes as its keys. Whatever it is, only keys with which nobody but the provider can sign come out of it.
func FuzzReadKeys(f *testing.F) {
	i := issuer.New(f, "https://login.example", clock)
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"keys":null}`, `{"keys":[]}`, `{"keys":[null,17,{}]}`, `{"keys":[{"kty":"oct","k":"AAAA"}]}`, `{"KEYS":[{"kty":"RSA","n":"AQAB","e":"AQAB","use":"sig"}]}`,
		`{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","use":"enc"}]}`,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		i.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write(text)
			return true
		})
		keys, err := auth.ReadKeys(t.Context(), issuer.Client(i), i.URL+"/keys")
		require.Equal(t, err != nil, len(keys) == 0)
		for _, key := range keys {
			require.True(t, key.Valid())
			require.True(t, key.IsPublic())
			require.NotEqual(t, "enc", key.Use)
		}
		_, err = keys.VerifySignature(t.Context(), "eyJhbGciOiJSUzI1NiJ9.e30.AAAA")
		require.Error(t, err)
	})
}

func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer abc", "bearer abc.def-_~+/==", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearer a,Bearer b", "Bearer  a", "Bearer\ta", "Bearer é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, ok := auth.Bearer(header)
		require.Equal(t, ok, token != "")
		if ok {
			require.True(t, strings.EqualFold(header[:7], "Bearer "))
			require.Contains(t, header, token)
			require.False(t, slices.ContainsFunc([]byte(token), func(b byte) bool { return b <= ' ' || b == ',' || b == '"' || b > '~' }))
		}
	})
}

func TestBearer(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Bearer abc": "abc", "bearer a.b-c": "a.b-c", "BEARER  abc=": "abc=", "Bearer abc ": "abc",
		"": "", "Bearer": "", "Bearer ": "", "Basic abc": "", "abc": "", "Bearer a b": "", "Bearer a,b": "", "Bearer a\nb": "", "Bearer\tabc": "", "Bearer \"a\"": "",
	} {
		token, ok := auth.Bearer(header)
		require.Equal(t, want, token, header)
		require.Equal(t, want != "", ok, header)
	}
}
