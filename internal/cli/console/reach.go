package console

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/swell-fleet/swell/internal/apiclient"
	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// Reach settles what carries the requests to the server of the context. What is wrong with its files is told by the first request, so that commands
// that make none, or could do without, are not kept from working.
func (c *Console) Reach() {
	base, err := c.carrier(true)
	if err != nil {
		base = broken{Usagef("context %q: %w", c.Context.Name, err)}
	}
	c.Base = base
}

// carrier returns what carries requests, with the client certificate of the context or without.
func (c *Console) carrier(certificate bool) (http.RoundTripper, error) {
	settings, err := authorities(&c.Context)
	if err != nil {
		return nil, err
	}
	if certificate && c.Context.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(c.Context.ClientCert, c.Context.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		if settings == nil {
			settings = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return transport(settings)
}

// CheckFiles returns an error when the files of the context cannot be used.
func (c *Console) CheckFiles() error {
	_, err := c.carrier(true)
	return err
}

// broken is a transport that cannot be made.
type broken struct{ err error }

// RoundTrip implements http.RoundTripper.
func (b broken) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, &apiclient.TokenError{Err: b.err}
}

// providerPatience is how long a provider may take for one answer.
const providerPatience = 15 * time.Second

// ProviderClient returns what reaches the provider of the context.
func (c *Console) ProviderClient() *http.Client {
	base, err := c.carrier(false)
	if err != nil {
		base = broken{Usagef("context %q: %w", c.Context.Name, err)}
	}
	return &http.Client{Transport: base, Timeout: providerPatience}
}

// Session returns the source of the tokens of the context's login.
func (c *Console) Session() *tokens.Session {
	return &tokens.Session{
		Login: *c.Context.Login, Server: c.URL, Folder: c.Home, Client: c.ProviderClient(), Clock: c.Clock, Again: c.Command("login"), Note: c.Notef,
	}
}

// authorities returns settings that trust the authorities of a context; nil where it has none of its own.
func authorities(one *home.Context) (*tls.Config, error) {
	if one.CAFile == "" {
		return nil, nil //nolint:nilnil // the settings are the usual ones
	}
	text, err := os.ReadFile(one.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of authorities: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the file %q holds no certificate", one.CAFile)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, nil
}

// transport returns a transport with settings; the usual one where there are none.
func transport(settings *tls.Config) (http.RoundTripper, error) {
	if settings == nil {
		return http.DefaultTransport, nil
	}
	plain, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the transport of this program cannot be given certificates")
	}
	own := plain.Clone()
	own.TLSClientConfig = settings
	return own, nil
}
