package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/auth"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
)

// A group is text or a list, providers do both; whatever else the claim holds gives no role, and never spoils the token.
func TestCase_A1(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	v := start(t, options(i))
	for claim, want := range map[string][]auth.Role{
		`"runtimeAdmin"`:                         {auth.Admin},
		`["runtimeAdmin"]`:                       {auth.Admin},
		`["runtimeOperator"]`:                    {auth.Operator},
		`["x","runtimeOperator","runtimeAdmin"]`: {auth.Admin, auth.Operator},
		`[]`:                                     nil,
		`null`:                                   nil,
		`""`:                                     nil,
		`[""]`:                                   nil,
		`[{"id":"runtimeAdmin"}]`:                nil,
		`{"runtimeAdmin":true}`:                  nil,
		`["runtimeAdmins"]`:                      nil,
		`["runtimeadmin"]`:                       nil,
		`[" runtimeAdmin"]`:                      nil,
		`"runtimeAdmin,runtimeOperator"`:         nil,
		`[["runtimeAdmin"]]`:                     nil,
		`17`:                                     nil,
		`true`:                                   nil,
		`[{"id":"x"},null,17,"runtimeOperator"]`: {auth.Operator},
		`["runtimeAdmin\u0000"]`:                 nil,
		`"` + strings.Repeat("runtimeAdmin", 100): nil,
	} {
		if strings.Count(claim, `"`)%2 != 0 {
			claim += `"`
		}
		who := valid(t, v, i.Token(issuer.Claims{"groups": json.RawMessage(claim)}))
		require.Equal(t, want, who.Roles, claim)
		require.Equal(t, "user-1", who.User)
	}
	require.Empty(t, valid(t, v, i.Token(nil)).Roles, "the claim is missing")
	require.Empty(t, valid(t, v, i.Token(issuer.Claims{"Groups": []string{"runtimeAdmin"}})).Roles, "names of claims are exact")
	for _, audience := range []any{issuer.Audience, []string{issuer.Audience}, []string{"other", "swell-cli"}} {
		valid(t, v, i.Token(issuer.Claims{"aud": audience}))
	}
	for _, audience := range []any{"other", []string{"other"}, []string{}, "swell-cl", nil} {
		invalid(t, v, i.Token(issuer.Claims{"aud": audience}), "the token is meant for another audience")
	}
}

func TestTheGroupsClaimMayHaveAnotherName(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	o := options(i)
	o.GroupsClaim = "https://swell.example/roles"
	v := start(t, o)
	who := valid(t, v, i.Token(issuer.Claims{o.GroupsClaim: "runtimeAdmin", "groups": "runtimeOperator"}))
	require.Equal(t, []auth.Role{auth.Admin}, who.Roles)
}

func TestTokensAreGoodForTheirTimeAndSomeLeeway(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	v := start(t, options(i))
	at := func(d time.Duration) int64 { return noon.Add(d).Unix() }
	valid(t, v, i.Token(issuer.Claims{"exp": at(time.Second)}))
	valid(t, v, i.Token(issuer.Claims{"exp": at(-30 * time.Second)}))
	valid(t, v, i.Token(issuer.Claims{"nbf": at(30 * time.Second)}))
	valid(t, v, i.Token(issuer.Claims{"nbf": float64(at(0)) + 0.5}))
	invalid(t, v, i.Token(issuer.Claims{"exp": at(-31 * time.Second)}), "the token has expired")
	invalid(t, v, i.Token(issuer.Claims{"exp": nil}), "the token has expired")
	invalid(t, v, i.Token(issuer.Claims{"exp": 0}), "the token has expired")
	invalid(t, v, i.Token(issuer.Claims{"nbf": at(31 * time.Second)}), "the token is not valid yet")
	for _, claims := range []issuer.Claims{{"nbf": "soon"}, {"exp": "later"}, {"exp": []int{1}}} {
		invalid(t, v, i.Token(claims), "the token does not verify")
	}
	invalid(t, v, i.Token(issuer.Claims{"nbf": 1e300}), "the claims of the token cannot be read")
}

func TestTheUserIsNobodyElse(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	v := start(t, options(i))
	for _, test := range []struct {
		claims issuer.Claims
		user   string
	}{
		{issuer.Claims{"email": "ann@example.com", "email_verified": true}, "ann@example.com"},
		{issuer.Claims{"email": "ann@example.com", "email_verified": "true"}, "ann@example.com"},
		{issuer.Claims{"email": "ann@example.com", "email_verified": false}, "user-1"},
		{issuer.Claims{"email": "ann@example.com"}, "user-1"},
		{issuer.Claims{"email": "ann@example.com\nroot", "email_verified": true}, "user-1"},
		{issuer.Claims{"email": "\x1b[2Jann@example.com", "email_verified": true}, "user-1"},
		{issuer.Claims{"email": []string{"ann@example.com"}, "email_verified": true}, "user-1"},
		{issuer.Claims{"preferred_username": "ann@example.com", "name": "ann@example.com"}, "user-1"},
		{issuer.Claims{"sub": "ann@example.com"}, "sub:ann@example.com"},
		{issuer.Claims{"email": "sub:ann@example.com", "email_verified": true}, "user-1"},
	} {
		who := valid(t, v, i.Token(test.claims))
		require.Equal(t, test.user, who.User)
		require.Equal(t, i.URL, who.Issuer)
		require.NotEmpty(t, who.Subject)
	}
	for _, subject := range []any{"", nil, "a\nb", "\x1b[31mroot", "a\u202eb", strings.Repeat("x", 256)} {
		invalid(t, v, i.Token(issuer.Claims{"sub": subject}), "the token names no subject that can be recorded")
	}
}

// Whatever mail addresses and subjects people have, two of them have one name only when they share the address or the subject.
func TestTwoPeopleHaveTwoNames(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	v := start(t, options(i))
	rapid.Check(t, func(r *rapid.T) {
		text := func(name string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"sub:", "u", "@"}), 1, 3).Draw(r, name), "")
		}
		type person struct{ mail, subject, name string }
		var people [2]person
		for n := range people {
			p := person{mail: text("mail"), subject: text("subject")}
			who, err := v.Verify(t.Context(), i.Token(issuer.Claims{"email": p.mail, "email_verified": true, "sub": p.subject}))
			if err != nil {
				r.Skip("a subject that cannot be recorded")
			}
			p.name = who.User
			people[n] = p
		}
		if a, b := people[0], people[1]; a.name == b.name && a.mail != b.mail && a.subject != b.subject {
			r.Fatalf("%+v and %+v have one name", a, b)
		}
	})
}

func TestSeveralIssuersAreKeptApart(t *testing.T) {
	t.Parallel()
	a, b := issuer.New(t, "https://a.example", clock), issuer.New(t, "https://b.example/realm", clock)
	stranger := issuer.New(t, "https://c.example", clock)
	v := start(t, options(a, b))
	require.Equal(t, "user-1 (https://a.example)", valid(t, v, a.Token(nil)).User)
	require.Equal(t, "user-1 (https://b.example/realm)", valid(t, v, b.Token(nil)).User)
	invalid(t, v, stranger.Token(nil), "the issuer of the token is not trusted")
	// Both have a key of the same name.
	invalid(t, v, b.Token(issuer.Claims{"iss": a.URL}), "the signature of the token is wrong")
	invalid(t, v, a.Token(issuer.Claims{"iss": "https://a.example/"}), "the issuer of the token is not trusted")
	invalid(t, v, a.Token(issuer.Claims{"iss": nil}), "the issuer of the token is not trusted")
	invalid(t, v, a.Token(issuer.Claims{"iss": []string{a.URL}}), "the token is not a JSON Web Token")
}

func TestClaimsThatCanBeReadInTwoWaysAreRefused(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	v := start(t, options(i))
	good, err := json.Marshal(i.Claims(nil))
	require.NoError(t, err)
	for _, more := range []string{
		`"groups":"runtimeOperator","groups":"runtimeAdmin"`, `"groups":"runtimeOperator","Groups":"runtimeAdmin"`,
		`"sub":"root"`, `"SUB":"root"`, `"Email_Verified":true`, `"\u017fub":"root"`, `"aud":"other"`, `"EXP":99999999999`,
	} {
		payload := string(good[:len(good)-1]) + "," + more + "}"
		who, err := v.Verify(t.Context(), i.Sign([]byte(payload), nil))
		var refused *auth.InvalidTokenError
		require.ErrorAs(t, err, &refused, more)
		require.Equal(t, auth.Identity{}, who)
	}
}

func TestOnlyAlgorithmsOfTheListAreAccepted(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	private := i.AddRSA("rsa-1")
	v := start(t, options(i))
	payload, err := json.Marshal(i.Claims(nil))
	require.NoError(t, err)
	sign := func(algorithm jose.SignatureAlgorithm, key any) string {
		return issuer.Sign(t, payload, jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: "rsa-1"}}, nil)
	}
	valid(t, v, sign(jose.RS256, private))
	valid(t, v, sign(jose.PS256, private))
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS384, jose.RS512, jose.PS512} {
		invalid(t, v, sign(algorithm, private), "the token does not verify")
	}
	// The public key is known to everyone, and must not serve as the secret of a symmetric algorithm.
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	require.NoError(t, err)
	for _, secret := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), private.N.Bytes()} {
		for _, algorithm := range []jose.SignatureAlgorithm{jose.HS256, jose.HS384, jose.HS512} {
			invalid(t, v, sign(algorithm, secret), "the token does not verify")
		}
	}
	encode := base64.RawURLEncoding.EncodeToString
	for _, algorithm := range []string{"none", "None", "NONE", "", "XS256", "ES256K"} {
		for _, signature := range []string{"", encode([]byte("x"))} {
			invalid(t, v, encode([]byte(`{"alg":"`+algorithm+`","kid":"rsa-1"}`))+"."+encode(payload)+"."+signature, "the token does not verify")
		}
	}
	// A key of the other kind under a known ID, and one that the token brings along.
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	invalid(t, v, sign(jose.ES256, own), "the signature of the token is wrong")
	public := jose.JSONWebKey{Key: own.Public(), KeyID: "rsa-1"}
	invalid(t, v, issuer.Sign(t, payload, jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: own, KeyID: "rsa-1"}}, map[string]any{
		"jwk": public, "jku": "https://evil.example/keys",
	}), "the signature of the token is wrong")
}

func TestOptionsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	_, err := auth.NewVerifier(auth.Options{
		Issuers:   []string{"http://login.example", "login.example", "https://a.example?x=1", "https://u:p@a.example", "https://b.example", "https://b.example"},
		Audiences: []string{""}, Algorithms: []string{"HS256", "none"}, Groups: auth.Groups{Admin: []string{""}}, Leeway: -1,
	})
	for _, part := range []string{
		`"http://login.example" is not`, `"login.example" is not`, "x=1", "u:p@", "named twice", "audience is empty", "HS256", "none", "group is empty", "logger", "negative",
	} {
		require.ErrorContains(t, err, part)
	}
	_, err = auth.NewVerifier(auth.Options{})
	require.ErrorContains(t, err, "no issuer is trusted")
	require.ErrorContains(t, err, "no audience is accepted")
	for _, address := range []string{"http://127.0.0.1:5556", "http://localhost:5556/realm", "http://[::1]:1", "https://login.example"} {
		o := options()
		o.Issuers = []string{address}
		_, err := auth.NewVerifier(o)
		require.NoError(t, err)
	}
}

func TestHugeTokensAndGarbageAreRefused(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	v := start(t, options(i))
	invalid(t, v, i.Token(issuer.Claims{"x": strings.Repeat("x", 40<<10)}), "the token is too long")
	good := i.Token(nil)
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	for _, token := range []string{
		"", ".", "..", "a.b.c", "a.b.c.d.e", parts[0] + "." + parts[1], good + ".", "." + good, parts[0] + ".." + parts[2],
		parts[0] + "." + encode([]byte("[]")) + "." + parts[2], parts[0] + "." + encode([]byte(strings.Repeat("[", 9000))) + "." + parts[2],
		parts[0] + "." + parts[1] + "!" + "." + parts[2], "\x00" + good, strings.Repeat("A", 32<<10),
	} {
		_, err := v.Verify(t.Context(), token)
		var refused *auth.InvalidTokenError
		require.ErrorAs(t, err, &refused, "%.40q", token)
	}
	changed := parts[0] + "." + encode([]byte(`{"iss":"`+i.URL+`","sub":"root","aud":"swell","exp":99999999999}`)) + "." + parts[2]
	invalid(t, v, changed, "the signature of the token is wrong")
	// The same token in the other notation of signed JSON, which has no place in a header.
	full := fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q,"x":".%s."}`, parts[1], parts[0], parts[2], parts[1])
	_, err := v.Verify(t.Context(), full)
	require.Error(t, err)
}

func TestTokensThatAreNoCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	v := start(t, options(i))
	payload, err := json.Marshal(i.Claims(nil))
	require.NoError(t, err)
	for _, kind := range []any{"logout+jwt", "secevent+jwt", "dpop+jwt", 17} {
		invalid(t, v, i.Sign(payload, map[string]any{"typ": kind}), "the token is not an ID token")
	}
	valid(t, v, i.Sign(payload, map[string]any{"typ": "at+jwt"}))
	_, err = v.Verify(t.Context(), i.Sign(payload, map[string]any{"crit": []string{"x"}, "x": 1}))
	require.Error(t, err, "a header that must be understood")
}

// What a provider signs for other purposes says so in its claims, also where its header does not.
func TestTokensOfOtherKindsAreRefusedByTheirClaims(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	v := start(t, options(i))
	logout := map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}
	for _, claims := range []issuer.Claims{
		{"events": logout}, {"events": logout, "sid": "s-1", "typ": "Logout"}, {"events": map[string]any{}}, {"events": "logout"},
		{"typ": "Refresh"}, {"typ": "refresh"}, {"typ": "OFFLINE"}, {"typ": "Offline"}, {"typ": "logout"}, {"typ": []string{"Refresh"}},
	} {
		claims["groups"] = "runtimeAdmin"
		payload, err := json.Marshal(i.Claims(claims))
		require.NoError(t, err)
		for _, header := range []map[string]any{{"typ": "JWT"}, {"typ": "at+jwt"}} {
			invalid(t, v, i.Sign(payload, header), "the token is not an ID token")
		}
	}
	for _, kind := range []any{"ID", "Bearer", "", json.RawMessage("null")} {
		valid(t, v, i.Token(issuer.Claims{"typ": kind, "events": json.RawMessage("null")}))
	}
	for _, other := range []string{"Typ", "EVENTS"} {
		invalid(t, v, i.Token(issuer.Claims{other: "Refresh"}), "the claims of the token cannot be read")
	}
}

func TestManyVerifyAtOnce(t *testing.T) {
	t.Parallel()
	i := issuer.New(t, "https://login.example", clock)
	v := start(t, options(i))
	good, bad := i.Token(issuer.Claims{"groups": "runtimeAdmin"}), i.Token(issuer.Claims{"aud": "other"})
	var wait sync.WaitGroup
	for n := range 64 {
		wait.Go(func() {
			for range 20 {
				if n%2 == 0 {
					who, err := v.Verify(t.Context(), good)
					require.NoError(t, err)
					require.Equal(t, []auth.Role{auth.Admin}, who.Roles)
				} else {
					_, err := v.Verify(t.Context(), bad)
					require.Error(t, err)
				}
				require.NoError(t, v.Healthy(t.Context()))
			}
		})
	}
	wait.Wait()
	require.Equal(t, 1, i.Requests("/keys"))
}

func BenchmarkVerify(b *testing.B) {
	i := issuer.New(b, "https://login.example", clock)
	v := start(b, options(i))
	token := i.Token(issuer.Claims{"groups": "runtimeAdmin"})
	for b.Loop() {
		_, err := v.Verify(b.Context(), token)
		require.NoError(b, err)
	}
}
