package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/runtime"
)

// seen are the runtime IDs that Shoots have, or why nobody knows.
type seen struct {
	ids map[string]bool
	err error
}

func (s seen) RuntimeIDs(context.Context) (map[string]bool, error) { return s.ids, s.err }

func seeing(ids ...string) func(*httpapi.Options) {
	s := seen{ids: map[string]bool{}}
	for _, id := range ids {
		s.ids[id] = true
	}
	return func(o *httpapi.Options) { o.Shoots = s }
}

// ids are the instance IDs of a page.
func ids(page runtime.RuntimesPage) []string {
	found := make([]string, len(page.Data))
	for i := range page.Data {
		found[i] = page.Data[i].InstanceID
	}
	return found
}

func TestRuntimesWithoutAShoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, seeing("rt-1", "rt-4"))
	var docs []runtime.RuntimeDTO
	for n, state := range []runtime.State{"", runtime.StateFailed, "", runtime.StateDeprovisioned, "", runtime.StateSuspended} {
		doc := runtime.RuntimeDTO{InstanceID: fmt.Sprintf("i-%d", n+1), RuntimeID: fmt.Sprintf("rt-%d", n+1), ServicePlanName: "aws"}
		doc.Status.State, doc.Status.CreatedAt = state, noon
		docs = append(docs, doc)
	}
	docs[4].RuntimeID, docs[4].ServicePlanName = "", "azure"
	f.addRuntimes(docs...)
	for query, want := range map[string][]string{
		"":                                      {"i-1", "i-2", "i-3", "i-5"},
		"without_shoot=false":                   {"i-1", "i-2", "i-3", "i-5"},
		"without_shoot=true":                    {"i-2", "i-3", "i-5"},
		"without_shoot=true&state=all":          {"i-2", "i-3", "i-5", "i-6"},
		"without_shoot=true&state=suspended":    {"i-6"},
		"without_shoot=true&plan=aws":           {"i-2", "i-3"},
		"without_shoot=true&state=failed":       {"i-2"},
		"without_shoot=true&instance_id=i-1":    {},
		"without_shoot=true&instance_id=i-3":    {"i-3"},
		"without_shoot=true&runtime_id=rt-1":    {},
		"without_shoot=true&page=2&page_size=2": {"i-5"},
	} {
		page := read[runtime.RuntimesPage](t, f.get("/runtimes?"+query))
		require.Equal(t, want, ids(page), query)
		require.Len(t, page.Data, page.Count, query)
	}
	require.Equal(t, 3, read[runtime.RuntimesPage](t, f.get("/runtimes?without_shoot=true&page=2&page_size=2")).TotalCount)
	require.JSONEq(t, `{"data":[],"count":0,"totalCount":0}`, f.get("/runtimes?without_shoot=true&instance_id=i-1").text)
	problem(t, f.get("/runtimes?without_shoot=maybe"), http.StatusBadRequest, "without_shoot")
}

// What nobody knows is no answer: a runtime that would be taken for gone may be there.
func TestNobodyKnowsWhichRuntimesHaveNoShoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.Contains(t, problem(t, f.get("/runtimes?without_shoot=true"), http.StatusBadRequest, "without_shoot").Detail, "no Gardener project")
	f = newFixture(t, func(o *httpapi.Options) { o.Shoots = seen{err: fleet.Unavailable("the Shoots are not followed", nil)} })
	require.Contains(t, problem(t, f.get("/runtimes?without_shoot=true"), http.StatusServiceUnavailable, "").Detail, "not followed")
	require.Equal(t, http.StatusOK, f.get("/runtimes?without_shoot=false").status)
}
