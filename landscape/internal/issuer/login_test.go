package issuer_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/landscape/internal/issuer"
)

func TestLoginGivesAnIDTokenWithGroups(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []jose.SignatureAlgorithm{jose.ES256, jose.RS256} {
		t.Run(string(algorithm), func(t *testing.T) {
			t.Parallel()
			p := startFor(t, open(t, issuer.Options{Algorithm: algorithm}))
			verified, c := p.identify(p.login("ann"))
			require.Equal(t, p.URL(), verified.Issuer)
			require.Equal(t, "ann", verified.Subject)
			require.Equal(t, []string{issuer.ClientID}, verified.Audience)
			require.Equal(t, claims{Name: "Ann Admin", Email: "ann@example.com", Verified: true, Groups: []any{"runtimeAdmin"}}, c)
		})
	}
}

func TestGroupsAreAListTextOrAbsent(t *testing.T) {
	t.Parallel()
	p := start(t)
	for user, groups := range map[string]any{
		"ann": []any{"runtimeAdmin"}, "bob": []any{"runtimeOperator"}, "eve": nil, "oscar": "runtimeOperator",
	} {
		_, c := p.identify(p.login(user))
		require.Equal(t, groups, c.Groups, user)
	}
}

func TestScopesDecideWhatATokenSays(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.config.Scopes = []string{"openid", "unheard-of"}
	token := p.login("ann")
	require.Empty(t, token.RefreshToken, "only with offline_access")
	_, c := p.identify(token)
	require.Equal(t, claims{}, c)
}

func TestNonceComesBack(t *testing.T) {
	t.Parallel()
	p := start(t)
	verifier := oauth2.GenerateVerifier()
	address := p.config.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("nonce", "n-1"))
	_, err := p.LogIn(t.Context(), address, "bob")
	require.NoError(t, err)
	token, err := p.exchange((<-p.called).Get("code"), verifier)
	require.NoError(t, err)
	_, c := p.identify(token)
	require.Equal(t, "n-1", c.Nonce)
}

func TestDenyingLeadsBackWithAnError(t *testing.T) {
	t.Parallel()
	p := start(t)
	_, err := p.LogIn(t.Context(), p.config.AuthCodeURL("s-1", oauth2.S256ChallengeOption("v")), "")
	require.NoError(t, err)
	query := <-p.called
	require.Equal(t, "access_denied", query.Get("error"))
	require.Equal(t, "s-1", query.Get("state"))
}

func TestCodeNeedsItsVerifier(t *testing.T) {
	t.Parallel()
	p := start(t)
	code, verifier := p.code("ann")
	_, err := p.exchange(code, oauth2.GenerateVerifier())
	refused(t, err, "invalid_grant")
	_, err = p.exchange(code, verifier)
	refused(t, err, "invalid_grant")

	code, _ = p.code("ann")
	_, err = p.config.Exchange(p.ctx(), code)
	refused(t, err, "invalid_request")
}

func TestCodeWorksOnceAndASecondUseTakesTheTokensBack(t *testing.T) {
	t.Parallel()
	p := start(t)
	code, verifier := p.code("ann")
	token, err := p.exchange(code, verifier)
	require.NoError(t, err)
	_, err = p.exchange(code, verifier)
	refused(t, err, "invalid_grant")
	_, err = p.refresh(token.RefreshToken)
	refused(t, err, "invalid_grant")
}

func TestCodeExpires(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.set(func(s *issuer.Settings) { s.Code = lasting(time.Nanosecond) })
	_, err := p.exchange(p.code("ann"))
	refused(t, err, "invalid_grant")
}

func TestCodeIsForItsRedirectOnly(t *testing.T) {
	t.Parallel()
	p := start(t)
	code, verifier := p.code("ann")
	p.config.RedirectURL = "http://127.0.0.1:1/callback"
	_, err := p.exchange(code, verifier)
	refused(t, err, "invalid_grant")
}

// authorize asks for the page to log in on without following where it leads.
func (p *program) authorize(change url.Values) *http.Response {
	p.t.Helper()
	address, err := url.Parse(p.config.AuthCodeURL("s-1", oauth2.S256ChallengeOption("v")))
	require.NoError(p.t, err)
	query := address.Query()
	for name, values := range change {
		query[name] = values
	}
	address.RawQuery = query.Encode()
	client := *p.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Get(address.String())
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestLoopbackRedirectsMayHaveAnyPort(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, redirect := range []string{"http://127.0.0.1:1/callback", "http://localhost:65535/callback", "http://[::1]:4/callback", "http://127.0.0.1/callback"} {
		response := p.authorize(url.Values{"redirect_uri": {redirect}})
		require.Equal(t, http.StatusFound, response.StatusCode, redirect)
		require.Contains(t, response.Header.Get("Location"), "/login?request=", redirect)
	}
}

func TestForeignRedirectsAreNeverFollowed(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, redirect := range []string{
		"", "http://example.com/callback", "https://example.com/callback", "http://127.0.0.1:1/elsewhere", "http://127.0.0.1:1/callback?x=1",
		"http://127.0.0.1.example.com/callback", "javascript:alert(1)", "http://127.0.0.1:1@example.com/callback",
	} {
		response := p.authorize(url.Values{"redirect_uri": {redirect}})
		require.Equal(t, http.StatusBadRequest, response.StatusCode, redirect)
		require.Empty(t, response.Header.Get("Location"), redirect)
	}
}

func TestRequestsThatAreRefusedLeadBack(t *testing.T) {
	t.Parallel()
	p := start(t)
	for name, test := range map[string]struct {
		change url.Values
		kind   string
	}{
		"no PKCE":        {url.Values{"code_challenge": nil, "code_challenge_method": nil}, "invalid_request"},
		"plain PKCE":     {url.Values{"code_challenge_method": {"plain"}}, "invalid_request"},
		"implicit":       {url.Values{"response_type": {"id_token"}}, "unauthorized_client"},
		"no scope":       {url.Values{"scope": nil}, "invalid_request"},
		"script to post": {url.Values{"response_mode": {"form_post"}}, "invalid_request"},
		"no page wanted": {url.Values{"prompt": {"none"}}, "login_required"},
	} {
		response := p.authorize(test.change)
		require.Equal(t, http.StatusFound, response.StatusCode, name)
		location, err := response.Location()
		require.NoError(t, err)
		answer := location.Query()
		if location.Fragment != "" {
			answer, err = url.ParseQuery(location.Fragment)
			require.NoError(t, err)
		}
		require.Equal(t, test.kind, answer.Get("error"), name)
		require.Equal(t, "s-1", answer.Get("state"), name)
		require.Equal(t, "/callback", location.Path)
	}
	require.Equal(t, http.StatusBadRequest, p.authorize(url.Values{"client_id": {"unknown"}}).StatusCode)
	require.Equal(t, http.StatusBadRequest, p.authorize(url.Values{"client_id": {issuer.Robot}}).StatusCode)
}

func TestUserIsChosenOnce(t *testing.T) {
	t.Parallel()
	p := start(t)
	location, err := p.authorize(nil).Location()
	require.NoError(t, err)
	form := url.Values{"request": {location.Query().Get("request")}, "user": {"nobody"}}
	post := func() int {
		client := *p.client
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		response, err := client.PostForm(p.URL()+"/login", form)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, http.StatusNotFound, post(), "an unknown user")
	form.Set("user", "bob")
	require.Equal(t, http.StatusSeeOther, post())
	form.Set("user", "ann")
	require.Equal(t, http.StatusNotFound, post(), "somebody else afterwards")
}

func TestUserinfoSaysWhatTheScopesAllow(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.login("oscar")
	ask := func() (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/userinfo", http.NoBody)
		require.NoError(t, err)
		token.SetAuthHeader(request)
		return p.do(request)
	}
	status, body := ask()
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"sub":"oscar","name":"Oscar Only","preferred_username":"oscar","email":"oscar@example.com","email_verified":true,"groups":"runtimeOperator"}`, body)
	_, err := p.RevokeUser("oscar")
	require.NoError(t, err)
	status, _ = ask()
	require.Equal(t, http.StatusForbidden, status)
}
