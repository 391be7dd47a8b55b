package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// An imported runtime whose Shoot is gone stays as its document says until it is forgotten, and does not come back; one whose Shoot is there is not forgotten.
func TestAnImportedRuntimeWithoutAShootIsForgotten(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.34.5"})
	s := startLocal(t, f, nil)
	there, gone := f.Runtimes(t).Data[0], f.Runtimes(t).Data[1]

	_, err := s.ForgetRuntime(gone.InstanceID)
	var refused *orchestration.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusConflict, refused.Status)
	require.Contains(t, refused.Reason, gone.ShootName)

	f.Remove(t, gone.ShootName)
	await.That(t, "the server sees that the Shoot is gone", func() error {
		got, err := s.ForgetRuntime(gone.InstanceID)
		if err == nil {
			require.Equal(t, orchestration.ForgetResponse{InstanceID: gone.InstanceID}, got)
			return nil
		}
		if refused = nil; !errors.As(err, &refused) || refused.Status != http.StatusConflict {
			require.NoError(t, err)
		}
		return fmt.Errorf("it is refused: %s", refused.Reason)
	})
	require.Equal(t, []string{there.InstanceID}, instances(s.ListRuntimes(t, everything)))

	o := s.Ended(t, s.Upgrade(t, toTarget(2, all)), orchestration.Succeeded)
	require.Equal(t, map[string]int{orchestration.Succeeded: 1}, o.OperationStats)
	require.Equal(t, []string{there.InstanceID}, instances(s.ListRuntimes(t, everything)), "nothing brings it back")
}

// Without a source that goes on there is nothing that could bring a runtime back.
func TestWithoutASourceEveryRuntimeCanBeForgotten(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 1, Version: "1.34.5"})
	s := server.StartLocal(t, nil, with(settingsFor(t, f), "source-gardener", "false"))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	_, err := s.ForgetRuntime(f.Runtimes(t).Data[0].InstanceID)
	require.NoError(t, err)
	require.Empty(t, s.ListRuntimes(t, everything))
}

func instances(list []runtime.RuntimeDTO) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].InstanceID
	}
	return ids
}
