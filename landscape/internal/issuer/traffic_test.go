package issuer_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/landscape/internal/issuer"
	"github.com/swell-fleet/swell/landscape/internal/port"
)

func (p *program) get(path string) (status int, body string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.URL()+path, http.NoBody)
	require.NoError(p.t, err)
	return p.do(request)
}

func TestDiscoverySaysWhatTheIssuerDoes(t *testing.T) {
	t.Parallel()
	p := start(t)
	provider, err := oidc.NewProvider(p.ctx(), p.URL())
	require.NoError(t, err)
	var document struct {
		Issuer     string   `json:"issuer"`
		Scopes     []string `json:"scopes_supported"`
		Grants     []string `json:"grant_types_supported"`
		Responses  []string `json:"response_types_supported"`
		Challenges []string `json:"code_challenge_methods_supported"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
		Device     string   `json:"device_authorization_endpoint"`
	}
	require.NoError(t, provider.Claims(&document))
	require.Equal(t, p.URL(), document.Issuer)
	require.Equal(t, everything, document.Scopes)
	require.Equal(t, []string{"authorization_code", "refresh_token", "client_credentials", "urn:ietf:params:oauth:grant-type:device_code"}, document.Grants)
	require.Equal(t, []string{"code"}, document.Responses)
	require.Equal(t, []string{"S256"}, document.Challenges)
	require.Equal(t, []string{"ES256"}, document.Algorithms)
	require.Equal(t, p.URL()+"/device_authorization", document.Device)
}

func TestRotatedKeysAreWithdrawnOrKept(t *testing.T) {
	t.Parallel()
	p := start(t)
	verify := func(token string) error {
		// A verifier of its own, which asks for the keys.
		provider, err := oidc.NewProvider(p.ctx(), p.URL())
		require.NoError(t, err)
		_, err = provider.VerifierContext(p.ctx(), &oidc.Config{ClientID: issuer.ClientID}).Verify(p.ctx(), token)
		return err
	}
	issue := func() string {
		tokens, err := p.Issue(issuer.Wish{User: "ann"})
		require.NoError(t, err)
		return tokens.IDToken
	}
	first, before := issue(), p.KeyID()
	id, err := p.RotateKeys(true)
	require.NoError(t, err)
	require.NotEqual(t, before, id)
	second := issue()
	require.NoError(t, verify(first), "kept")
	require.NoError(t, verify(second))
	_, err = p.RotateKeys(false)
	require.NoError(t, err)
	require.Error(t, verify(first))
	require.Error(t, verify(second))
	require.NoError(t, verify(issue()))
	for range 20 {
		_, err := p.RotateKeys(true)
		require.NoError(t, err)
	}
	_, body := p.get("/keys")
	require.Equal(t, 5, strings.Count(body, `"kid"`), "no more than that")
}

func TestIssuerGoesDownAndComesBack(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.login("ann")
	require.NoError(t, p.SetState(issuer.Down))
	require.NoError(t, p.SetState(issuer.Down))
	_, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.URL(), "http://"))
	require.ErrorContains(t, err, "refused")
	_, err = p.refresh(token.RefreshToken)
	require.Error(t, err)
	require.Equal(t, issuer.Down, p.State())
	require.NoError(t, p.SetState(issuer.Up))
	_, err = p.refresh(token.RefreshToken)
	require.NoError(t, err, "nothing is forgotten")
	require.ErrorIs(t, p.SetState("sideways"), issuer.ErrInvalid)
}

func TestFailingIssuerAnswersWith503(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.NoError(t, p.SetState(issuer.Failing))
	status, _ := p.get("/keys")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, 1, p.Requests().Refused["keys"])
}

func TestHangingIssuerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.NoError(t, p.SetState(issuer.Hanging))
	ask := func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL()+"/keys", http.NoBody)
		require.NoError(t, err)
		response, err := p.client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	asked := make(chan error, 1)
	askTimes := func(ctx context.Context, times int) {
		go func() { asked <- ask(ctx) }()
		require.Eventually(t, func() bool { return p.Requests().Received["keys"] == times }, time.Minute, time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	askTimes(ctx, 1)
	cancel()
	require.ErrorIs(t, <-asked, context.Canceled)

	askTimes(t.Context(), 2)
	require.NoError(t, p.SetState(issuer.Up))
	require.Error(t, <-asked, "what hung is cut")
	require.NoError(t, ask(t.Context()))
}

func TestHangingIssuerCloses(t *testing.T) {
	t.Parallel()
	i, err := issuer.Open(issuer.Options{})
	require.NoError(t, err)
	require.NoError(t, i.SetState(issuer.Hanging))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	asked := make(chan error, 1)
	go func() {
		response, err := (&http.Client{Transport: transport}).Get(i.URL() + "/keys")
		if err == nil {
			_ = response.Body.Close()
		}
		asked <- err
	}()
	require.Eventually(t, func() bool { return i.Requests().Received["keys"] == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, i.Close())
	require.Error(t, <-asked)
}

func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.login("ann")
	_, err := p.refresh(token.RefreshToken)
	require.NoError(t, err)
	_, err = p.refresh(token.RefreshToken)
	require.Error(t, err)
	p.post("/oauth/token", url.Values{"grant_type": {"made-up"}})
	p.get("/anything")
	require.Equal(t, issuer.Requests{
		Received: map[string]int{
			"discovery": 1, "authorize": 1, "login": 2, "callback": 1, "token/authorization_code": 1, "token/refresh_token": 2, "token/other": 1, "other": 1,
		},
		Refused: map[string]int{"token/refresh_token": 1, "token/other": 1, "other": 1},
	}, p.Requests())
	p.ForgetRequests()
	require.Empty(t, p.Requests().Received)
}

func TestLargeRequestsAndOtherNamesAreRefused(t *testing.T) {
	t.Parallel()
	p := start(t)
	status, _ := p.post("/oauth/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {strings.Repeat("x", 1<<20)}})
	require.Equal(t, http.StatusBadRequest, status)

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/keys", http.NoBody)
	require.NoError(t, err)
	request.Host = "evil.example.com"
	status, _ = p.do(request)
	require.Equal(t, http.StatusMisdirectedRequest, status)
}

func TestAnIssuerThatWasClosedStaysAway(t *testing.T) {
	t.Parallel()
	i := open(t, issuer.Options{})
	require.NoError(t, i.Close())
	require.ErrorIs(t, i.SetState(issuer.Up), port.ErrReleased)
	_, err := net.Dial("tcp", strings.TrimPrefix(i.URL(), "http://"))
	require.Error(t, err)
}
