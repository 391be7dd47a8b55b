package landscape

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Issuer is an OpenID Connect provider of its own for one test. It has the users ann (group runtimeAdmin), bob (runtimeOperator), eve (no groups),
// oscar (runtimeOperator, as plain text instead of a list) and mallory (runtimeOperator; name and mail address are hostile text).
type Issuer struct {
	// URL is its address, and the claim "iss" of its tokens.
	URL string `json:"issuer"`
	// ID is how the simulator calls it.
	ID string `json:"issuerID"`
	// ClientID is the public client, for code with PKCE, device codes and refresh, and the audience of all tokens. It leads to /callback on any port
	// of 127.0.0.1 or localhost.
	ClientID string `json:"clientID"`
	// RobotID and RobotSecret are a client for client credentials in the group runtimeOperator.
	RobotID     string `json:"robotID"`
	RobotSecret string `json:"robotSecret"`
	// AdminRobotID and AdminRobotSecret are another one in the group runtimeAdmin.
	AdminRobotID     string `json:"adminRobotID"`
	AdminRobotSecret string `json:"adminRobotSecret"`

	process *process
}

// IssuerOptions say what issuer to make.
type IssuerOptions struct {
	// Algorithm is ES256, the default, or RS256.
	Algorithm string
}

// NewIssuer makes an issuer for a test and removes it at its end. Without the simulator the test fails with one line that says what to do.
func NewIssuer(t testing.TB, o IssuerOptions) *Issuer {
	t.Helper()
	p, err := sharedProcess()
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{process: p}
	require.NoError(t, p.call(t.Context(), http.MethodPost, "/issuers", map[string]any{"algorithm": o.Algorithm}, i))
	t.Cleanup(func() {
		if err := p.call(context.Background(), http.MethodDelete, "/issuers/"+i.ID, nil, nil); err != nil {
			t.Errorf("remove the issuer: %v", err)
		}
	})
	return i
}

func (i *Issuer) call(t testing.TB, method, path string, body, answer any) {
	t.Helper()
	require.NoError(t, i.process.call(t.Context(), method, "/issuers/"+i.ID+path, body, answer))
}

// IssuerState is how an issuer treats requests.
type IssuerState string

// The states of an issuer.
const (
	// IssuerUp answers.
	IssuerUp IssuerState = "up"
	// IssuerDown refuses connections.
	IssuerDown IssuerState = "down"
	// IssuerFailing answers everything with 503.
	IssuerFailing IssuerState = "failing"
	// IssuerHanging takes requests and does not answer. They are cut when the state ends.
	IssuerHanging IssuerState = "hanging"
)

// SetState changes how the issuer treats requests, at once.
func (i *Issuer) SetState(t testing.TB, state IssuerState) {
	t.Helper()
	i.call(t, http.MethodPut, "/state", map[string]any{"state": state}, nil)
}

// RotateKeys signs with a new key from now on. The keys before it are withdrawn at once, or kept published.
func (i *Issuer) RotateKeys(t testing.TB, keep bool) {
	t.Helper()
	i.call(t, http.MethodPost, fmt.Sprintf("/keys?keep=%t", keep), nil, nil)
}

// IssuerSettings say how long things live from now on. What is zero stays as it is.
type IssuerSettings struct {
	// IDToken, AccessToken (an hour each) and RefreshToken (a day) are the lifetimes of tokens. The expiry in a token is in whole seconds.
	IDToken, AccessToken, RefreshToken time.Duration
	// Code is how long an authorization code can be exchanged: a minute.
	Code time.Duration
	// DeviceCode is how long a device can wait for its user: ten minutes.
	DeviceCode time.Duration
	// Interval is how long a device has to wait between two questions: a second. Who asks after less than half of it is told to slow down. Devices are
	// told whole seconds, at least one.
	Interval time.Duration
	// SlowDowns is how many of the next questions of devices are told to slow down whenever they come.
	SlowDowns int
}

// Set changes settings.
func (i *Issuer) Set(t testing.TB, s IssuerSettings) {
	t.Helper()
	changes := map[string]any{}
	for name, value := range map[string]time.Duration{
		"idToken": s.IDToken, "accessToken": s.AccessToken, "refreshToken": s.RefreshToken,
		"code": s.Code, "deviceCode": s.DeviceCode, "interval": s.Interval,
	} {
		if value != 0 {
			changes[name] = value.String()
		}
	}
	if s.SlowDowns != 0 {
		changes["slowDowns"] = s.SlowDowns
	}
	i.call(t, http.MethodPost, "/settings", changes, nil)
}

// ForgiveReuse says whether a refresh token that is used a second time is only refused. Otherwise, as from the start, it takes all tokens of its
// login with it.
func (i *Issuer) ForgiveReuse(t testing.TB, forgive bool) {
	t.Helper()
	i.call(t, http.MethodPost, "/settings", map[string]any{"reuseRevokes": !forgive}, nil)
}

// SetGroups puts a user, who is made if there is none of that name, into groups. None at all: the claim is absent. It shows in tokens from now on,
// also after a refresh.
func (i *Issuer) SetGroups(t testing.TB, user string, groups ...string) {
	t.Helper()
	i.SetUser(t, user, map[string]any{"groups": groups})
}

// SetUser changes fields of a user, who is made if there is none of that name: fullName, email, emailVerified, groups (a list, text or null).
func (i *Issuer) SetUser(t testing.TB, user string, fields map[string]any) {
	t.Helper()
	i.call(t, http.MethodPut, "/users/"+url.PathEscape(user), fields, nil)
}

// Revoke takes back all refresh and access tokens of a user, and returns how many refresh tokens that were. ID tokens stay valid.
func (i *Issuer) Revoke(t testing.TB, user string) int {
	t.Helper()
	var answer struct {
		Revoked int `json:"revoked"`
	}
	i.call(t, http.MethodDelete, "/users/"+url.PathEscape(user)+"/tokens", nil, &answer)
	return answer.Revoked
}

// Token returns an ID token for a user without a login, with the scopes openid, profile, email and groups.
func (i *Issuer) Token(t testing.TB, user string) string {
	t.Helper()
	return i.Issue(t, Wish{User: user}).IDToken
}

// Wish says what tokens to issue without a login.
type Wish struct {
	// User is whose they are.
	User string
	// Scopes are openid, profile, email and groups unless set. With offline_access there is a refresh token.
	Scopes []string
	// Lifetime is that of the ID token; as in the settings unless set. A negative one gives a token that has expired.
	Lifetime time.Duration
	// Claims go over those of the ID token; nil takes one away.
	Claims map[string]any
}

// IssuedTokens are the tokens of one login.
type IssuedTokens struct {
	IDToken      string    `json:"idToken"`
	RefreshToken string    `json:"refreshToken"`
	Expires      time.Time `json:"expires"`
}

// Issue returns tokens without a login.
func (i *Issuer) Issue(t testing.TB, w Wish) IssuedTokens {
	t.Helper()
	request := map[string]any{"user": w.User, "scopes": w.Scopes, "claims": w.Claims}
	if w.Lifetime != 0 {
		request["lifetime"] = w.Lifetime.String()
	}
	var tokens IssuedTokens
	i.call(t, http.MethodPost, "/tokens", request, &tokens)
	return tokens
}

// ApproveDevice lets the device that shows a code act for a user, without a browser.
func (i *Issuer) ApproveDevice(t testing.TB, userCode, user string) {
	t.Helper()
	i.call(t, http.MethodPost, "/devices/"+url.PathEscape(userCode), map[string]any{"user": user}, nil)
}

// DenyDevice refuses the device that shows a code.
func (i *Issuer) DenyDevice(t testing.TB, userCode string) {
	t.Helper()
	i.call(t, http.MethodPost, "/devices/"+url.PathEscape(userCode), nil, nil)
}

// Device is a device that waits for its user.
type Device struct {
	UserCode string    `json:"userCode"`
	ClientID string    `json:"clientID"`
	Scopes   []string  `json:"scopes"`
	Expires  time.Time `json:"expires"`
}

// Devices returns the devices that wait for their users.
func (i *Issuer) Devices(t testing.TB) []Device {
	t.Helper()
	var devices []Device
	i.call(t, http.MethodGet, "/devices", nil, &devices)
	return devices
}

// IssuerRequests counts requests by endpoint: discovery, keys, authorize, login, callback, token/authorization_code, token/refresh_token,
// token/client_credentials, token/device_code, token/other, device_authorization, device, userinfo, revoke, introspect, end_session, other.
type IssuerRequests struct {
	// Received are all that came in, whatever the state; none comes in while the issuer is down.
	Received map[string]int `json:"received"`
	// Refused are those of them that were answered with a status of 400 or more.
	Refused map[string]int `json:"refused"`
}

// Requests returns what was counted since the start, or since ForgetRequests.
func (i *Issuer) Requests(t testing.TB) IssuerRequests {
	t.Helper()
	var requests IssuerRequests
	i.call(t, http.MethodGet, "/requests", nil, &requests)
	return requests
}

// ForgetRequests begins to count anew.
func (i *Issuer) ForgetRequests(t testing.TB) {
	t.Helper()
	i.call(t, http.MethodDelete, "/requests", nil, nil)
}
