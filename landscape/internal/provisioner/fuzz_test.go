package provisioner_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/landscape/internal/provisioner"
)

// FuzzRequest sends all kinds of bodies. Whatever they are, the answer is one that
// GraphQL knows, and what does not fit the schema changes nothing.
func FuzzRequest(f *testing.F) {
	encode := func(query string, variables map[string]any) {
		body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
		require.NoError(f, err)
		f.Add(body)
	}
	for _, query := range []string{
		``, `{`, `{ __typename }`, `{ __schema { types { name } } }`, `{ runtimeStatus(id: "rt-1") { ...F } } fragment F on RuntimeStatus { ...F }`,
		`query A { __typename } query B { __typename }`, `{ a: runtimeStatus(id: "rt-1") @skip(if: $x) { __typename } }`, `subscription { __typename }`,
		`mutation { upgradeRuntime(id: "rt-1", config: {kymaConfig: {version: "1", components: [{component: "c", namespace: "n", configuration: [{key: "k", value: "v"}]}]}}) { state } }`,
	} {
		encode(query, nil)
	}
	encode(statusQuery, map[string]any{"id": "rt-1"})
	encode(operationQuery, map[string]any{"id": []any{"rt-1"}})
	encode(upgradeRuntime, map[string]any{"id": "rt-1", "config": toKyma("2.21.0")})
	encode(upgradeShoot, map[string]any{"id": "rt-1", "config": map[string]any{"gardenerConfig": map[string]any{"autoScalerMin": 1.5}}})
	f.Add([]byte(`{"query":"{ __typename }","variables":[]}`))
	f.Add([]byte(`{"operationName":"A"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p := provisioner.New(members(), func() time.Time { return noon }, func() provisioner.Settings { return provisioner.Settings{Lasting: lasting} })
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(string(body)))
		r.Header.Set("tenant", "ga-1")
		p.ServeHTTP(w, r)
		var document struct {
			Data   map[string]any   `json:"data"`
			Errors []map[string]any `json:"errors"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &document))
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest, http.StatusUnprocessableEntity}, w.Code)
		if w.Code != http.StatusOK {
			require.NotEmpty(t, document.Errors)
			require.Empty(t, p.Mutations())
		}
		begun := slices.ContainsFunc(p.Runtimes(), func(r provisioner.Runtime) bool { return r.State != "Succeeded" })
		accepted := slices.ContainsFunc(p.Mutations(), func(m provisioner.Mutation) bool { return m.Accepted })
		require.Equal(t, accepted, begun)
	})
}
