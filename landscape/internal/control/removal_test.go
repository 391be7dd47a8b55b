package control_test

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/landscape/internal/control"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/landscape"
	"github.com/swell-fleet/swell/landscape/internal/port"
)

// isRefused reports whether nobody listens on an address.
func isRefused(t *testing.T, address string) bool {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err == nil {
		require.NoError(t, conn.Close())
	}
	return err != nil
}

// A fleet that cannot be made leaves neither a listener nor a Shoot behind, and its
// name can be used.
func TestAFleetThatCannotBeMadeLeavesNothing(t *testing.T) {
	t.Parallel()
	taken := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(taken, landscape.KubeconfigFile), 0o700))
	held, err := port.Hold("127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, held.Release())
	options := landscape.FleetOptions{Generate: fleetgen.Options{Namespace: "garden-never", Shoots: 3}, Listen: held.Address()}
	for name, fail := range map[string]func(*landscape.FleetOptions){
		"a file is in the way":            func(o *landscape.FleetOptions) { o.Folder = taken },
		"the Provisioner cannot listen":   func(o *landscape.FleetOptions) { o.ListenProvisioner = "192.0.2.1:1" },
		"the door cannot listen":          func(o *landscape.FleetOptions) { o.Listen = "192.0.2.1:1" },
		"a file is in the way, and Kymas": func(o *landscape.FleetOptions) { o.Folder, o.Kymas = taken, true },
	} {
		failing := options
		fail(&failing)
		_, err := shared.CreateFleet(t.Context(), failing)
		require.Error(t, err, name)
		require.True(t, isRefused(t, held.Address()), name)
		require.NoDirExists(t, filepath.Join(mainDir, "fleets", "garden-never"), name)
		require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, "/fleets/garden-never", nil, nil), name)
		_, err = shared.Shoots(t.Context(), "garden-never")
		require.ErrorIs(t, err, landscape.ErrNotFound, name)
	}
	options.Generate.Shoots = 1
	fleet, err := shared.CreateFleet(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, shared.DeleteFleet(t.Context(), fleet.Namespace)) })
	require.False(t, isRefused(t, held.Address()))
	shoots, err := shared.Shoots(t.Context(), fleet.Namespace)
	require.NoError(t, err)
	require.Len(t, shoots, 1)
}

// Of several who remove something, one does.
func TestRemovingTwiceRemovesOnce(t *testing.T) {
	t.Parallel()
	var made control.FleetInfo
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, "/fleets", map[string]any{"namespace": "garden-twice", "shoots": 2, "kymas": true}, &made))
	require.FileExists(t, made.KymaKubeconfig)
	var opened control.IssuerInfo
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, "/issuers", map[string]any{"id": "twice"}, &opened))
	for _, path := range []string{"/fleets/garden-twice", "/issuers/twice"} {
		const tries = 4
		codes := make(chan int, tries)
		var running sync.WaitGroup
		for range tries {
			running.Go(func() {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, address+path, http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				_ = response.Body.Close()
				codes <- response.StatusCode
			})
		}
		running.Wait()
		close(codes)
		count := map[int]int{}
		for code := range codes {
			count[code]++
		}
		require.Equal(t, map[int]int{http.StatusNoContent: 1, http.StatusNotFound: tries - 1}, count)
	}
	require.NoDirExists(t, filepath.Dir(made.Kubeconfig))
	for _, address := range []string{made.Server, made.KymaServer, made.Provisioner, opened.Issuer} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		require.True(t, isRefused(t, u.Host), address)
	}
}
