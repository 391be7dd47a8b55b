package fleetgen

import (
	"encoding/json"
	"testing"

	"github.com/gardener/gardener/pkg/apis/utils/timewindow"
	"github.com/stretchr/testify/require"
)

// FuzzOptions asks for all kinds of fleets. One that is not refused can be made,
// again and again the same, and holds what was asked for.
func FuzzOptions(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"namespace":"garden-t1"}`, `{"namespace":"garden-t1","shoots":20,"seed":3,"mix":"varied"}`, `{"namespace":"garden-","shoots":-1,"mix":"odd"}`,
		`{"namespace":"garden-abcdefghij","shoots":7,"kubernetesVersion":"1.33.9","confined":true}`, `{"namespace":"garden-a.b","kubernetesVersion":"1.0"}`,
		`{"namespace":"garden-0","shoots":3,"window":"220000+0100/020000+0100"}`, `{"namespace":"garden-0","window":"220000+0100"}`,
		`{"namespace":"garden-0","shoots":3,"window":"000000+0000/000000+0000"}`, `{"namespace":"garden-t1\n","seed":18446744073709551615}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var o Options
		if json.Unmarshal(data, &o) != nil {
			return
		}
		if o.Shoots > 0 {
			o.Shoots %= 25
		}
		fleet, err := Generate(o)
		require.Equal(t, o.Validate() == nil, err == nil)
		if err != nil {
			return
		}
		again, err := Generate(o)
		require.NoError(t, err)
		require.Equal(t, fleet, again)
		require.Len(t, fleet.Members, o.Shoots)
		names := map[string]bool{}
		for _, m := range fleet.Members {
			require.False(t, names[m.Shoot.Name], m.Shoot.Name)
			names[m.Shoot.Name] = true
			require.Equal(t, o.Namespace, m.Shoot.Namespace)
			if o.KubernetesVersion != "" {
				require.Equal(t, o.KubernetesVersion, m.Shoot.Spec.Kubernetes.Version)
			}
			window := m.Shoot.Spec.Maintenance.TimeWindow
			_, err := timewindow.ParseMaintenanceTimeWindow(window.Begin, window.End)
			require.NoError(t, err)
			if o.Window != "" {
				require.Equal(t, o.Window, window.Begin+"/"+window.End)
			}
		}
	})
}
