package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

const (
	// callbackPath is where the provider sends the browser back to.
	callbackPath = "/callback"
	// browserPatience is how long the user may take to log in.
	browserPatience = 5 * time.Minute
	// farewell is how long the browser may take to fetch the page that says how it went.
	farewell = 2 * time.Second
)

// codeLogin is one login by a browser: the provider sends it back to a port of this machine with a code.
type codeLogin struct {
	provider *tokens.Provider
	login    home.Login
	config   *oauth2.Config
	// state, nonce and verifier tie the answer, the token and the code to this login.
	state, nonce, verifier string

	once  sync.Once
	ended chan ending
}

type ending struct {
	tokens tokens.Tokens
	err    error
}

// byBrowser logs in with the user's browser.
func byBrowser(ctx context.Context, c *console.Console, provider *tokens.Provider, login home.Login, port int, show bool) (tokens.Tokens, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return tokens.Tokens{}, console.Usagef("wait for the browser: %w; --port names another port", err)
	}
	l := &codeLogin{
		provider: provider, login: login, config: provider.Config(login),
		state: rand.Text(), nonce: rand.Text(), verifier: oauth2.GenerateVerifier(), ended: make(chan ending, 1),
	}
	l.config.RedirectURL = "http://" + listener.Addr().String() + callbackPath
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serve(ctx, w, r) }),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		// What a browser does wrong is nothing that the user could mend.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		// It ends when the server is shut down below.
		_ = server.Serve(listener)
	}()
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close()
		}
		<-served
	}()
	l.show(ctx, c, show)
	limit := time.NewTimer(browserPatience)
	defer limit.Stop()
	select {
	case end := <-l.ended:
		return end.tokens, end.err
	case <-limit.C:
		return tokens.Tokens{}, fmt.Errorf("log in: nobody logged in within %s", browserPatience)
	case <-ctx.Done():
		return tokens.Tokens{}, ctx.Err()
	}
}

// show shows the login page, or says where it is.
func (l *codeLogin) show(ctx context.Context, c *console.Console, show bool) {
	address := l.config.AuthCodeURL(l.state, oidc.Nonce(l.nonce), oauth2.S256ChallengeOption(l.verifier))
	if show {
		err := open(ctx, c, address)
		if err == nil {
			c.Notef("A browser shows the login page. If it does not, go to:\n  %s", console.Clean(address))
			return
		}
		if l.provider.HasDevices() {
			c.Notef("%s; with a browser on another machine use --device.", console.Clean(err.Error()))
		}
	}
	c.Notef("Log in with a browser on this machine, at:\n  %s", console.Clean(address))
}

// serve takes the browser that comes back. The login goes on also when the browser does not wait for the end.
func (l *codeLogin) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != callbackPath || r.Method != http.MethodGet {
		show(w, http.StatusNotFound, "Nothing here", "This address belongs to a login that is going on in a terminal.")
		return
	}
	query := r.URL.Query()
	// Another page may send the browser here, too. It cannot know the state, and the login goes on waiting.
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(l.state)) != 1 {
		show(w, http.StatusBadRequest, "Another login", "This does not belong to the login that is being waited for. Begin it anew in the terminal.")
		return
	}
	first := false
	l.once.Do(func() {
		first = true
		got, err := l.finish(ctx, query)
		if err != nil {
			show(w, http.StatusBadRequest, "The login failed", "The terminal says why. This window can be closed.")
		} else {
			show(w, http.StatusOK, "You are logged in", "Go on in the terminal. This window can be closed.")
		}
		l.ended <- ending{got, err}
	})
	if !first {
		show(w, http.StatusBadRequest, "This login is over", "Begin another one in the terminal.")
	}
}

// finish turns what the browser brought into tokens.
func (l *codeLogin) finish(ctx context.Context, query url.Values) (tokens.Tokens, error) {
	if issuer := query.Get("iss"); issuer != l.login.Issuer && (issuer != "" || l.provider.NamesItself()) {
		return tokens.Tokens{}, fmt.Errorf("log in: the answer comes from %q and not from %s", issuer, l.login.Issuer)
	}
	if code := query.Get("error"); code != "" {
		return tokens.Tokens{}, tokens.Refusal(code, query.Get("error_description"))
	}
	return l.provider.Exchange(ctx, l.config, l.login, query.Get("code"), l.verifier, l.nonce)
}
