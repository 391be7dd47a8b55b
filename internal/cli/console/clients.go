package console

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Orchestrations returns a client of the server's orchestrations whose requests end with ctx.
func (c *Console) Orchestrations(ctx context.Context) orchestration.ExtendedClient {
	return orchestration.NewExtendedClientWithHTTP(ctx, c.URL, c.client())
}

// Runtimes returns a client of the server's runtimes whose requests end with ctx.
func (c *Console) Runtimes(ctx context.Context) runtime.Client {
	return runtime.NewClientWithContext(ctx, c.URL, c.client())
}

// client returns what sends requests to the server, and the token with them. It follows no redirect: the server has none, and somebody who answers in its
// place must not choose where a request goes.
func (c *Console) client() *http.Client {
	base := c.Base
	if base == nil {
		base = http.DefaultTransport
	}
	// An address that cannot be read is reported by the clients.
	server, err := url.Parse(c.URL)
	if c.Source != nil && err == nil {
		base = &tokens.Transport{Server: server, Source: c.Source, Base: base}
	}
	return &http.Client{Transport: base, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// waitingFor returns the address of whoever has to answer next: the server, or the provider that renews the login.
func (c *Console) waitingFor() string {
	if session, ok := c.Source.(*tokens.Session); ok && session.Asking() {
		return session.Login.Issuer
	}
	return c.URL
}

// patience is how long a call may take before the user is told that it is still being tried.
const patience = 3 * time.Second

// Call makes one call to the server. The clients bear with a server that restarts, which can take half a minute; the user is told.
func Call[T any](c *Console, call func() (T, error)) (T, error) {
	var told sync.WaitGroup
	told.Add(1)
	timer := time.AfterFunc(patience, func() {
		defer told.Done()
		c.Notef("no answer from %s yet, still trying ...", Clean(c.waitingFor()))
	})
	result, err := call()
	if timer.Stop() {
		told.Done()
	}
	told.Wait()
	return result, err
}
