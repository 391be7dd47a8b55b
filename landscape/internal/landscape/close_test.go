package landscape

import (
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/gardenlet"
	"github.com/swell-fleet/swell/landscape/internal/issuer"
)

// A landscape with all its parts is closed while it makes another fleet. That
// nothing runs any more afterwards is checked when the tests end.
func TestNothingOfALandscapeRunsAfterItsEnd(t *testing.T) {
	t.Parallel()
	l, err := Start(t.Context(), t.TempDir(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	options := FleetOptions{Generate: fleetgen.Options{Namespace: "garden-one", Shoots: 3}, Settings: gardenlet.Settings{ReconcileTime: time.Second}, Kymas: true}
	fleet, err := l.CreateFleet(t.Context(), options)
	require.NoError(t, err)
	provider, err := l.CreateIssuer("", issuer.Options{})
	require.NoError(t, err)

	options.Generate.Namespace, options.Generate.Shoots, options.Folder = "garden-two", 2000, t.TempDir()+"/two"
	made := make(chan error, 1)
	go func() {
		_, err := l.CreateFleet(t.Context(), options)
		made <- err
	}()
	require.Eventually(t, func() bool {
		_, err := os.Stat(options.Folder)
		return err == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, l.Close())
	require.Error(t, <-made)
	require.Empty(t, l.Fleets())
	require.Empty(t, l.Issuers())
	for _, address := range []string{fleet.Address(), fleet.KymaAddress(), fleet.plane.address, provider.URL()[len("http://"):]} {
		_, err := net.Dial("tcp", address)
		require.Error(t, err)
	}
	_, err = l.CreateIssuer("late", issuer.Options{})
	require.ErrorIs(t, err, errClosed)
}
