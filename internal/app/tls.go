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

	current atomic.Pointer[tls.Config]
	// texts are the files as they were read last, failed what was wrong with them. Only reload changes them.
	texts  [3][]byte
	failed string
}

// loadCertificates reads the files for the first time.
func loadCertificates(files config.TLS, logger *slog.Logger) (*certificates, error) {
	c := &certificates{files: files, logger: logger}
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
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.current.Load(), nil
		},
	}
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
	next := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair}}
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
