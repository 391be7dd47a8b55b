package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where a list cannot be read, nothing is said about what is in it.
func TestAListThatCannotBeReadIsWhatFailed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter)
		code   int
		says   string
	}{
		"an answer that is too long": {
			func(w http.ResponseWriter) { w.Header().Set("Content-Length", strconv.Itoa(65<<20)) }, 1, "are more than the limit of",
		},
		"an answer that is no list": {func(w http.ResponseWriter) { _, _ = w.Write([]byte(`[]`)) }, 1, "it is not a JSON object"},
		"a refusal":                 {func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, 5, "status 403"},
		"a failure":                 {func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, 1, "status 500"},
		"a list that is not found":  {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, 5, "status 404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changed atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method != http.MethodGet:
					changed.Add(1)
				case r.URL.Path == "/orchestrations":
					test.answer(w)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			t.Cleanup(server.Close)
			for _, args := range []string{"7f3a01", "7f3a01 cancel --yes", "7f3a01 retry", "7f3a01 watch", "7f3a01 operations"} {
				got := run(t, server.URL, strings.Fields("orchestrations "+args)...)
				require.Equal(t, test.code, got.code, "%s: %s", args, got.err)
				require.Contains(t, got.err, "swell: look for shortened IDs: list orchestrations: ", args)
				require.Contains(t, got.err, test.says, args)
				require.Zero(t, changed.Load(), args)
			}
		})
	}
}

// What a certificate holds is no line of the error about it.
func TestACertificateWritesNoLine(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: poison}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"evil.example\nFORGED\x1b[2J"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	got := run(t, strings.Replace(server.URL, "127.0.0.1", "localhost", 1), "orchestrations")
	require.Equal(t, 1, got.code, got.err)
	require.Contains(t, got.err, "FORGED")
	require.Contains(t, got.err, "this machine does not trust the certificate")
	require.NotContains(t, got.err, "\nFORGED")
	require.NotContains(t, got.err, "\x1b")
}

// A server that cannot start is not told where it would be looked for.
func TestAServerThatDoesNotStartHearsNothingForClients(t *testing.T) {
	t.Parallel()
	got := run(t, "http://127.0.0.1:1", "serve", "--database-url", "postgres://swell:s3cret@127.0.0.1:1/swell?connect_timeout=1",
		"--executor-upgrade-cluster", "none", "--executor-upgrade-kyma", "none", "--source-gardener=false")
	require.NotZero(t, got.code)
	require.Contains(t, got.err, "127.0.0.1:1")
	for _, hint := range []string{"is expected at", "--url", "swell context add", "s3cret"} {
		require.NotContains(t, got.err, hint)
	}
}
