package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

func TestAPublicAddressIsRefusedWithoutALogin(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		p := server.Launch(t, server.Settings{"data-dir": t.TempDir(), "listen": address, "gardener-namespace": "garden-x"})
		require.NotZero(t, p.ExitCode())
		require.Contains(t, p.Log(t), "listen: ")
		require.Contains(t, p.Log(t), "without authentication everyone there could start upgrades")
	}
}

// A page in the browser of whoever runs the server cannot start an upgrade: neither under a name that its owner controls, nor as another origin.
func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 1, Version: "1.34.5"})
	s := server.StartProcess(t, settingsFor(t, f))
	s.Ready(t)
	const body = `{"targets":{"include":[{"target":"all"}]}}`
	for title, headers := range map[string][]string{
		"a name that leads here":     {"Host", "rebound.example"},
		"a name with a port":         {"Host", "rebound.example:80"},
		"a name like ours":           {"Host", "localhost.example"},
		"another origin":             {"Origin", "https://evil.example"},
		"another origin of today":    {"Sec-Fetch-Site", "cross-site"},
		"another port":               {"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"},
		"no origin":                  {"Origin", "null"},
		"as a form, which asks none": {"Origin", "https://evil.example", "Content-Type", "text/plain"},
	} {
		answer := s.Send(t, http.MethodPost, "/upgrade/cluster", body, headers...)
		require.Equal(t, http.StatusForbidden, answer.Status, "%s: %s", title, answer.Body)
	}
	read := s.Send(t, http.MethodGet, "/runtimes", "", "Host", "rebound.example")
	require.Equal(t, http.StatusForbidden, read.Status, "reading is refused under a foreign name too")
	list, err := s.ListOrchestrations(orchestration.ListParameters{})
	require.NoError(t, err)
	require.Empty(t, list.Data)
	own := s.Send(t, http.MethodPost, "/upgrade/cluster", body, "Sec-Fetch-Site", "same-origin", "Origin", s.URL)
	require.Equal(t, http.StatusAccepted, own.Status, own.Body)
}

func TestASecondServerOnTheSameFolderIsRefused(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{})
	settings := settingsFor(t, f)
	first := server.StartProcess(t, settings)
	second := server.Launch(t, settings)
	require.Equal(t, 1, second.ExitCode())
	require.Contains(t, second.Log(t), "another process uses the database in "+settings["data-dir"])
	require.Zero(t, first.Terminate(t), first.Log(t))
	third := server.StartProcess(t, settings)
	require.Zero(t, third.Terminate(t), third.Log(t))
}

// A server that is asked to stop does so in time, and another one goes on with what it was doing before any lease has run out.
func TestAServerThatStopsHandsBack(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 12, Version: "1.34.5", ReconcileTime: time.Second})
	settings := with(settingsFor(t, f), "database-url", postgres.URL(t))
	first := server.StartProcess(t, settings)
	first.Ready(t)
	first.Import(t, f.Runtimes(t))
	id := first.Upgrade(t, toTarget(4, all))
	await.That(t, "the first ones are done", func() error {
		if n := first.Orchestration(t, id).OperationStats[orchestration.Succeeded]; n < 2 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	second := server.StartProcess(t, settings)
	require.Positive(t, inProgress(t, second, id))
	began := time.Now()
	require.Zero(t, first.Terminate(t), first.Log(t))
	require.Less(t, time.Since(began), 10*time.Second)
	// A lease holds for 16 s; what is left takes about 3 s.
	second.EndedWithin(t, 12*time.Second, id, orchestration.Succeeded)
	requireOneWriteForEach(t, f)
}

func TestAServerThatWasStoppedGoesOn(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 6, Version: "1.34.5", ReconcileTime: time.Second})
	settings := settingsFor(t, f)
	s := server.StartProcess(t, settings)
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	id := s.Upgrade(t, toTarget(2, all))
	await.That(t, "something is done", func() error {
		if s.Orchestration(t, id).OperationStats[orchestration.Succeeded] == 0 {
			return fmt.Errorf("nothing is")
		}
		return nil
	})
	require.Positive(t, inProgress(t, s, id))
	require.Zero(t, s.Terminate(t), s.Log(t))
	s = server.StartProcess(t, settings)
	s.Ended(t, id, orchestration.Succeeded)
	requireOneWriteForEach(t, f)
}
