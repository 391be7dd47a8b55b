package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/swell-fleet/swell/internal/config"
)

// reloadEvery is how often the files of certificates are looked at.
const reloadEvery = 10 * time.Second

// certificates hold what connections are encrypted with, and read it again when the files change. A change that cannot be used leaves what was there
// in force, for the certificate of the server and for the authorities of clients apart.
type certificates struct {
	files  config.TLS
	logger *slog.Logger
	clock  func() time.Time

	current atomic.Pointer[tls.Config]
	// pair and authorities are what is in force. Only read changes them.
	pair        part[tls.Certificate]
	authorities part[*x509.CertPool]
}

// part is what came of some of the files.
type part[T any] struct {
	value T
	// texts are the files as they were when the value was taken; nil before.
	texts [][]byte
	// failed is what was wrong with them the last time that they were looked at.
	failed string
}

// changed returns the files when they differ from those that are in force.
func (p *part[T]) changed(paths ...string) ([][]byte, error) {
	texts := make([][]byte, len(paths))
	for i, path := range paths {
		var err error
		if texts[i], err = readFile(path); err != nil {
			return nil, fmt.Errorf("read a file for TLS: %w", err)
		}
	}
	if p.texts != nil && slices.EqualFunc(texts, p.texts, bytes.Equal) {
		return nil, nil
	}
	return texts, nil
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
	if err := errors.Join(c.read()); err != nil {
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

// errNotInTime is what is wrong with a certificate that is good at another time than now.
var errNotInTime = errors.New("it is not valid at this time, and the one in use is")

// read looks at the files and puts in force what has changed and can be used. Its errors are about the certificate of the server and about the
// authorities of clients.
func (c *certificates) read() (pairErr, authoritiesErr error) {
	newPair, pairErr := c.readPair()
	newAuthorities, authoritiesErr := c.readAuthorities()
	if c.pair.texts == nil || !newPair && !newAuthorities {
		return pairErr, authoritiesErr
	}
	next := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Time: c.clock, Certificates: []tls.Certificate{c.pair.value},
	}
	if c.authorities.value != nil {
		next.ClientCAs, next.ClientAuth = c.authorities.value, tls.RequireAndVerifyClientCert
	}
	c.current.Store(next)
	return pairErr, authoritiesErr
}

// readPair takes a new certificate of the server. One that is valid is not given up for one that is not.
func (c *certificates) readPair() (bool, error) {
	texts, err := c.pair.changed(c.files.Cert, c.files.Key)
	if texts == nil {
		return false, err
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return false, fmt.Errorf("tls.cert and tls.key: %w", err)
	}
	level, message := slog.LevelInfo, "certificate in use"
	if !c.inTime(pair.Leaf) {
		if c.pair.texts != nil && c.inTime(c.pair.value.Leaf) {
			return false, fmt.Errorf("tls.cert: the certificate of %q from %s to %s: %w", pair.Leaf.Subject.String(),
				pair.Leaf.NotBefore.Format(time.RFC3339), pair.Leaf.NotAfter.Format(time.RFC3339), errNotInTime)
		}
		level, message = slog.LevelWarn, "certificate in use is not valid at this time"
	}
	c.pair.value, c.pair.texts = pair, texts
	c.logger.Log(context.Background(), level, message, //nolint:sloglint // it is one of two constants
		"subject", pair.Leaf.Subject.String(), "not_before", pair.Leaf.NotBefore, "not_after", pair.Leaf.NotAfter)
	return true, nil
}

// inTime reports whether a certificate is valid now.
func (c *certificates) inTime(certificate *x509.Certificate) bool {
	now := c.clock()
	return !now.Before(certificate.NotBefore) && !now.After(certificate.NotAfter)
}

// readAuthorities takes new authorities of clients.
func (c *certificates) readAuthorities() (bool, error) {
	if c.files.ClientCA == "" {
		return false, nil
	}
	texts, err := c.authorities.changed(c.files.ClientCA)
	if texts == nil {
		return false, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(texts[0]) {
		return false, errors.New("tls.client-ca: it holds no certificate")
	}
	c.authorities.value, c.authorities.texts = pool, texts
	return true, nil
}

// reload looks at the files. It logs each problem once.
func (c *certificates) reload(ctx context.Context) {
	pairErr, authoritiesErr := c.read()
	if c.pair.news(pairErr) {
		level := slog.LevelError
		if errors.Is(pairErr, errNotInTime) {
			level = slog.LevelWarn
		}
		c.logger.Log(ctx, level, "certificate cannot be used, the old one stays", "error", pairErr)
	}
	if c.authorities.news(authoritiesErr) {
		c.logger.ErrorContext(ctx, "authorities of clients cannot be used, the old ones stay", "error", authoritiesErr)
	}
}

// news remembers what is wrong, and reports whether something is and has not been before.
func (p *part[T]) news(err error) bool {
	before := p.failed
	p.failed = ""
	if err != nil {
		p.failed = err.Error()
	}
	return err != nil && p.failed != before
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
