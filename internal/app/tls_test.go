package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// issue returns a certificate for an hour and its key as PEM.
func (a *authority) issue(name string) (certificate, key []byte) {
	a.t.Helper()
	return a.issueFor(name, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
}

func (a *authority) issueFor(name string, begin, end time.Time) (certificate, key []byte) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: begin, NotAfter: end,
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
	c, err := loadCertificates(files, slog.New(slog.NewTextHandler(&log, nil)), time.Now)
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
	c, err := loadCertificates(files, slog.New(slog.DiscardHandler), time.Now)
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
	_, err = loadCertificates(files, slog.New(slog.DiscardHandler), time.Now)
	require.ErrorContains(t, err, "tls.client-ca")
}

// A certificate that is valid is not given up for one that is not; where there is no better one, the newest is shown.
func TestACertificateThatIsNotValidReplacesNoneThatIs(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a, dir := newAuthority(t, "authority"), t.TempDir()
	files := a.place(dir, "good")
	begin := time.Now()
	now := begin
	c, err := loadCertificates(files, slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	require.NoError(t, err)
	place := func(name string, from, to time.Duration) {
		certificate, key := a.issueFor(name, begin.Add(from), begin.Add(to))
		write(t, files.Cert, certificate)
		write(t, files.Key, key)
	}
	shown := func(want string) {
		t.Helper()
		for range 3 {
			c.reload(t.Context())
			require.Equal(t, want, c.current.Load().Certificates[0].Leaf.Subject.CommonName)
		}
	}
	place("expired", -2*time.Hour, -time.Minute)
	shown("good")
	require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
	require.Contains(t, log.String(), "CN=expired")
	place("early", 30*time.Minute, 90*time.Minute)
	shown("good")
	require.Equal(t, 2, strings.Count(log.String(), "level=WARN"), log.String())
	now = begin.Add(31 * time.Minute)
	shown("early")
	now = begin.Add(2 * time.Hour)
	place("late", -time.Hour, time.Hour)
	shown("late")
	require.Equal(t, 3, strings.Count(log.String(), "level=WARN"), log.String())
	require.NotContains(t, log.String(), "level=ERROR")

	log.Reset()
	_, err = loadCertificates(files, slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	require.NoError(t, err, "the server can be told about by others")
	require.Contains(t, log.String(), "level=WARN")
}

// An authority that is taken away is gone at once, whatever is wrong with the certificate of the server at that time.
func TestAuthoritiesChangeWithoutTheCertificate(t *testing.T) {
	t.Parallel()
	a, clients, dir := newAuthority(t, "authority"), newAuthority(t, "clients"), t.TempDir()
	files := a.place(dir, "server")
	files.ClientCA = filepath.Join(dir, "ca.crt")
	write(t, files.ClientCA, clients.pem)
	c, err := loadCertificates(files, slog.New(slog.DiscardHandler), time.Now)
	require.NoError(t, err)
	write(t, files.Key, []byte("nonsense"))
	next := newAuthority(t, "next clients")
	write(t, files.ClientCA, next.pem)
	c.reload(t.Context())
	require.True(t, c.current.Load().ClientCAs.Equal(next.pool()))
	require.Equal(t, "server", c.current.Load().Certificates[0].Leaf.Subject.CommonName)
}

// A connection that is open outlives neither the certificate that it was opened with nor the trust in whoever signed it.
func TestAnOpenConnectionEndsWithTheCertificateOfItsClient(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		for name, end := range map[string]func(c *certificates, files config.TLS, now *atomic.Int64){
			"it expires": func(_ *certificates, _ config.TLS, now *atomic.Int64) { now.Add(int64(2 * time.Hour)) },
			"its authority goes": func(c *certificates, files config.TLS, _ *atomic.Int64) {
				write(t, files.ClientCA, newAuthority(t, "next clients").pem)
				c.reload(t.Context())
			},
		} {
			t.Run(fmt.Sprint(name, " over HTTP/2: ", http2), func(t *testing.T) {
				t.Parallel()
				a, clients, dir := newAuthority(t, "authority"), newAuthority(t, "clients"), t.TempDir()
				files := a.place(dir, "server")
				files.ClientCA = filepath.Join(dir, "ca.crt")
				write(t, files.ClientCA, clients.pem)
				var passed atomic.Int64
				c, err := loadCertificates(files, slog.New(slog.DiscardHandler), func() time.Time { return time.Now().Add(time.Duration(passed.Load())) })
				require.NoError(t, err)
				server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if c.checkClient(r.TLS) != nil {
						w.WriteHeader(http.StatusUnauthorized)
					}
				}))
				server.TLS, server.EnableHTTP2 = c.config(), http2
				server.StartTLS()
				t.Cleanup(server.Close)
				pair, err := tls.X509KeyPair(clients.issue("client"))
				require.NoError(t, err)
				client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
					TLSClientConfig: &tls.Config{RootCAs: a.pool(), Certificates: []tls.Certificate{pair}}, ForceAttemptHTTP2: http2,
				}}
				t.Cleanup(client.CloseIdleConnections)
				get := func() int {
					reused := false
					ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
					r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
					require.NoError(t, err)
					response, err := client.Do(r)
					require.NoError(t, err)
					_, err = io.Copy(io.Discard, response.Body)
					require.NoError(t, err)
					require.NoError(t, response.Body.Close())
					require.Equal(t, http2, response.ProtoMajor == 2)
					if response.StatusCode != http.StatusOK {
						require.True(t, reused, "a new connection would not come about")
					}
					return response.StatusCode
				}
				require.Equal(t, http.StatusOK, get())
				require.Equal(t, http.StatusOK, get())
				end(c, files, &passed)
				require.Equal(t, http.StatusUnauthorized, get())
			})
		}
	}
}

// The whole server asks about the connection for every request, also of a probe, and closes it.
func TestTheServerJudgesClientCertificatesForEveryRequest(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t, "authority"), t.TempDir()
	files := a.place(dir, "server")
	write(t, filepath.Join(dir, "ca.crt"), a.pem)
	pair, err := tls.X509KeyPair(a.issue("client"))
	require.NoError(t, err)
	var passed atomic.Int64
	log := &logBuffer{}
	c := settings(t, map[string]string{"tls-cert": files.Cert, "tls-key": files.Key, "tls-client-ca": filepath.Join(dir, "ca.crt")})
	server, err := StartWith(t.Context(), c, slog.New(slog.NewTextHandler(log, nil)), Options{Clock: func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool(), Certificates: []tls.Certificate{pair}}}}
	t.Cleanup(client.CloseIdleConnections)
	get := func() (*http.Response, error) {
		response, err := client.Get(server.URL() + "/healthz")
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
		}
		return response, err
	}
	response, err := get()
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	passed.Store(int64(2 * time.Hour))
	response, err = get()
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	require.True(t, response.Close, "the connection ends with the answer")
	require.Contains(t, log.String(), `the certificate of \"CN=client\"`)
	_, err = get()
	require.Error(t, err, "a new connection needs a certificate that holds")
}

func TestFilesOfCertificatesAreWatched(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t, "authority"), t.TempDir()
	c, err := loadCertificates(a.place(dir, "first"), slog.New(slog.DiscardHandler), time.Now)
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
