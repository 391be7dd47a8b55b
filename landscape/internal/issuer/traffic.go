package issuer

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/zitadel/oidc/v3/pkg/oidc"
)

// maxBody bounds what is read of a request.
const maxBody = 64 << 10

// State is how an issuer treats requests.
type State string

const (
	// Up answers.
	Up State = "up"
	// Down refuses connections.
	Down State = "down"
	// Failing answers everything with 503.
	Failing State = "failing"
	// Hanging takes requests and does not answer. They are cut when the state ends.
	Hanging State = "hanging"
)

// Requests counts requests by endpoint; those for tokens by grant type too, as in
// "token/refresh_token".
type Requests struct {
	// Received are all that came in, whatever the state.
	Received map[string]int `json:"received"`
	// Refused are those that were answered with an error, as a status.
	Refused map[string]int `json:"refused"`
}

// traffic is the state of an issuer, and what it has counted.
type traffic struct {
	mu       sync.Mutex
	state    State
	changed  chan struct{}
	received map[string]int
	refused  map[string]int
}

func newTraffic() traffic {
	return traffic{state: Up, changed: make(chan struct{}), received: map[string]int{}, refused: map[string]int{}}
}

func (t *traffic) set(state State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == state {
		return
	}
	t.state = state
	close(t.changed)
	t.changed = make(chan struct{})
}

// receive counts a request and returns how to treat it.
func (t *traffic) receive(endpoint string) (State, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.received[endpoint]++
	return t.state, t.changed
}

func (t *traffic) refuse(endpoint string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused[endpoint]++
}

// State returns how the issuer treats requests.
func (i *Issuer) State() State {
	i.traffic.mu.Lock()
	defer i.traffic.mu.Unlock()
	return i.traffic.state
}

// SetState changes how the issuer treats requests. It is in force when SetState
// returns.
func (i *Issuer) SetState(state State) error {
	i.listening.Lock()
	defer i.listening.Unlock()
	switch state {
	case Up, Failing, Hanging:
		i.traffic.set(state)
		return i.listen()
	case Down:
		i.traffic.set(state)
		i.refuse()
		return nil
	}
	return fmt.Errorf("%w: state %q: want %s, %s, %s or %s", ErrInvalid, state, Up, Down, Failing, Hanging)
}

// Requests returns what was counted so far.
func (i *Issuer) Requests() Requests {
	i.traffic.mu.Lock()
	defer i.traffic.mu.Unlock()
	return Requests{Received: maps.Clone(i.traffic.received), Refused: maps.Clone(i.traffic.refused)}
}

// ForgetRequests begins to count anew.
func (i *Issuer) ForgetRequests() {
	i.traffic.mu.Lock()
	defer i.traffic.mu.Unlock()
	clear(i.traffic.received)
	clear(i.traffic.refused)
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	// A name that somebody lets point to this address is not the issuer's.
	if host, port, err := net.SplitHostPort(r.Host); err != nil || "http://"+r.Host != i.url && (host != "localhost" || !strings.HasSuffix(i.url, ":"+port)) {
		http.Error(w, "this is the issuer "+i.url, http.StatusMisdirectedRequest)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	endpoint := endpointOf(r)
	state, changed := i.traffic.receive(endpoint)
	switch state {
	case Hanging:
		select {
		case <-r.Context().Done():
		case <-changed:
		}
		panic(http.ErrAbortHandler)
	case Failing:
		i.traffic.refuse(endpoint)
		http.Error(w, "simulated failure", http.StatusServiceUnavailable)
		return
	case Up, Down:
		// Requests that came in before the issuer went down are being cut.
	}
	watched := &watched{ResponseWriter: w, status: http.StatusOK}
	i.handler.ServeHTTP(watched, r)
	if watched.status >= http.StatusBadRequest {
		i.traffic.refuse(endpoint)
	}
}

// endpointOf names what a request is for. There is a bounded number of names.
func endpointOf(r *http.Request) string {
	switch path := r.URL.Path; path {
	case oidc.DiscoveryEndpoint:
		return "discovery"
	case "/oauth/token":
		switch grant := oidc.GrantType(r.PostFormValue("grant_type")); grant {
		case oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeClientCredentials:
			return "token/" + string(grant)
		case oidc.GrantTypeDeviceCode:
			return "token/device_code"
		default:
			return "token/other"
		}
	case "/authorize/callback":
		return "callback"
	case "/oauth/introspect":
		return "introspect"
	case "/authorize", "/keys", "/userinfo", "/revoke", "/end_session", "/device_authorization", loginPath, devicePath:
		return strings.TrimPrefix(path, "/")
	}
	return "other"
}

// watched remembers the status of an answer.
type watched struct {
	http.ResponseWriter

	status int
}

func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
