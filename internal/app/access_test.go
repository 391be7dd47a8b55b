package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/config"
	"github.com/swell-fleet/swell/internal/telemetry"
	"github.com/swell-fleet/swell/internal/testkit/issuer"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
)

// logBuffer is a log that goroutines may write to.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// started is a server without any backend, that logs everything.
type started struct {
	t      *testing.T
	app    *App
	log    *logBuffer
	client *http.Client
}

func settings(t *testing.T, more map[string]string) config.Config {
	t.Helper()
	flags := map[string]string{
		"listen": "127.0.0.1:0", "data-dir": t.TempDir(), "log-level": "debug", "source-gardener": "false", "executor-upgrade-cluster": "none",
	}
	for name, value := range more {
		flags[name] = value
	}
	c, err := config.Load(config.Sources{Flags: flags})
	require.NoError(t, err)
	return c
}

func startServer(t *testing.T, more map[string]string, trust *tls.Config) *started {
	t.Helper()
	c := settings(t, more)
	s := &started{t: t, log: &logBuffer{}, client: &http.Client{
		Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}, Timeout: time.Minute,
	}}
	logger, err := telemetry.NewLogger(s.log, c.Log.Level, c.Log.Format)
	require.NoError(t, err)
	s.app, err = Start(t.Context(), c, logger)
	require.NoError(t, err)
	t.Cleanup(s.stop)
	return s
}

// stop takes the server down; doing it again does nothing.
func (s *started) stop() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), time.Minute)
	defer cancel()
	require.NoError(s.t, s.app.Stop(ctx))
}

// send makes a request with an Authorization header.
func (s *started) send(method, path, body, authorization string) (status int, text string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.app.URL()+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	response, err := s.client.Do(r)
	require.NoError(s.t, err)
	answer, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	return response.StatusCode, string(answer)
}

func (s *started) ready() string {
	_, text := s.send(http.MethodGet, "/readyz", "", "")
	return text
}

const oneRuntime = `{"data":[{"instanceID":"in-1","runtimeID":"rt-1","shootName":"c-1"}],"count":1,"totalCount":1}`

// A whole run at the level debug, with good and bad tokens, leaves no secret in the log: no token or Authorization header nor a part of one, no password.
func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	const password = "correct-horse-battery"
	address, err := url.Parse(postgres.URL(t))
	require.NoError(t, err)
	address.User = url.UserPassword(address.User.Username(), password)
	for name, more := range map[string]map[string]string{
		"sqlite":   {"log-format": "text"},
		"postgres": {"log-format": "json", "database-url": address.String()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := issuer.Start(t, time.Now)
			more["auth-issuers"], more["auth-audiences"] = i.URL, issuer.Audience
			s := startServer(t, more, nil)
			admin, reader := i.Token(issuer.Claims{"groups": "runtimeAdmin"}), i.Token(issuer.Claims{"groups": []string{"runtimeOperator"}})
			expired := i.Token(issuer.Claims{"groups": "runtimeAdmin", "exp": 1})
			stranger := i.Token(issuer.Claims{"iss": "https://stranger.example"})
			payload, err := json.Marshal(i.Claims(nil))
			require.NoError(t, err)
			forged := i.Sign(payload, nil)
			forged = forged[:len(forged)-12] + "AAAAAAAAAAAA"
			for _, test := range []struct {
				method, path, body, authorization string
				status                            int
			}{
				{http.MethodPost, "/runtimes/import", oneRuntime, "Bearer " + admin, http.StatusOK},
				{http.MethodGet, "/runtimes", "", "Bearer " + reader, http.StatusOK},
				{http.MethodPost, "/runtimes/import", oneRuntime, "Bearer " + reader, http.StatusForbidden},
				{http.MethodPost, "/upgrade/cluster", `{"targets":{"include":[{"target":"all"}]}}`, "Bearer " + admin, http.StatusBadRequest},
				{http.MethodGet, "/runtimes", "", "Bearer " + expired, http.StatusUnauthorized},
				{http.MethodGet, "/runtimes", "", "Bearer " + forged, http.StatusUnauthorized},
				{http.MethodGet, "/runtimes", "", "Bearer " + stranger, http.StatusUnauthorized},
				{http.MethodGet, "/runtimes", "", "Bearer " + admin + "." + admin, http.StatusUnauthorized},
				{http.MethodGet, "/runtimes", "", "Basic " + password, http.StatusUnauthorized},
				{http.MethodGet, "/runtimes?access_token=" + admin, "", "", http.StatusUnauthorized},
				{http.MethodGet, "/runtimes", "", admin, http.StatusUnauthorized},
				{http.MethodGet, "/runtimes", "", "", http.StatusUnauthorized},
			} {
				status, text := s.send(test.method, test.path, test.body, test.authorization)
				require.Equal(t, test.status, status, text)
				require.NotContains(t, text, "goroutine")
			}
			i.SetFault(issuer.Away)
			i.Rotate()
			late := i.Token(nil)
			status, text := s.send(http.MethodGet, "/runtimes", "", "Bearer "+late)
			require.Equal(t, http.StatusServiceUnavailable, status, text)
			s.stop()

			log := s.log.String()
			require.Contains(t, log, "user-1", "who it was is logged")
			secrets := []string{password, "eyJ"}
			for _, token := range []string{admin, reader, expired, stranger, forged, late} {
				secrets = append(secrets, strings.Split(token, ".")...)
			}
			for _, secret := range secrets {
				require.False(t, secret != "" && strings.Contains(log, secret), "%.20s… is in the log", secret)
			}
		})
	}
}

// A database that cannot be reached is named in the error without its password.
func TestThePasswordOfADatabaseThatIsAwayIsNotShown(t *testing.T) {
	t.Parallel()
	c := settings(t, map[string]string{"database-url": "postgres://swell:correct-horse-battery@127.0.0.1:1/swell?connect_timeout=1"})
	log := &logBuffer{}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := Start(ctx, c, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	require.Error(t, err)
	require.NotContains(t, fmt.Sprintf("%v %+v", err, err)+log.String(), "correct-horse")
}

// The provider is away at the start: the server is up and says so, and lets people in once the provider is there.
func TestTheServerStartsWithoutItsIdentityProvider(t *testing.T) {
	t.Parallel()
	i := issuer.Start(t, time.Now)
	i.SetFault(issuer.Away)
	s := startServer(t, map[string]string{"auth-issuers": i.URL, "auth-audiences": issuer.Audience}, nil)
	token := "Bearer " + i.Token(issuer.Claims{"groups": "runtimeOperator"})
	status, _ := s.send(http.MethodGet, "/runtimes", "", token)
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, text := s.send(http.MethodGet, "/readyz", "", "")
	require.Equal(t, http.StatusOK, status, "it serves, and everybody learns where to log in")
	require.Contains(t, text, `"status":"degraded"`)
	require.Contains(t, text, i.URL)
	status, text = s.send(http.MethodGet, "/logins", "", "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"data":[{"issuer":"`+i.URL+`","clientID":"swell"}]}`, text)
	i.SetFault(nil)
	require.Eventually(t, func() bool { return strings.Contains(s.ready(), `"status":"ready"`) }, time.Minute, 50*time.Millisecond)
	status, _ = s.send(http.MethodGet, "/runtimes", "", token)
	require.Equal(t, http.StatusOK, status)
}

// A person who knows the address of the server and nothing else finds out where to log in, and who they are after that. The log says what is in force.
func TestTheServerTellsWhereToLogInAndWhoLoggedIn(t *testing.T) {
	t.Parallel()
	i := issuer.Start(t, time.Now)
	s := startServer(t, map[string]string{
		"auth-issuers": i.URL + ",https://other.example", "auth-audiences": "robots," + issuer.Audience, "auth-client-id": issuer.Audience,
		"auth-scopes": "openid,groups", "auth-admin-groups": "chiefs", "auth-operator-groups": "",
	}, nil)
	status, text := s.send(http.MethodGet, "/logins", "", "")
	require.Equal(t, http.StatusOK, status)
	const login = `{"issuer":"%s","clientID":"swell","scopes":["openid","groups"]}`
	require.JSONEq(t, `{"data":[`+fmt.Sprintf(login, i.URL)+`,`+fmt.Sprintf(login, "https://other.example")+`]}`, text)
	status, text = s.send(http.MethodGet, "/whoami", "", "Bearer "+i.Token(issuer.Claims{"sub": "ann", "groups": "chiefs"}))
	require.Equal(t, http.StatusOK, status, text)
	require.JSONEq(t, fmt.Sprintf(`{"user":"ann (%[1]s)","issuer":"%[1]s","groups":["chiefs"],"roles":["admin"]}`, i.URL), text)
	require.Contains(t, s.log.String(), fmt.Sprintf(`access="tokens of %s, https://other.example for robots, swell; login as swell; `+
		`groups from the claim groups; admin: chiefs; operator: nobody"`, i.URL))
}

func TestTheServerServesTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, "authority")
	files := a.place(t.TempDir(), "server")
	i := issuer.Start(t, time.Now)
	s := startServer(t, map[string]string{
		"auth-issuers": i.URL, "auth-audiences": issuer.Audience, "tls-cert": files.Cert, "tls-key": files.Key, "listen": "0.0.0.0:0",
	}, &tls.Config{RootCAs: a.pool()})
	_, port, ok := strings.Cut(s.app.URL(), "]:")
	require.True(t, ok, s.app.URL())
	get := func(scheme string) (*http.Response, error) {
		r, err := http.NewRequest(http.MethodGet, scheme+"://127.0.0.1:"+port+"/runtimes", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+i.Token(issuer.Claims{"groups": "runtimeOperator"}))
		return s.client.Do(r)
	}
	response, err := get("https")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	response, err = get("http")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusBadRequest, response.StatusCode, "nothing is served in the clear")
}

// More connections than the settings permit are closed at once; one that ends makes room.
func TestTheServerLimitsItsConnections(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]string{
		"all": {"api-max-connections": "2"},
		"one": {"api-max-connections-of-one": "2", "auth-issuers": "https://login.example", "auth-audiences": issuer.Audience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, more, nil)
			// A connection has been taken when it has been answered.
			dial := func() (net.Conn, error) {
				c, err := net.Dial("tcp", s.app.Addr().String())
				require.NoError(t, err)
				t.Cleanup(func() { _ = c.Close() })
				_, err = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
				if err == nil {
					_, err = c.Read(make([]byte, 1))
				}
				return c, err
			}
			first, err := dial()
			require.NoError(t, err)
			_, err = dial()
			require.NoError(t, err)
			_, err = dial()
			require.Error(t, err)
			require.NoError(t, first.Close())
			require.Eventually(t, func() bool {
				_, err := dial()
				return err == nil
			}, time.Minute, 10*time.Millisecond)
		})
	}
}

func TestAServerWithoutLoginsSaysSo(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil, nil)
	status, _ := s.send(http.MethodPost, "/runtimes/import", oneRuntime, "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, s.log.String(), "this machine only, without login")
}

func TestFaultsInTheSettingsEndTheStart(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]string{
		"HS256":          {"auth-issuers": "https://login.example", "auth-audiences": "x", "auth-algorithms": "HS256"},
		"no-such-file":   {"tls-cert": "no-such-file", "tls-key": "no-such-file"},
		"no certificate": nil,
	} {
		if more == nil {
			a, dir := newAuthority(t, "authority"), t.TempDir()
			files := a.place(dir, "server")
			write(t, dir+"/ca", []byte("nonsense"))
			more = map[string]string{"tls-cert": files.Cert, "tls-key": files.Key, "tls-client-ca": dir + "/ca"}
		}
		_, err := Start(t.Context(), settings(t, more), slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, name)
	}
}
