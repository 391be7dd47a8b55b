package control_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/landscape/internal/control"
	"github.com/swell-fleet/swell/landscape/internal/issuer"
	"github.com/swell-fleet/swell/landscape/internal/landscape"
)

// newIssuer makes an issuer from the fields of a request, and returns where it is
// and the path of its routes.
func newIssuer(t *testing.T, fields map[string]any) (control.IssuerInfo, string) {
	t.Helper()
	var info control.IssuerInfo
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, "/issuers", fields, &info))
	t.Cleanup(func() {
		require.Equal(t, http.StatusNoContent, call(t, http.MethodDelete, "/issuers/"+info.IssuerID, nil, nil))
	})
	return info, "/issuers/" + info.IssuerID
}

func TestIssuersComeAndGo(t *testing.T) {
	first, path := newIssuer(t, map[string]any{"id": "named"})
	require.Equal(t, "named", first.IssuerID)
	require.Equal(t, "swell", first.ClientID)
	require.Equal(t, []string{"ann", "bob", "eve", "mallory", "oscar"}, first.Users)
	second, _ := newIssuer(t, map[string]any{"algorithm": "RS256", "settings": map[string]any{"idToken": "5m"}})
	require.NotEqual(t, first.Issuer, second.Issuer)
	require.NotEqual(t, first.RobotSecret, second.RobotSecret)
	require.NotEqual(t, first.RobotSecret, first.AdminRobotSecret)

	var again control.IssuerInfo
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, path, nil, &again))
	require.Equal(t, first, again)
	var all []control.IssuerInfo
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, "/issuers", nil, &all))
	require.Subset(t, all, []control.IssuerInfo{first, second})

	// A made-up ID is never one that is taken.
	_, _ = newIssuer(t, map[string]any{"id": "i4"})
	_, _ = newIssuer(t, nil)
	_, _ = newIssuer(t, nil)
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, "/issuers", map[string]any{"id": "a/b"}, nil))
	require.Equal(t, http.StatusConflict, call(t, http.MethodPost, "/issuers", map[string]any{"id": "named"}, nil))
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, "/issuers", map[string]any{"algorithm": "none"}, nil))
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, "/issuers", map[string]any{"settings": map[string]any{"idToken": "0s"}}, nil))
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, "/issuers", map[string]any{"settings": map[string]any{"other": 1}}, nil))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, "/issuers/unknown", nil, nil))
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodDelete, "/issuers/"+landscape.MainIssuer, nil, nil))
}

func TestIssuerIsSteeredFromOutside(t *testing.T) {
	info, path := newIssuer(t, nil)
	var settings issuer.Settings
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, path+"/settings", map[string]any{"interval": "20ms", "reuseRevokes": false}, &settings))
	wanted := issuer.DefaultSettings()
	wanted.Interval, wanted.ReuseRevokes = 20e6, false
	require.Equal(t, wanted, settings)
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, path+"/settings", map[string]any{"code": "-1s"}, nil))
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, path+"/settings", nil, &settings))
	require.Equal(t, wanted, settings, "what was there stays")

	var keys, more struct {
		KeyID string `json:"keyID"`
	}
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, path+"/keys", nil, &keys))
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, path+"/keys?keep=true", nil, &more))
	require.NotEqual(t, keys.KeyID, more.KeyID)
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, path+"/keys?keep=perhaps", nil, nil))

	var state control.IssuerState
	require.Equal(t, http.StatusNoContent, call(t, http.MethodPut, path+"/state", control.IssuerState{State: issuer.Down}, nil))
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, path+"/state", nil, &state))
	require.Equal(t, issuer.Down, state.State)
	_, err := http.Get(info.Issuer + "/keys")
	require.Error(t, err)
	require.Equal(t, http.StatusNoContent, call(t, http.MethodPut, path+"/state", control.IssuerState{State: issuer.Up}, nil))
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPut, path+"/state", control.IssuerState{State: "odd"}, nil))

	response, err := http.Get(info.Issuer + "/keys")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	var requests issuer.Requests
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, path+"/requests", nil, &requests))
	require.Equal(t, map[string]int{"keys": 1}, requests.Received)
	require.Equal(t, http.StatusNoContent, call(t, http.MethodDelete, path+"/requests", nil, nil))
}

func TestUsersOfAnIssuerAreChanged(t *testing.T) {
	_, path := newIssuer(t, nil)
	var user issuer.User
	for _, groups := range []any{"one", []string{"two", "three"}, []string{}, nil} {
		require.Equal(t, http.StatusOK, call(t, http.MethodPut, path+"/users/ann", map[string]any{"groups": groups}, nil))
		var raw map[string]any
		require.Equal(t, http.StatusOK, call(t, http.MethodGet, path+"/users/ann", nil, &raw))
		require.EqualValues(t, groups, normalized(raw["groups"], groups))
	}
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, path+"/users/ann", nil, &user))
	require.Equal(t, "ann@example.com", user.Email, "what is not named stays")
	require.Equal(t, http.StatusOK, call(t, http.MethodPut, path+"/users/zoe", map[string]any{"email": "zoe@example.com", "groups": "one"}, &user))
	require.Equal(t, "zoe", user.Name)
	var users []issuer.User
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, path+"/users", nil, &users))
	require.Len(t, users, 6)
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPut, path+"/users/a:b", nil, nil))
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPut, path+"/users/ann", map[string]any{"groups": 7}, nil))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, path+"/users/nobody", nil, nil))

	var tokens issuer.Tokens
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, path+"/tokens", map[string]any{"user": "zoe", "scopes": []string{"openid", "offline_access"}, "lifetime": "-1m"}, &tokens))
	require.NotEmpty(t, tokens.RefreshToken)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodPost, path+"/tokens", map[string]any{"user": "nobody"}, nil))
	var revoked map[string]int
	require.Equal(t, http.StatusOK, call(t, http.MethodDelete, path+"/users/zoe/tokens", nil, &revoked))
	require.Equal(t, map[string]int{"revoked": 1}, revoked)
}

// normalized turns a list of JSON into the list of text that a test wants.
func normalized(got, like any) any {
	if _, list := like.([]string); !list {
		return got
	}
	texts := []string{}
	for _, value := range got.([]any) {
		texts = append(texts, value.(string))
	}
	return texts
}

func TestLoginsAndDevicesAreDecidedFromOutside(t *testing.T) {
	info, path := newIssuer(t, nil)
	waiting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	t.Cleanup(waiting.Close)
	config := oauth2.Config{
		ClientID: info.ClientID, RedirectURL: waiting.URL + "/callback", Scopes: []string{"openid"}, Endpoint: oauth2.Endpoint{
			AuthURL: info.Issuer + "/authorize", TokenURL: info.Issuer + "/oauth/token", DeviceAuthURL: info.Issuer + "/device_authorization", AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	var page issuer.Page
	request := map[string]string{"url": config.AuthCodeURL("s", oauth2.S256ChallengeOption("v")), "user": "ann"}
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, path+"/logins", request, &page))
	require.Equal(t, issuer.Page{Address: config.RedirectURL, Status: http.StatusAccepted}, page)
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, path+"/logins", map[string]string{"url": "http://127.0.0.1:1"}, nil))

	d, err := config.DeviceAuth(t.Context())
	require.NoError(t, err)
	var devices []issuer.Device
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, path+"/devices", nil, &devices))
	require.Equal(t, d.UserCode, devices[0].UserCode)
	require.Equal(t, http.StatusNotFound, call(t, http.MethodPost, path+"/devices/"+d.UserCode, map[string]string{"user": "nobody"}, nil))
	require.Equal(t, http.StatusNoContent, call(t, http.MethodPost, path+"/devices/"+d.UserCode, map[string]string{"user": "bob"}, nil))
	require.Equal(t, http.StatusNotFound, call(t, http.MethodPost, path+"/devices/"+d.UserCode, nil, nil))
}
