package issuer_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/landscape/internal/issuer"
)

// device starts the login of a device.
func (p *program) device() *oauth2.DeviceAuthResponse {
	p.t.Helper()
	d, err := p.config.DeviceAuth(p.ctx())
	require.NoError(p.t, err)
	return d
}

// ask asks once for the tokens of a device, and returns the error, if any.
func (p *program) ask(d *oauth2.DeviceAuthResponse) (kind string) {
	p.t.Helper()
	_, body := p.post("/oauth/token", url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {d.DeviceCode}, "client_id": {issuer.ClientID},
	})
	_, rest, found := strings.Cut(body, `"error":"`)
	if !found {
		require.Contains(p.t, body, `"id_token":"`)
		return ""
	}
	kind, _, _ = strings.Cut(rest, `"`)
	return kind
}

// patient lets devices ask as often as they like.
func (p *program) patient() {
	p.set(func(s *issuer.Settings) { s.Interval = lasting(time.Nanosecond) })
}

func TestDeviceWaitsForItsUser(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.patient()
	d := p.device()
	require.Equal(t, p.URL()+"/device", d.VerificationURI)
	require.Equal(t, p.URL()+"/device?user_code="+d.UserCode, d.VerificationURIComplete)
	require.EqualValues(t, 1, d.Interval)
	require.Equal(t, "authorization_pending", p.ask(d))
	require.Equal(t, "authorization_pending", p.ask(d))
	require.Equal(t, d.UserCode, p.Devices()[0].UserCode)
	require.NoError(t, p.AllowDevice(strings.ToLower(d.UserCode), "ann"))
	require.Empty(t, p.Devices())
	token, err := p.config.DeviceAccessToken(p.ctx(), d)
	require.NoError(t, err)
	verified, c := p.identify(token)
	require.Equal(t, "ann", verified.Subject)
	require.Equal(t, []any{"runtimeAdmin"}, c.Groups)
	_, err = p.refresh(token.RefreshToken)
	require.NoError(t, err)
	require.Equal(t, "invalid_grant", p.ask(d), "a code gets tokens once")
}

func TestDeviceIsDenied(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.patient()
	d := p.device()
	require.NoError(t, p.DenyDevice(d.UserCode))
	require.Equal(t, "access_denied", p.ask(d))
	require.ErrorIs(t, p.AllowDevice(d.UserCode, "ann"), issuer.ErrNotFound, "too late")
	require.Equal(t, "access_denied", p.ask(d))
}

func TestDeviceExpires(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.set(func(s *issuer.Settings) {
		s.DeviceCode, s.Interval = lasting(time.Nanosecond), lasting(time.Nanosecond)
	})
	d := p.device()
	require.Equal(t, "expired_token", p.ask(d))
	require.ErrorIs(t, p.AllowDevice(d.UserCode, "ann"), issuer.ErrNotFound)
	require.Empty(t, p.Devices())
}

func TestImpatientDeviceIsToldToSlowDown(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.set(func(s *issuer.Settings) { s.Interval = lasting(time.Hour) })
	d := p.device()
	require.EqualValues(t, 3600, d.Interval)
	require.Equal(t, "authorization_pending", p.ask(d))
	require.Equal(t, "slow_down", p.ask(d))
	require.NoError(t, p.AllowDevice(d.UserCode, "ann"))
	require.Equal(t, "slow_down", p.ask(d))
}

func TestDevicesCanBeSlowedDownAtWill(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.set(func(s *issuer.Settings) { s.Interval, s.SlowDowns = lasting(time.Nanosecond), 1 })
	d := p.device()
	require.Equal(t, "slow_down", p.ask(d))
	require.Equal(t, "slow_down", p.ask(d), "five seconds have not passed")
	require.Zero(t, p.Settings().SlowDowns)
	require.Equal(t, "authorization_pending", p.ask(p.device()))
}

func TestUnknownDeviceCodeIsInvalid(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.Equal(t, "invalid_grant", p.ask(&oauth2.DeviceAuthResponse{DeviceCode: "made-up"}))
}

func TestDeviceIsAllowedOnThePage(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.patient()
	d := p.device()

	status, page := p.get("/device")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, `name="user_code"`)
	status, page = p.get("/device?user_code=" + d.UserCode)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, d.UserCode)
	require.Contains(t, page, `<button name="user" value="ann">`)
	status, page = p.get("/device?user_code=BBBB-BBBB")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, page, "No device waits")

	status, page = p.post("/device", url.Values{"user_code": {d.UserCode}, "user": {"bob"}})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Connected")
	require.Empty(t, p.ask(d))

	d = p.device()
	status, page = p.post("/device", url.Values{"user_code": {d.UserCode}, "deny": {"yes"}})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Denied")
	require.Equal(t, "access_denied", p.ask(d))
	status, _ = p.post("/device", url.Values{"user_code": {d.UserCode}, "user": {"ann"}})
	require.Equal(t, http.StatusNotFound, status)
}
