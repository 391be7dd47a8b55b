package orchestration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Runtimes are imported in parts that the server takes, and the counts of the parts are summed up.
func TestImportRuntimes(t *testing.T) {
	t.Parallel()
	runtimes := []runtime.RuntimeDTO{}
	for i := range 3000 {
		runtimes = append(runtimes, provisioned(fmt.Sprintf("rt-%04d", i)))
	}
	server := newServer(t, answer(http.StatusOK, `{"imported":10,"updated":2,"unchanged":1}`))
	response, err := server.client(t, "").ImportRuntimes(runtime.RuntimesPage{Data: runtimes, Count: 3000, TotalCount: 3000})
	require.NoError(t, err)
	seen := server.seen()
	require.Greater(t, len(seen), 1)
	require.Equal(t, orchestration.ImportResponse{Imported: 10 * len(seen), Updated: 2 * len(seen), Unchanged: len(seen)}, response)

	sent := []runtime.RuntimeDTO{}
	for _, r := range seen {
		require.Equal(t, "/runtimes/import", r.URI)
		require.Less(t, len(r.Body), 1<<20)
		var page runtime.RuntimesPage
		require.NoError(t, json.Unmarshal([]byte(r.Body), &page))
		require.Len(t, page.Data, page.Count)
		require.Equal(t, 3000, page.TotalCount)
		sent = append(sent, page.Data...)
	}
	require.Equal(t, runtimes, sent)
}

// An empty page is put to the server too, so that its answer and not the client says that nothing came of it.
func TestImportNoRuntimes(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(http.StatusOK, `{"imported":0,"updated":0,"unchanged":0}`))
	response, err := server.client(t, "").ImportRuntimes(runtime.RuntimesPage{})
	require.NoError(t, err)
	require.Zero(t, response)
	require.JSONEq(t, `{"data":[],"count":0,"totalCount":0}`, server.seen()[0].Body)
}

// When a part is refused the error says which, and no sum of the others is returned as if it were the whole.
func TestImportRefused(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(http.StatusBadRequest, `{"detail":"data[0].runtimeID is empty"}`))
	response, err := server.client(t, "").ImportRuntimes(runtime.RuntimesPage{Data: []runtime.RuntimeDTO{{}}})
	require.ErrorContains(t, err, "part 1 of 1")
	require.ErrorContains(t, err, "data[0].runtimeID is empty")
	require.Zero(t, response)
}

func TestImportPartsKeepEveryRuntimeOnceAndTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-z]{0,400}`), 0, 20).Draw(t, "names")
		limit := rapid.IntRange(1, 4000).Draw(t, "limit")
		runtimes := []runtime.RuntimeDTO{}
		for _, name := range names {
			runtimes = append(runtimes, runtime.RuntimeDTO{RuntimeID: name})
		}
		parts, err := orchestration.ImportParts(runtimes, limit)
		require.NoError(t, err)
		require.NotEmpty(t, parts)
		joined := []runtime.RuntimeDTO{}
		for _, part := range parts {
			encoded, err := json.Marshal(part)
			require.NoError(t, err)
			require.True(t, len(part) <= 1 || len(encoded) <= limit+2, "%d runtimes in %d bytes", len(part), len(encoded))
			joined = append(joined, part...)
		}
		require.Equal(t, runtimes, joined)
	})
}
