package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/httpapi"
)

// checked makes an API with one check, whose clock is that of the test.
func checked(t testing.TB, check func(ctx context.Context) error) *fixture {
	t.Helper()
	return newFixture(t, func(o *httpapi.Options) {
		o.Checks = []httpapi.Check{{Name: "store", Run: check}}
		o.Clock = time.Now
	})
}

// However many ask whether the server is ready, the database is asked a few times a second.
func TestAFloodOfProbesDoesNotReachTheDatabase(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	f := checked(t, func(context.Context) error {
		ran.Add(1)
		return nil
	})
	synctest.Test(t, func(t *testing.T) {
		const seconds = 10
		for range seconds {
			for range 200 {
				require.Equal(t, http.StatusOK, f.get("/readyz").status)
			}
			time.Sleep(time.Second)
		}
		require.LessOrEqual(t, ran.Load(), int32(10+5*seconds))
		before := ran.Load()
		time.Sleep(time.Second)
		f.get("/readyz")
		require.Equal(t, before+1, ran.Load(), "who asks now and then gets what holds now")
	})
}

// While the checks run, all who ask wait for the same result. Whoever asked first may go away.
func TestProbesThatComeTogetherShareAResult(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	f := checked(t, func(ctx context.Context) error {
		ran.Add(1)
		select {
		case <-time.After(time.Second):
			return nil
		case <-ctx.Done():
			return errors.New("given up")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		asking.Go(func() { f.send(request(http.MethodGet, "/readyz", nil).WithContext(ctx)) })
		synctest.Wait()
		for range 100 {
			asking.Go(func() {
				if status := f.get("/readyz").status; status != http.StatusOK {
					t.Errorf("answered %d", status)
				}
			})
		}
		synctest.Wait()
		cancel()
		asking.Wait()
		require.Equal(t, int32(1), ran.Load())
	})
}

func TestACheckThatPanicsHasFailed(t *testing.T) {
	t.Parallel()
	f := checked(t, func(context.Context) error { panic("hunter2") })
	for range 2 {
		r := f.get("/readyz")
		require.Equal(t, http.StatusServiceUnavailable, r.status)
		require.NotContains(t, r.text, "hunter2")
	}
	require.Contains(t, f.log.String(), "hunter2")
}
