package landscape

import (
	"net/http"
	"testing"
)

// Kyma is a Kyma in short.
type Kyma struct {
	Name          string `json:"name"`
	Shoot         string `json:"shoot"`
	Channel       string `json:"channel"`
	ActiveChannel string `json:"activeChannel"`
	Generation    int64  `json:"generation"`
	State         string `json:"state"`
}

// Kymas returns the Kymas of the fleet, as they are stored.
func (f *Fleet) Kymas(t testing.TB) []Kyma {
	t.Helper()
	var kymas []Kyma
	f.call(t, http.MethodGet, "/kymas", nil, &kymas)
	return kymas
}

// Kyma returns the Kyma of a runtime, and false when it has none.
func (f *Fleet) Kyma(t testing.TB, runtimeID string) (Kyma, bool) {
	t.Helper()
	for _, k := range f.Kymas(t) {
		if k.Name == runtimeID {
			return k, true
		}
	}
	return Kyma{}, false
}

// RemoveKyma removes the Kyma of a runtime at once.
func (f *Fleet) RemoveKyma(t testing.TB, runtimeID string) {
	t.Helper()
	f.call(t, http.MethodDelete, "/kymas/"+runtimeID, nil, nil)
}

// RemoveProvisioned makes the Provisioner forget a runtime.
func (f *Fleet) RemoveProvisioned(t testing.TB, runtimeID string) {
	t.Helper()
	f.call(t, http.MethodDelete, "/provisioner/runtimes/"+runtimeID, nil, nil)
}
