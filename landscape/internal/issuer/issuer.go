package issuer

import (
	"crypto/rand"
	"errors"
	"io"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/swell-fleet/swell/landscape/internal/port"
)

// How much of each kind is kept; the oldest goes when there is more.
const (
	maxLogins  = 1000
	maxDevices = 1000
	maxTokens  = 4000
)

// Issuer is a running provider. Close it when done.
type Issuer struct {
	url     string
	port    *port.Port
	clients map[string]*client
	handler http.Handler

	mu            sync.Mutex
	settings      Settings
	keys          []signingKey // the first one signs
	users         map[string]User
	logins        *shelf[*login]
	codes         *shelf[string] // by code: the login
	spent         *shelf[string] // by code or refresh token that was used: the login
	accessTokens  *shelf[*grant]
	refreshTokens *shelf[*grant]
	devices       *shelf[*device]

	traffic traffic

	// listening guards what follows, and changes of the state.
	listening sync.Mutex
	server    *http.Server
	served    chan struct{}
}

// Options say what issuer to make.
type Options struct {
	// Listen is its loopback address. Empty: a free port.
	Listen string
	// Algorithm is ES256 or RS256. Empty: DefaultAlgorithm.
	Algorithm jose.SignatureAlgorithm
	// Settings are DefaultSettings unless set.
	Settings Settings
}

// Open starts an issuer. It listens, and has its users and clients.
func Open(o Options) (*Issuer, error) {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Algorithm == "" {
		o.Algorithm = DefaultAlgorithm
	}
	if o.Settings == (Settings{}) {
		o.Settings = DefaultSettings()
	}
	if err := o.Settings.Validate(); err != nil {
		return nil, err
	}
	key, err := newKey(o.Algorithm)
	if err != nil {
		return nil, err
	}
	held, err := port.Hold(o.Listen)
	if err != nil {
		return nil, err
	}
	i := &Issuer{
		url: "http://" + held.Address(), port: held, settings: o.Settings, keys: []signingKey{key}, users: defaultUsers(),
		logins: newShelf[*login](maxLogins), codes: newShelf[string](maxLogins), spent: newShelf[string](maxLogins + maxTokens),
		accessTokens: newShelf[*grant](maxTokens), refreshTokens: newShelf[*grant](maxTokens),
		devices: newShelf[*device](maxDevices), traffic: newTraffic(),
	}
	i.clients = map[string]*client{
		ClientID:   {id: ClientID, issuer: i},
		Robot:      {id: Robot, secret: rand.Text(), groups: InGroups(operatorGroup), issuer: i},
		AdminRobot: {id: AdminRobot, secret: rand.Text(), groups: InGroups(adminGroup), issuer: i},
	}
	protocol, err := newProvider(i)
	if err == nil {
		i.handler = protocol.routes()
		err = i.SetState(Up)
	}
	if err != nil {
		return nil, errors.Join(err, held.Release())
	}
	return i, nil
}

// URL returns the address of the issuer, which is the claim "iss" of its tokens.
func (i *Issuer) URL() string { return i.url }

// Secret returns the secret of a robot.
func (i *Issuer) Secret(robot string) string { return i.clients[robot].secret }

// listen starts to serve unless the issuer does already. The lock is held.
func (i *Issuer) listen() error {
	if i.server != nil {
		return nil
	}
	listener, err := i.port.Listen()
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(i.serve),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // It ends by being closed.
	}()
	i.server, i.served = server, served
	return nil
}

// refuse stops to serve and cuts all connections. The port stays held. The lock
// is held, too.
func (i *Issuer) refuse() {
	if i.server == nil {
		return
	}
	_ = i.server.Close() // What cannot be closed is being abandoned anyway.
	<-i.served
	i.server = nil
}

// Close stops the issuer and gives its port up.
func (i *Issuer) Close() error {
	i.listening.Lock()
	defer i.listening.Unlock()
	i.traffic.set(Up)
	i.refuse()
	return i.port.Release()
}
