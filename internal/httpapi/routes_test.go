package httpapi_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
)

// example is the path of a route with IDs that exist nowhere.
func example(route httpapi.RouteInfo) string {
	return strings.NewReplacer("{orchestration_id}", "o-9", "{operation_id}", "op-9", "{instance_id}", "in-9").Replace(route.Pattern)
}

func TestEveryRouteIsInTheOpenAPIDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.get("/openapi.json")
	require.Equal(t, http.StatusOK, r.status)
	var document struct {
		OpenAPI string                               `json:"openapi"`
		Paths   map[string]map[string]map[string]any `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.text), &document))
	require.Equal(t, "3.1.0", document.OpenAPI)
	operations, ids := 0, map[string]bool{}
	for _, path := range document.Paths {
		operations += len(path)
	}
	require.Len(t, httpapi.Routes(), operations)
	for _, route := range httpapi.Routes() {
		operation := document.Paths[route.Pattern][strings.ToLower(route.Method)]
		require.NotNil(t, operation, route.Pattern)
		require.Equal(t, route.ID, operation["operationId"])
		require.NotEmpty(t, operation["summary"])
		require.False(t, ids[route.ID], "operation IDs are unique")
		ids[route.ID] = true
		require.Equal(t, string(route.Role), operation["x-role"])
		if route.Method == http.MethodGet {
			require.NotContains(t, operation, "requestBody")
		}
	}
}

// The document is what clients are made from, so a change of it must be seen in review. go test ./internal/httpapi -update writes it.
func TestTheOpenAPIDocumentIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	golden(t, "openapi.json", newFixture(t).get("/openapi.json").text)
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

// identity is an Authenticator that knows one caller.
type identity struct {
	who httpapi.Identity
	err error
}

func (i identity) Authenticate(*http.Request) (httpapi.Identity, error) { return i.who, i.err }

func TestEveryRouteAsksForItsRole(t *testing.T) {
	t.Parallel()
	with := func(a httpapi.Authenticator) *fixture {
		return newFixture(t, func(o *httpapi.Options) { o.Authenticator = a })
	}
	nobody := with(identity{err: &httpapi.AuthError{Message: "the token has expired"}})
	stranger := with(identity{who: httpapi.Identity{User: "someone"}})
	operator := with(identity{who: httpapi.Identity{User: "reader", Roles: []httpapi.Role{httpapi.RoleOperator}}})
	admin := with(identity{who: httpapi.Identity{User: "writer", Roles: []httpapi.Role{httpapi.RoleAdmin}}})
	for _, route := range httpapi.Routes() {
		status := func(f *fixture) int { return f.send(request(route.Method, example(route), nil)).status }
		refused := func(f *fixture) bool {
			s := status(f)
			return s == http.StatusUnauthorized || s == http.StatusForbidden
		}
		require.False(t, refused(admin), route.ID)
		switch route.Role {
		case httpapi.RoleNone:
			require.False(t, refused(nobody), route.ID)
		case httpapi.RoleAny:
			require.Equal(t, http.MethodGet, route.Method)
			require.Equal(t, http.StatusUnauthorized, status(nobody), route.ID)
			require.False(t, refused(stranger), route.ID)
			require.False(t, refused(operator), route.ID)
		case httpapi.RoleOperator:
			// A preview reads a body, and writes nothing.
			require.True(t, route.Method == http.MethodGet || strings.HasSuffix(route.Pattern, "/preview"), route.ID)
			require.Equal(t, http.StatusUnauthorized, status(nobody), route.ID)
			require.Equal(t, http.StatusForbidden, status(stranger), route.ID)
			require.False(t, refused(operator), route.ID)
		case httpapi.RoleAdmin:
			require.NotEqual(t, http.MethodGet, route.Method)
			require.Equal(t, http.StatusUnauthorized, status(nobody), route.ID)
			require.Equal(t, http.StatusForbidden, status(stranger), route.ID)
			require.Equal(t, http.StatusForbidden, status(operator), route.ID)
		default:
			require.Fail(t, "a route without a role", route.ID)
		}
	}
	r := nobody.get("/runtimes")
	require.Contains(t, r.header.Get("WWW-Authenticate"), "Bearer")
	require.Equal(t, "the token has expired", problem(t, r, http.StatusUnauthorized, "").Detail)

	away := with(identity{err: fleet.Unavailable("the issuer does not answer", nil)})
	problem(t, away.get("/runtimes"), http.StatusServiceUnavailable, "")
	faulty := with(identity{err: os.ErrNotExist})
	require.NotContains(t, problem(t, faulty.get("/runtimes"), http.StatusUnauthorized, "").Detail, "exist")
}

func TestUnknownPathsAndMethodsAreProblems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"/", "/orchestration", "/orchestrations/", "//orchestrations", "/orchestrations/o-1/operation", "/orchestrations/../runtimes", "/%00"} {
		problem(t, f.get(path), http.StatusNotFound, "")
	}
	for _, route := range httpapi.Routes() {
		r := f.send(request(http.MethodPatch, example(route), nil))
		problem(t, r, http.StatusMethodNotAllowed, "")
		require.Contains(t, r.header.Get("Allow"), route.Method)
		if route.Method == http.MethodGet {
			require.Contains(t, r.header.Get("Allow"), http.MethodHead)
		}
	}
}

func TestRoutesStandBelowTheBasePath(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) { o.BasePath = "/api/v1" })
	require.Equal(t, http.StatusOK, f.get("/api/v1/orchestrations").status)
	problem(t, f.get("/orchestrations"), http.StatusNotFound, "")
	require.Contains(t, f.get("/api/v1/openapi.json").text, `"/api/v1/upgrade/kyma": {`)
}

func TestParametersThatAreNotKnownAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, route := range httpapi.Routes() {
		if route.ID == "metrics" || route.ID == "openAPI" {
			continue
		}
		p := problem(t, f.send(request(route.Method, example(route)+"?shoots=c-1", nil)), http.StatusBadRequest, "shoots")
		for _, name := range route.Parameters {
			require.Contains(t, p.Detail, name)
		}
	}
}

func TestOptionsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	_, err := httpapi.New(httpapi.Options{BasePath: "api/", PageSize: 2000, MaxBody: -1, Checks: []httpapi.Check{{}}})
	for _, name := range []string{"Reader", "Commands", "Previewer", "Authenticator", "Logger", "Clock", "BasePath", "PageSize", "MaxBody", "Checks[0]"} {
		require.ErrorContains(t, err, name)
	}
}
