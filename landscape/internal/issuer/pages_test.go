package issuer_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/landscape/internal/issuer"
)

// hostile is text that would do harm where it is not escaped.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`

// tags returns how often each tag is in a page, and fails for anything that could
// run.
func tags(t *testing.T, page string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	tokenizer := html.NewTokenizer(strings.NewReader(page))
	for tokenizer.Next() != html.ErrorToken {
		token := tokenizer.Token()
		if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
			continue
		}
		counts[token.Data]++
		require.NotContains(t, []string{"script", "img", "iframe", "object"}, token.Data, page)
		for _, attribute := range token.Attr {
			require.False(t, strings.HasPrefix(attribute.Key, "on"), page)
			require.NotContains(t, attribute.Val, "javascript:", page)
		}
	}
	return counts
}

func TestPagesEscapeWhatUsersAreCalled(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.NoError(t, p.SetUser(issuer.User{Name: hostile, FullName: hostile, Email: hostile}))
	location, err := p.authorize(nil).Location()
	require.NoError(t, err)
	_, page := p.get(location.RequestURI())
	require.Contains(t, page, "simulator")
	require.Equal(t, 1+len(p.Users()), tags(t, page)["button"], "one for each user and one to deny")
	_, c := p.identify(p.login("mallory"))
	require.Contains(t, c.Name, "<script>", "the claims are as hostile as they were made")
	require.Contains(t, c.Email, "\x1b[31m")
	verified, _ := p.identify(p.login(hostile))
	require.Equal(t, hostile, verified.Subject)
}

func TestPagesEscapeTheQuery(t *testing.T) {
	t.Parallel()
	p := start(t)
	query := url.QueryEscape(hostile)
	for _, path := range []string{
		"/device?user_code=" + query, "/login?request=" + query, "/login?error=" + query, "/authorize?client_id=" + query,
		"/authorize?client_id=swell&redirect_uri=" + query, "/authorize/callback?id=" + query, "/end_session?state=" + query, "/" + query,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+path, http.NoBody)
		require.NoError(t, err)
		response, err := p.client.Do(request)
		require.NoError(t, err)
		kind := response.Header.Get("Content-Type")
		require.NoError(t, response.Body.Close())
		if !strings.HasPrefix(kind, "text/html") {
			require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"), path)
			continue
		}
		require.Contains(t, response.Header.Get("Content-Security-Policy"), "default-src 'none'", path)
		_, page := p.get(path)
		tags(t, page)
	}
}

func TestStateComesBackAsItWas(t *testing.T) {
	t.Parallel()
	p := start(t)
	_, err := p.LogIn(t.Context(), p.config.AuthCodeURL(hostile, oauth2.S256ChallengeOption("v")), "ann")
	require.NoError(t, err)
	require.Equal(t, hostile, (<-p.called).Get("state"))
}

func TestOtherSitesCannotPressButtons(t *testing.T) {
	t.Parallel()
	p := start(t)
	d := p.device()
	form := url.Values{"user_code": {d.UserCode}, "user": {"ann"}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+"/device", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "http://evil.example.com")
	status, _ := p.do(request)
	require.Equal(t, http.StatusForbidden, status)
	require.Len(t, p.Devices(), 1)
}

func TestBrowserStaysWithTheIssuer(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, address := range []string{"", "http://127.0.0.1:1/authorize?x", p.URL() + "/device?x", p.URL() + ".example.com/authorize?x"} {
		_, err := p.LogIn(t.Context(), address, "ann")
		require.ErrorIs(t, err, issuer.ErrInvalid, address)
	}
	page, err := p.LogIn(t.Context(), p.URL()+"/authorize?client_id=unknown", "ann")
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, page.Status)
}
