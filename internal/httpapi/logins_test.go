package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
	"github.com/swell-fleet/swell/orchestration"
)

// Whoever is logged in learns under which name and with which roles, also when there is none.
func TestCallersLearnWhoTheyAre(t *testing.T) {
	t.Parallel()
	f, i := withLogins(t)
	document := readDocument(t, f)
	for _, test := range []struct {
		claims issuer.Claims
		user   string
		groups []string
		roles  []string
	}{
		{issuer.Claims{"groups": "runtimeAdmin", "email": "ann@example.com", "email_verified": true}, "ann@example.com", []string{"runtimeAdmin"}, []string{"admin"}},
		{issuer.Claims{"groups": []string{"runtimeOperator", "others", "runtimeAdmin"}, "sub": "bob"}, "bob", []string{"runtimeOperator", "others", "runtimeAdmin"}, []string{"admin", "operator"}},
		{issuer.Claims{"groups": []string{"runtimeOperator"}, "sub": "<b>"}, "<b>", []string{"runtimeOperator"}, []string{"operator"}},
		{issuer.Claims{"groups": []string{"others"}, "email": "ann@example.com", "sub": "cyd"}, "cyd", []string{"others"}, []string{}},
		{issuer.Claims{"sub": "dan@example.com"}, "sub:dan@example.com", nil, []string{}},
	} {
		r := f.get("/whoami", "Authorization", "Bearer "+i.Token(test.claims))
		document.conforms(t, "/whoami", http.MethodGet, r)
		require.Equal(t, orchestration.Identity{User: test.user, Issuer: i.URL, Groups: test.groups, Roles: test.roles}, read[orchestration.Identity](t, r))
		require.NotContains(t, r.text, "null")
	}
	problem(t, f.get("/whoami"), http.StatusUnauthorized, "")
	require.JSONEq(t, `{"user":"local","roles":["admin"]}`, newFixture(t).get("/whoami").text)
}

func TestEverybodyLearnsWhereToLogIn(t *testing.T) {
	t.Parallel()
	logins := []orchestration.Login{
		{Issuer: "https://login.example", ClientID: "swell"},
		{Issuer: "https://other.example", ClientID: "swell", Scopes: []string{"openid", "groups"}},
	}
	f, _ := withLogins(t, func(o *httpapi.Options) { o.Logins = logins })
	for _, headers := range [][]string{nil, {"Authorization", "Bearer a.b.c"}} {
		r := f.get("/logins", headers...)
		readDocument(t, f).conforms(t, "/logins", http.MethodGet, r)
		require.Equal(t, orchestration.LoginList{Data: logins}, read[orchestration.LoginList](t, r))
	}
	require.JSONEq(t, `{"data":[]}`, newFixture(t).get("/logins").text, "there is none on a server without logins")
}

// A program tells by the header that a new token would help, and by the reason that it only has to be refreshed.
func TestAProgramCanTellWhyItsTokenIsRefused(t *testing.T) {
	t.Parallel()
	f, i := withLogins(t)
	token := func(claims issuer.Claims) string { return "Bearer " + i.Token(claims) }
	for authorization, challenge := range map[string]string{
		"": `Bearer realm="swell"`,
		token(issuer.Claims{"exp": noon.Add(-time.Hour).Unix()}): `Bearer realm="swell", error="invalid_token", error_description="the token has expired"`,
		token(issuer.Claims{"aud": "another"}):                   `Bearer realm="swell", error="invalid_token", error_description="the token is meant for another audience"`,
		token(issuer.Claims{"iss": "https://another.example"}):   `Bearer realm="swell", error="invalid_token", error_description="the issuer of the token is not trusted"`,
		token(issuer.Claims{"groups": "others"}): `Bearer realm="swell", error="insufficient_scope", ` +
			`error_description="this needs the role admin, and your groups give you none"`,
		token(issuer.Claims{"groups": "runtimeOperator"}): `Bearer realm="swell", error="insufficient_scope", error_description="this needs the role admin, and you have operator"`,
	} {
		r := request(http.MethodPost, "/upgrade/cluster", strings.NewReader("{}"))
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		got := f.send(r)
		require.Equal(t, challenge, got.header.Get("WWW-Authenticate"))
		if _, reason, ok := strings.Cut(challenge, "error_description="); ok {
			require.Equal(t, strings.Trim(reason, `"`), problem(t, got, got.status, "").Detail)
		}
	}
}
