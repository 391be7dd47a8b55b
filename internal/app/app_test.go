package app_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/app"
	"github.com/swell-fleet/swell/internal/config"
)

// alone are the settings of a server that talks to no backend.
func alone(t *testing.T, more map[string]string) config.Config {
	t.Helper()
	flags := map[string]string{
		"listen": "127.0.0.1:0", "data-dir": t.TempDir(), "executor-upgrade-cluster": "none", "source-gardener": "false",
	}
	for key, value := range more {
		flags[key] = value
	}
	c, err := config.Load(config.Sources{Flags: flags})
	require.NoError(t, err)
	return c
}

func start(t *testing.T, c config.Config) (*app.App, error) {
	t.Helper()
	return app.Start(t.Context(), c, slog.New(slog.DiscardHandler))
}

func stop(t *testing.T, a *app.App) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, a.Stop(ctx))
}

// ask makes a request to a server.
func ask(t *testing.T, a *app.App, method, path, body string) (status int, text string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+a.Addr().String()+path, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, string(answer)
}

func TestAServerWithoutBackendsRefusesUpgrades(t *testing.T) {
	t.Parallel()
	a, err := start(t, alone(t, map[string]string{"base-path": "/api"}))
	require.NoError(t, err)
	for _, path := range []string{"/api/upgrade/cluster", "/api/upgrade/kyma"} {
		status, text := ask(t, a, http.MethodPost, path, `{"version":"1.34.7","targets":{"include":[{"target":"all"}]}}`)
		require.Equal(t, http.StatusBadRequest, status, text)
		require.Contains(t, text, "no executor is configured")
	}
	status, text := ask(t, a, http.MethodGet, "/api/readyz", "")
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"ready"`)
	status, _ = ask(t, a, http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusNotFound, status)
	stop(t, a)
}

// What a start that fails has begun is ended again, so that the next one finds its port and its folder free.
func TestAStartThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	c := alone(t, nil)
	c.Listen = freeAddress(t)
	bad := c
	bad.Executor.UpgradeCluster = config.ExecutorGardener
	bad.Gardener.Namespace, bad.Gardener.Kubeconfig = "garden-x", filepath.Join(t.TempDir(), "missing")
	_, err := start(t, bad)
	require.ErrorContains(t, err, "gardener.kubeconfig")
	require.ErrorContains(t, err, "missing")

	a, err := start(t, c)
	require.NoError(t, err)
	_, err = start(t, c)
	require.ErrorContains(t, err, "listen")
	second := c
	second.Listen = "127.0.0.1:0"
	_, err = start(t, second)
	require.ErrorContains(t, err, "another process uses the database in "+c.DataDir)
	status, _ := ask(t, a, http.MethodGet, "/healthz", "")
	require.Equal(t, http.StatusOK, status)
	stop(t, a)

	a, err = start(t, c)
	require.NoError(t, err)
	stop(t, a)
}

// Run goes on until its context ends, then stops in good order and says so.
func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var logs bytes.Buffer
	ended := make(chan error, 1)
	reader, writer := io.Pipe()
	c := alone(t, nil)
	go func() {
		ended <- app.Run(ctx, c, io.MultiWriter(&logs, writer))
		_ = writer.Close()
	}()
	line := make([]byte, 4096)
	n, err := reader.Read(line)
	require.NoError(t, err)
	require.Contains(t, string(line[:n]), "serving")
	cancel()
	_, err = io.Copy(io.Discard, reader)
	require.NoError(t, err)
	require.ErrorIs(t, <-ended, app.ErrStopped)
	require.Contains(t, logs.String(), "stopped")
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}
