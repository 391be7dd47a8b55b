package provisioner_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestsHaveToFitTheSchema(t *testing.T) {
	t.Parallel()
	b := start(t)
	kyma := func(change map[string]any) map[string]any {
		config := map[string]any{"version": "2.21.0", "components": []any{}}
		for name, value := range change {
			config[name] = value
		}
		return map[string]any{"id": "rt-1", "config": map[string]any{"kymaConfig": config}}
	}
	for name, test := range map[string]struct {
		query     string
		variables map[string]any
	}{
		"no query":               {"", nil},
		"syntax":                 {"query {", nil},
		"an unknown field":       {`{ runtimeStatus(id: "rt-1") { colour } }`, nil},
		"an unknown mutation":    {`mutation { deprovisionRuntime(id: "rt-1") }`, nil},
		"no selection":           {`{ runtimeStatus(id: "rt-1") }`, nil},
		"an argument is missing": {`{ runtimeStatus { __typename } }`, nil},
		"an unknown argument":    {`{ runtimeStatus(id: "rt-1", tenant: "ga-2") { __typename } }`, nil},
		"a variable is missing":  {statusQuery, nil},
		"a variable is null":     {statusQuery, map[string]any{"id": nil}},
		"a variable of a type":   {statusQuery, map[string]any{"id": 7}},
		"a fragment of itself":   {`{ runtimeStatus(id: "rt-1") { ...A } } fragment A on RuntimeStatus { ...A }`, nil},
		"an unknown input":       {upgradeRuntime, kyma(map[string]any{"colour": 1})},
		"an input is missing":    {upgradeRuntime, map[string]any{"id": "rt-1", "config": map[string]any{"kymaConfig": map[string]any{"version": "1"}}}},
		"a null in a list":       {upgradeRuntime, kyma(map[string]any{"components": []any{nil}})},
		"an unknown profile":     {upgradeRuntime, kyma(map[string]any{"profile": "Huge"})},
		"two things of a name":   {`{ runtimeStatus(id: "rt-1") { __typename } runtimeStatus(id: "rt-2") { __typename } }`, nil},
		"a subscription":         {`subscription { runtimeStatus(id: "rt-1") { __typename } }`, nil},
		"deep":                   {strings.Repeat("{ a ", 100_000), nil},
	} {
		a := b.ask("ga-1", test.query, test.variables)
		require.Equal(t, http.StatusUnprocessableEntity, a.Status, name)
		require.NotEmpty(t, a.Errors, name)
		require.NotEmpty(t, a.Errors[0].Message, name)
		require.Nil(t, a.Data, name)
	}
	require.Empty(t, b.Mutations())
}

func TestRequestsHaveToBeGraphQLOverHTTP(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, body := range []string{"", "{", "null and more", `[]`, `{"query":7}`, `{"query":"{ __typename }"}{}`, `{"query":"` + strings.Repeat("x", 2<<20) + `"}`} {
		a, err := b.send("ga-1", []byte(body))
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, a.Status)
		require.NotEmpty(t, a.Errors)
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/graphql?query={__typename}", http.NoBody))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

func TestOneOfSeveralOperationsIsChosenByName(t *testing.T) {
	t.Parallel()
	b := start(t)
	documents := `query Look { runtimeStatus(id: "rt-1") { lastOperationStatus { state } } } query Other { __typename }`
	choose := func(name string) answer {
		body, err := json.Marshal(map[string]any{"query": documents, "operationName": name})
		require.NoError(t, err)
		a, err := b.send("ga-1", body)
		require.NoError(t, err)
		return a
	}
	require.Equal(t, "Succeeded", choose("Look").at("runtimeStatus", "lastOperationStatus", "state"))
	require.Equal(t, map[string]any{"__typename": "Query"}, choose("Other").Data)
	for _, name := range []string{"", "Third"} {
		require.Equal(t, http.StatusUnprocessableEntity, choose(name).Status)
	}
}

func TestAnAnswerHoldsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	b := start(t)
	for query, want := range map[string]string{
		`{ kind: __typename }`: `{"kind":"Query"}`,
		`{ runtimeStatus(id: "rt-1") { __typename hibernationStatus { hibernated } } }`:                                                `{"runtimeStatus":{"__typename":"RuntimeStatus","hibernationStatus":{"hibernated":false}}}`,
		`{ one: runtimeStatus(id: "rt-1") { last: lastOperationStatus { is: state } } two: runtimeStatus(id: "rt-2") { __typename } }`: `{"one":{"last":{"is":"Succeeded"}},"two":{"__typename":"RuntimeStatus"}}`,
		// What is asked for in several places comes together.
		`{ runtimeStatus(id: "rt-1") { lastOperationStatus { state } ... { lastOperationStatus { operation } } ...F } runtimeStatus(id: "rt-1") { hibernationStatus { hibernated } } }
			fragment F on RuntimeStatus { lastOperationStatus { runtimeID } }`: `{"runtimeStatus":{"lastOperationStatus":{"state":"Succeeded","operation":"Provision","runtimeID":"rt-1"},"hibernationStatus":{"hibernated":false}}}`,
		// Directives decide.
		`query($no: Boolean = false) { runtimeStatus(id: "rt-1") { hibernationStatus @skip(if: true) { hibernated } ...F @include(if: $no) ... @skip(if: $no) { __typename } } }
			fragment F on RuntimeStatus { lastOperationStatus { state } }`: `{"runtimeStatus":{"__typename":"RuntimeStatus"}}`,
		`mutation($no: Boolean = false) { upgradeRuntime(id: "rt-1", config: {kymaConfig: {version: "1", components: []}}) @include(if: $no) { id } }`: `{}`,
	} {
		a := b.ask("ga-1", query, nil)
		require.Equal(t, http.StatusOK, a.Status, a.Text)
		require.Empty(t, a.Errors)
		got, err := json.Marshal(a.Data)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), query)
	}
	require.Empty(t, b.Mutations(), "what is not to be included is not carried out")
}

// One field that fails does not take the others with it.
func TestFieldsFailForThemselves(t *testing.T) {
	t.Parallel()
	b := start(t)
	a := b.ask("ga-1", `{ good: runtimeStatus(id: "rt-1") { __typename } bad: runtimeStatus(id: "rt-9") { __typename } }`, nil)
	require.Equal(t, http.StatusOK, a.Status)
	require.Equal(t, map[string]any{"good": map[string]any{"__typename": "RuntimeStatus"}, "bad": nil}, a.Data)
	require.Len(t, a.Errors, 1)
	require.Equal(t, []any{"bad"}, a.Errors[0].Path)
}

// Changes are carried out in their order, and each name once.
func TestChangesOfOneRequest(t *testing.T) {
	t.Parallel()
	b := start(t)
	part := `upgradeRuntime(id: "rt-1", config: {kymaConfig: {version: "2.21.0", components: []}})`
	a := b.ask("ga-1", `mutation { `+part+` { id } `+part+` { state } }`, nil)
	require.Empty(t, a.Errors)
	require.Equal(t, "Pending", a.at("upgradeRuntime", "state"))
	require.NotEmpty(t, a.at("upgradeRuntime", "id"))
	require.Len(t, b.Mutations(), 1)

	other := strings.ReplaceAll(part, "rt-1", "rt-2")
	a = b.ask("ga-1", `mutation { first: `+other+` { id } second: `+other+` { id } }`, nil)
	require.Len(t, a.Errors, 1)
	require.Equal(t, []any{"second"}, a.Errors[0].Path)
	require.NotNil(t, a.at("first"))
}
