package console

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Orchestrations returns a client of the server's orchestrations whose requests end with ctx.
func (c *Console) Orchestrations(ctx context.Context) orchestration.ExtendedClient {
	return orchestration.NewExtendedClient(ctx, c.URL, c.TokenSource())
}

// Runtimes returns a client of the server's runtimes whose requests end with ctx.
func (c *Console) Runtimes(ctx context.Context) runtime.Client {
	var client *http.Client
	if tokens := c.TokenSource(); tokens != nil {
		client = oauth2.NewClient(ctx, tokens)
	}
	return runtime.NewClientWithContext(ctx, c.URL, client)
}

// TokenSource returns the source of the bearer token, nil when there is no token.
func (c *Console) TokenSource() oauth2.TokenSource {
	if c.Token == "" {
		return nil
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: c.Token})
}

// patience is how long a call may take before the user is told that it is still being tried.
const patience = 3 * time.Second

// Call makes one call to the server. The clients bear with a server that restarts, which can take half a minute; the user is told.
func Call[T any](c *Console, call func() (T, error)) (T, error) {
	var told sync.WaitGroup
	told.Add(1)
	timer := time.AfterFunc(patience, func() {
		defer told.Done()
		c.Notef("no answer from %s yet, still trying ...", Clean(c.URL))
	})
	result, err := call()
	if timer.Stop() {
		told.Done()
	}
	told.Wait()
	return result, err
}
