package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/swell-fleet/swell/internal/config"
)

// reloadEvery is how often the files of certificates are looked at.
const reloadEvery = 10 * time.Second

// certificates hold what connections are encrypted with, and read it again when the files change. A change that cannot be used leaves the old ones
// in force.
type certificates struct {
	files  config.TLS
	logger *slog.Logger
	clock  func() time.Time

	current atomic.Pointer[tls.Config]
	// texts are the files as they were read last, failed what was wrong with them. Only reload changes them.
	texts  [3][]byte
	failed string
}

// newCertificates reads the certificates of the server, and keeps them up to date until it stops. A server without TLS has none: nil.
func (a *App) newCertificates(ctx context.Context) (*certificates, error) {
	if !a.config.TLS.Enabled() {
		return nil, nil //nolint:nilnil // nil certificates find nothing wrong with any connection
	}
	c, err := loadCertificates(a.config.TLS, a.logger, a.clock)
	if err != nil {
		return nil, err
	}
	a.life.push("certificates", background(ctx, c.watch))
	return c, nil
}

// loadCertificates reads the files for the first time.
func loadCertificates(files config.TLS, logger *slog.Logger, clock func() time.Time) (*certificates, error) {
	c := &certificates{files: files, logger: logger, clock: clock}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// config returns settings that take the newest certificates for every connection.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		Time:       c.clock,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.current.Load(), nil
		},
	}
}

// checkClient says why the certificate that a client opened a connection with does not hold any more: a handshake looks at it once, and a connection can
// outlive the certificate and the trust in whoever signed it.
func (c *certificates) checkClient(connection *tls.ConnectionState) error {
	if c == nil {
		return nil
	}
	roots := c.current.Load().ClientCAs
	if roots == nil {
		return nil
	}
	if connection == nil || len(connection.PeerCertificates) == 0 {
		return errors.New("the connection has no certificate")
	}
	leaf, others := connection.PeerCertificates[0], x509.NewCertPool()
	for _, other := range connection.PeerCertificates[1:] {
		others.AddCert(other)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: others, CurrentTime: c.clock(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return fmt.Errorf("the certificate of %q: %w", leaf.Subject.String(), err)
	}
	return nil
}

// read reads the files and puts them in force when they have changed and can be used.
func (c *certificates) read() (err error) {
	var texts [3][]byte
	for i, file := range []string{c.files.Cert, c.files.Key, c.files.ClientCA} {
		if file == "" {
			continue
		}
		if texts[i], err = os.ReadFile(file); err != nil {
			return fmt.Errorf("read a file for TLS: %w", err)
		}
	}
	if c.current.Load() != nil && bytes.Equal(texts[0], c.texts[0]) && bytes.Equal(texts[1], c.texts[1]) && bytes.Equal(texts[2], c.texts[2]) {
		return nil
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return fmt.Errorf("tls.cert and tls.key: %w", err)
	}
	next := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Time: c.clock, Certificates: []tls.Certificate{pair}}
	if texts[2] != nil {
		next.ClientCAs, next.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !next.ClientCAs.AppendCertsFromPEM(texts[2]) {
			return errors.New("tls.client-ca: it holds no certificate")
		}
	}
	c.texts = texts
	c.current.Store(next)
	c.logger.Info("certificate in use", "subject", pair.Leaf.Subject.String(), "not_after", pair.Leaf.NotAfter)
	return nil
}

// reload looks at the files. It logs each problem once.
func (c *certificates) reload(ctx context.Context) {
	err := c.read()
	switch {
	case err == nil:
		c.failed = ""
	case err.Error() != c.failed:
		c.failed = err.Error()
		c.logger.ErrorContext(ctx, "certificate cannot be used, the old one stays", "error", err)
	}
}

// watch looks at the files again and again until ctx ends.
func (c *certificates) watch(ctx context.Context) {
	ticker := time.NewTicker(reloadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.reload(ctx)
		}
	}
}
