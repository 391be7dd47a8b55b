package console

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// Reach settles what carries the requests to the server of the context.
func (c *Console) Reach() error {
	settings, err := authorities(&c.Context)
	if err != nil {
		return err
	}
	if c.Context.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(c.Context.ClientCert, c.Context.ClientKey)
		if err != nil {
			return fmt.Errorf("read the client certificate: %w", err)
		}
		if settings == nil {
			settings = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	c.Base, err = transport(settings)
	return err
}

// providerPatience is how long a provider may take for one answer.
const providerPatience = 15 * time.Second

// ProviderClient returns what reaches the provider of the context.
func (c *Console) ProviderClient() (*http.Client, error) {
	settings, err := authorities(&c.Context)
	if err != nil {
		return nil, err
	}
	carrier, err := transport(settings)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: carrier, Timeout: providerPatience}, nil
}

// Session returns the source of the tokens of the context's login.
func (c *Console) Session() (*tokens.Session, error) {
	client, err := c.ProviderClient()
	if err != nil {
		return nil, err
	}
	return &tokens.Session{
		Login: *c.Context.Login, Folder: c.Home, Client: client, Clock: c.Clock, Again: c.Command("login"), Note: c.Notef,
	}, nil
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
