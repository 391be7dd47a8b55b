package port_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/landscape/internal/port"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPortIsKeptWhileNobodyListens(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		held, err := port.Hold(address)
		require.NoError(t, err)
		refused := func() bool {
			conn, err := net.Dial("tcp", held.Address())
			if err == nil {
				_ = conn.Close()
			}
			return err != nil
		}
		require.True(t, refused())
		_, err = net.Listen("tcp", held.Address())
		require.Error(t, err, "somebody else")
		for range 2 {
			listener, err := held.Listen()
			require.NoError(t, err)
			require.Equal(t, held.Address(), listener.Addr().String())
			require.False(t, refused())
			require.NoError(t, listener.Close())
			require.True(t, refused())
		}
		require.NoError(t, held.Release())
	}
}

// Others may have got the port, and the number of its socket, in the meantime.
func TestAPortThatWasGivenUpIsLeftAlone(t *testing.T) {
	t.Parallel()
	held, err := port.Hold("127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, held.Release())
	other, err := port.Hold("127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, held.Release())
	_, err = held.Listen()
	require.ErrorIs(t, err, port.ErrReleased)
	listener, err := other.Listen()
	require.NoError(t, err, "it was not closed in place of the first")
	require.NoError(t, listener.Close())
	require.NoError(t, other.Release())
}

func TestOnlyLoopbackAddressesAreHeld(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0"} {
		_, err := port.Hold(address)
		require.ErrorContains(t, err, "loopback", address)
	}
	_, err := port.Hold("127.0.0.1:not-a-port")
	require.Error(t, err)
}
