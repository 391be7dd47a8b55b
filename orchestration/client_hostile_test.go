package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/orchestration"
)

// numbered makes n operations, op-<from> being the first.
func numbered(from, n int) []orchestration.OperationResponse {
	rows := []orchestration.OperationResponse{}
	for i := range n {
		rows = append(rows, orchestration.OperationResponse{OperationID: "op-" + strconv.Itoa(from+i), State: "pending"})
	}
	return rows
}

// The client copes with servers whose lists change or whose answers get lost on the way. It returns every row that was there all the
// time, each once, or an error.
func TestListOperationsFromDifficultServers(t *testing.T) {
	t.Parallel()
	stable := numbered(0, 10)
	// once runs a fault at the first request for page 2 only.
	once := func(fault, usual http.HandlerFunc) http.HandlerFunc {
		var failed atomic.Bool
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("page") == "2" && failed.CompareAndSwap(false, true) {
				fault(w, r)
				return
			}
			usual(w, r)
		}
	}
	good := pagedOperations(3, stable...)
	var grown, shrunk atomic.Int64
	servers := map[string]struct {
		handler http.HandlerFunc
		fails   string
	}{
		"puts rows in front while they are read": {handler: func(w http.ResponseWriter, r *http.Request) {
			pagedOperations(3, append(numbered(100, int(min(grown.Add(1), 5))), stable...)...)(w, r)
		}},
		"takes rows away while they are read": {handler: func(w http.ResponseWriter, r *http.Request) {
			gone := numbered(200, max(0, 4-int(shrunk.Add(1))))
			pagedOperations(3, append(gone, stable...)...)(w, r)
		}},
		"repeats the last row of a page on the next": {handler: func(w http.ResponseWriter, r *http.Request) {
			page, _ := strconv.Atoi(r.URL.Query().Get("page"))
			begin := min(max(0, 3*(page-1)-page+1), len(stable))
			writeRows(w, stable[begin:min(begin+3, len(stable))], len(stable))
		}},
		"counts too many": {handler: func(w http.ResponseWriter, r *http.Request) {
			page, _ := strconv.Atoi(r.URL.Query().Get("page"))
			begin := min(3*(page-1), len(stable))
			writeRows(w, stable[begin:min(begin+3, len(stable))], 5000)
		}},
		"counts too few": {handler: func(w http.ResponseWriter, r *http.Request) {
			page, _ := strconv.Atoi(r.URL.Query().Get("page"))
			begin := min(3*(page-1), len(stable))
			writeRows(w, stable[begin:min(begin+3, len(stable))], 1)
		}},
		"is overrun once": {handler: once(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}, good)},
		"is away once": {handler: once(answer(http.StatusBadGateway, "bad gateway"), good)},
		"cuts the connection once": {handler: once(func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, good)},
		"cuts an answer once": {handler: once(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"data":[{"operationID":"op-3"`)
		}, good)},
		"fails in the middle": {
			handler: once(answer(http.StatusInternalServerError, "oh"), good), fails: "500 Internal Server Error: oh"},
		"is away for good": {
			handler: answer(http.StatusServiceUnavailable, "no healthy upstream"), fails: "no healthy upstream"},
		"cuts every answer": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"data":[]`)
		}, fails: "unexpected EOF"},
		"answers with a page of another kind": {handler: answer(http.StatusOK, "<html>log in</html>"), fails: "not a JSON object"},
		"answers with another object":         {handler: answer(http.StatusOK, `{"orchestrationID":"o-1"}`), fails: "not a page"},
		"answers with another type":           {handler: answer(http.StatusOK, `{"data":"none","count":0}`), fails: "cannot unmarshal"},
		"does not know pages": {handler: func(w http.ResponseWriter, _ *http.Request) {
			writeRows(w, stable, len(stable))
		}, fails: "does not seem to know pages"},
	}
	for name, test := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, test.handler)
			list, err := server.client(t, "").ListOperations("o-1", orchestration.ListParameters{PageSize: 3})
			if test.fails != "" {
				require.ErrorContains(t, err, test.fails)
				require.Zero(t, list, "an error came with a part of the list")
				return
			}
			require.NoError(t, err)
			ids := operationIDs(list)
			for _, row := range stable {
				require.Contains(t, ids, row.OperationID)
			}
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), len(ids), "a row came twice")
			require.Equal(t, len(ids), list.Count)
			require.Equal(t, len(ids), list.TotalCount)
		})
	}
}

// writeRows answers with one page and a total.
func writeRows(w io.Writer, rows []orchestration.OperationResponse, total int) {
	_, _ = fmt.Fprintf(w, `{"data":[`)
	for i, row := range rows {
		if i > 0 {
			_, _ = io.WriteString(w, ",")
		}
		_, _ = fmt.Fprintf(w, `{"operationID":%q}`, row.OperationID)
	}
	_, _ = fmt.Fprintf(w, `],"count":%d,"totalCount":%d}`, len(rows), total)
}

// A body that never ends is given up after the time of a try; a context that ends gives up at once, also in the middle of a body.
func TestClientGivesUpOnSlowAnswers(t *testing.T) {
	t.Parallel()
	inBody := make(chan struct{}, 100)
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"data":[`)
		_ = http.NewResponseController(w).Flush()
		inBody <- struct{}{}
		<-r.Context().Done()
	})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	httpClient := &http.Client{Transport: transport}

	t.Run("after the time of a try", func(t *testing.T) {
		t.Parallel()
		client := orchestration.NewHastyClient(t.Context(), server.URL, nil, 20*time.Millisecond, httpClient)
		_, err := client.ListOrchestrations(orchestration.ListParameters{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("when the context ends", func(t *testing.T) {
		t.Parallel()
		stopped := errors.New("the operator stopped it")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-inBody
			cancel(stopped)
		}()
		client := orchestration.NewHastyClient(ctx, server.URL, nil, time.Hour, httpClient)
		_, err := client.ListOrchestrations(orchestration.ListParameters{})
		require.ErrorIs(t, err, stopped)
	})
	t.Run("when the context has ended", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		client := orchestration.NewHastyClient(ctx, server.URL, nil, time.Hour, httpClient)
		_, err := client.UpgradeCluster(orchestration.Parameters{Targets: all()})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// Starting an orchestration is repeated under one idempotency key when the answer got lost, so that there is one orchestration.
// Canceling is not repeated once the server may have acted.
func TestClientRepeatsWritesSafely(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		answer(http.StatusAccepted, `{"orchestrationID":"o-1"}`)(w, r)
	})
	response, err := server.client(t, "").UpgradeCluster(orchestration.Parameters{Version: "1.33.4", Targets: all()})
	require.NoError(t, err)
	require.Equal(t, "o-1", response.OrchestrationID)
	seen := server.seen()
	require.Len(t, seen, 2)
	require.NotEmpty(t, seen[0].Key)
	require.Equal(t, seen[0], seen[1])

	broken := newServer(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	require.Error(t, broken.client(t, "").CancelOrchestration("o-1"))
	require.Len(t, broken.seen(), 1)
}

// IDs that would name another resource are refused without a request.
func TestClientRefusesIDsThatNameSomethingElse(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(http.StatusOK, `{}`))
	client := server.client(t, "")
	for _, id := range []string{"", ".", ".."} {
		_, err := client.GetOrchestration(id)
		require.Error(t, err)
		_, err = client.GetOperation("o-1", id)
		require.Error(t, err)
		_, err = client.ListLeftOut(id, orchestration.ListParameters{})
		require.Error(t, err)
		require.Error(t, client.CancelOrchestration(id))
	}
	for _, base := range []string{"", "swell.example", "ftp://swell.example", "http://", "http://a b"} {
		require.Error(t, orchestration.NewClient(t.Context(), base, nil).CancelOrchestration("o-1"))
	}
	for _, params := range []orchestration.ListParameters{{Page: -1}, {PageSize: -1}} {
		_, err := client.ListOrchestrations(params)
		require.Error(t, err)
	}
	require.Empty(t, server.seen())
}

// What an orchestration leaves out is read in pages; rows without an instance are different ones when their Shoots are.
func TestListLeftOut(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") != "1" {
			_, _ = io.WriteString(w, `{"data":[],"count":0,"totalCount":2}`)
			return
		}
		_, _ = io.WriteString(w, `{"data":[
			{"shootName":"c-aa11","runtimeID":"","instanceID":"","reason":"no_runtime_id","description":"d"},
			{"shootName":"c-bb22","runtimeID":"","instanceID":"","reason":"from_a_newer_server","description":"d","more":1}
		],"count":2,"totalCount":2}`)
	})
	list, err := server.client(t, "").ListLeftOut("o-1", orchestration.ListParameters{States: []string{"failed"}})
	require.NoError(t, err)
	require.Equal(t, orchestration.LeftOutList{Count: 2, TotalCount: 2, Data: []orchestration.LeftOut{
		{ShootName: "c-aa11", Reason: orchestration.LeftOutNoRuntimeID, Description: "d"},
		{ShootName: "c-bb22", Reason: "from_a_newer_server", Description: "d"},
	}}, list)
	require.Equal(t, "/orchestrations/o-1/leftout?page=1", server.seen()[0].URI)
}
