package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-jose/go-jose/v4"

	"github.com/swell-fleet/swell/landscape/internal/issuer"
	"github.com/swell-fleet/swell/landscape/internal/landscape"
)

// IssuerInfo says where an issuer is and who can use it.
type IssuerInfo struct {
	// Issuer is its address.
	Issuer   string `json:"issuer"`
	IssuerID string `json:"issuerID"`
	// ClientID is the public client, and the audience of all tokens.
	ClientID string `json:"clientID"`
	// The robots get tokens by client credentials: an operator and an admin.
	RobotID          string `json:"robotID"`
	RobotSecret      string `json:"robotSecret"`
	AdminRobotID     string `json:"adminRobotID"`
	AdminRobotSecret string `json:"adminRobotSecret"`
	// Users are the names of the people.
	Users []string `json:"users"`
}

// DescribeIssuer says where an issuer is.
func DescribeIssuer(i *landscape.Issuer) IssuerInfo {
	info := IssuerInfo{
		Issuer: i.URL(), IssuerID: i.ID, ClientID: issuer.ClientID, RobotID: issuer.Robot, RobotSecret: i.Secret(issuer.Robot),
		AdminRobotID: issuer.AdminRobot, AdminRobotSecret: i.Secret(issuer.AdminRobot),
	}
	for _, user := range i.Users() {
		info.Users = append(info.Users, user.Name)
	}
	return info
}

// addIssuers adds the routes about issuers.
func (s *Server) addIssuers(mux *http.ServeMux) {
	mux.Handle("GET /issuers", s.route(s.listIssuers))
	mux.Handle("POST /issuers", s.route(s.createIssuer))
	mux.Handle("DELETE /issuers/{id}", s.route(s.deleteIssuer))
	for pattern, handle := range map[string]func(*landscape.Issuer, *http.Request) (any, error){
		"GET /issuers/{id}":                        getIssuer,
		"GET /issuers/{id}/settings":               getSettings,
		"POST /issuers/{id}/settings":              setSettings,
		"GET /issuers/{id}/state":                  getState,
		"PUT /issuers/{id}/state":                  setState,
		"POST /issuers/{id}/keys":                  rotateKeys,
		"GET /issuers/{id}/requests":               getRequests,
		"DELETE /issuers/{id}/requests":            forgetRequests,
		"GET /issuers/{id}/users":                  listUsers,
		"GET /issuers/{id}/users/{name}":           getUser,
		"PUT /issuers/{id}/users/{name}":           setUser,
		"DELETE /issuers/{id}/users/{name}/tokens": revokeUser,
		"POST /issuers/{id}/tokens":                issueTokens,
		"POST /issuers/{id}/logins":                logIn,
		"GET /issuers/{id}/devices":                listDevices,
		"POST /issuers/{id}/devices/{code}":        decideDevice,
	} {
		mux.Handle(pattern, s.route(func(r *http.Request) (any, error) {
			i, err := s.landscape.Issuer(r.PathValue("id"))
			if err != nil {
				return nil, err
			}
			return handle(i, r)
		}))
	}
}

func (s *Server) listIssuers(*http.Request) (any, error) {
	infos := []IssuerInfo{}
	for _, i := range s.landscape.Issuers() {
		infos = append(infos, DescribeIssuer(i))
	}
	return infos, nil
}

func (s *Server) createIssuer(r *http.Request) (any, error) {
	var request struct {
		ID        string                  `json:"id"`
		Algorithm jose.SignatureAlgorithm `json:"algorithm"`
		Settings  json.RawMessage         `json:"settings"`
	}
	if err := read(r, &request); err != nil {
		return nil, err
	}
	settings := issuer.DefaultSettings()
	if request.Settings != nil {
		if err := decode(bytes.NewReader(request.Settings), &settings); err != nil {
			return nil, err
		}
	}
	i, err := s.landscape.CreateIssuer(request.ID, issuer.Options{Algorithm: request.Algorithm, Settings: settings})
	if err != nil {
		return nil, err
	}
	return DescribeIssuer(i), nil
}

func (s *Server) deleteIssuer(r *http.Request) (any, error) {
	if r.PathValue("id") == landscape.MainIssuer {
		return nil, fmt.Errorf("%w: the main issuer stays as long as the simulator", landscape.ErrInvalid)
	}
	return nil, s.landscape.DeleteIssuer(r.PathValue("id"))
}

func getIssuer(i *landscape.Issuer, _ *http.Request) (any, error) { return DescribeIssuer(i), nil }

func getSettings(i *landscape.Issuer, _ *http.Request) (any, error) { return i.Settings(), nil }

func setSettings(i *landscape.Issuer, r *http.Request) (any, error) {
	settings := i.Settings()
	if err := read(r, &settings); err != nil {
		return nil, err
	}
	if err := i.SetSettings(settings); err != nil {
		return nil, err
	}
	return settings, nil
}

// IssuerState is how an issuer treats requests.
type IssuerState struct {
	State issuer.State `json:"state"`
}

func getState(i *landscape.Issuer, _ *http.Request) (any, error) { return IssuerState{i.State()}, nil }

func setState(i *landscape.Issuer, r *http.Request) (any, error) {
	var request IssuerState
	if err := read(r, &request); err != nil {
		return nil, err
	}
	return nil, i.SetState(request.State)
}

func rotateKeys(i *landscape.Issuer, r *http.Request) (any, error) {
	keep := false
	if text := r.FormValue("keep"); text != "" {
		var err error
		if keep, err = strconv.ParseBool(text); err != nil {
			return nil, fmt.Errorf("%w: keep: want true or false, got %q", landscape.ErrInvalid, text)
		}
	}
	id, err := i.RotateKeys(keep)
	if err != nil {
		return nil, err
	}
	return map[string]string{"keyID": id}, nil
}

func getRequests(i *landscape.Issuer, _ *http.Request) (any, error) { return i.Requests(), nil }

func forgetRequests(i *landscape.Issuer, _ *http.Request) (any, error) {
	i.ForgetRequests()
	return nil, nil
}

func listUsers(i *landscape.Issuer, _ *http.Request) (any, error) { return i.Users(), nil }

func getUser(i *landscape.Issuer, r *http.Request) (any, error) { return i.User(r.PathValue("name")) }

// setUser changes the fields that are given, or adds a user.
func setUser(i *landscape.Issuer, r *http.Request) (any, error) {
	user, err := i.User(r.PathValue("name"))
	if err != nil {
		user = issuer.User{}
	}
	if err := read(r, &user); err != nil {
		return nil, err
	}
	user.Name = r.PathValue("name")
	if err := i.SetUser(user); err != nil {
		return nil, err
	}
	return user, nil
}

func revokeUser(i *landscape.Issuer, r *http.Request) (any, error) {
	revoked, err := i.RevokeUser(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return map[string]int{"revoked": revoked}, nil
}

func issueTokens(i *landscape.Issuer, r *http.Request) (any, error) {
	var wish issuer.Wish
	if err := read(r, &wish); err != nil {
		return nil, err
	}
	return i.Issue(wish)
}

func logIn(i *landscape.Issuer, r *http.Request) (any, error) {
	var request struct {
		URL  string `json:"url"`
		User string `json:"user"`
	}
	if err := read(r, &request); err != nil {
		return nil, err
	}
	return i.LogIn(r.Context(), request.URL, request.User)
}

func listDevices(i *landscape.Issuer, _ *http.Request) (any, error) { return i.Devices(), nil }

// decideDevice allows a device to act for a user, or denies it when there is none.
func decideDevice(i *landscape.Issuer, r *http.Request) (any, error) {
	var request struct {
		User string `json:"user"`
	}
	if err := read(r, &request); err != nil {
		return nil, err
	}
	if request.User == "" {
		return nil, i.DenyDevice(r.PathValue("code"))
	}
	return nil, i.AllowDevice(r.PathValue("code"), request.User)
}
