package app

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/config"
)

// authority signs certificates.
type authority struct {
	t           testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{t: t, certificate: certificate, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// issue returns a certificate and its key as PEM.
func (a *authority) issue(name string) (certificate, key []byte) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	require.NoError(a.t, err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// place writes a certificate and its key into a folder.
func (a *authority) place(dir, name string) config.TLS {
	a.t.Helper()
	certificate, key := a.issue(name)
	files := config.TLS{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	write(a.t, files.Cert, certificate)
	write(a.t, files.Key, key)
	return files
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, text, 0o600))
}

// serveTLS serves with certificates, and returns how a client with a configuration fares: the name of the certificate that it was shown.
func serveTLS(t *testing.T, c *certificates) func(client *tls.Config) (string, error) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	server.TLS = c.config()
	server.StartTLS()
	t.Cleanup(server.Close)
	return func(client *tls.Config) (string, error) {
		transport := &http.Transport{TLSClientConfig: client, DisableKeepAlives: true}
		response, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get(server.URL)
		if err != nil {
			return "", err
		}
		require.NoError(t, response.Body.Close())
		return response.TLS.PeerCertificates[0].Subject.CommonName, nil
	}
}

func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a, dir := newAuthority(t, "authority"), t.TempDir()
	files := a.place(dir, "first")
	c, err := loadCertificates(files, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	connect := serveTLS(t, c)
	trusting := &tls.Config{RootCAs: a.pool()}
	shown := func(want string) {
		t.Helper()
		c.reload(t.Context())
		name, err := connect(trusting.Clone())
		require.NoError(t, err)
		require.Equal(t, want, name)
	}
	shown("first")

	// What cannot be used leaves the old certificate in force: half a change, nonsense, no file.
	certificate, key := a.issue("second")
	write(t, files.Cert, certificate)
	shown("first")
	shown("first")
	write(t, files.Key, []byte("nonsense"))
	shown("first")
	require.NoError(t, os.Remove(files.Key))
	shown("first")
	require.Equal(t, 3, strings.Count(log.String(), "level=ERROR"), "each problem is told once: %s", log.String())
	write(t, files.Key, key)
	shown("second")
	require.NotContains(t, log.String(), "PRIVATE KEY")

	_, err = connect(&tls.Config{RootCAs: newAuthority(t, "another").pool()})
	require.Error(t, err)
	_, err = connect(&tls.Config{RootCAs: a.pool(), MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})
	require.Error(t, err, "old versions of TLS are refused")
}

func TestClientsNeedACertificateWhereOneIsAskedFor(t *testing.T) {
	t.Parallel()
	a, clients, dir := newAuthority(t, "authority"), newAuthority(t, "clients"), t.TempDir()
	files := a.place(dir, "server")
	files.ClientCA = filepath.Join(dir, "ca.crt")
	write(t, files.ClientCA, clients.pem)
	c, err := loadCertificates(files, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	connect := serveTLS(t, c)
	with := func(by *authority) error {
		client := &tls.Config{RootCAs: a.pool()}
		if by != nil {
			pair, err := tls.X509KeyPair(by.issue("client"))
			require.NoError(t, err)
			client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		_, err := connect(client)
		return err
	}
	require.NoError(t, with(clients))
	require.Error(t, with(nil))
	require.Error(t, with(a))
	next := newAuthority(t, "next clients")
	write(t, files.ClientCA, next.pem)
	c.reload(t.Context())
	require.NoError(t, with(next))
	require.Error(t, with(clients))

	write(t, files.ClientCA, []byte("nonsense"))
	_, err = loadCertificates(files, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "tls.client-ca")
}

func TestFilesOfCertificatesAreWatched(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t, "authority"), t.TempDir()
	c, err := loadCertificates(a.place(dir, "first"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	first := c.current.Load()
	synctest.Test(t, func(t *testing.T) {
		stop := background(t.Context(), c.watch)
		a.place(dir, "second")
		time.Sleep(reloadEvery + time.Second)
		synctest.Wait()
		require.NotSame(t, first, c.current.Load())
		require.NoError(t, stop(t.Context()))
	})
}
