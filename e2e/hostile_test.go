package e2e_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// deep is a document with many levels.
func deep(levels int) string {
	return strings.Repeat(`{"targets":`, levels) + "1" + strings.Repeat("}", levels)
}

// Requests that make no sense are refused with the reason, whatever they are made of, and leave nothing behind.
func TestBadRequestsAreRefusedAndLeaveNothing(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{})
	s := server.StartProcess(t, settingsFor(t, f))
	sendBadRequests(t, s)
	list, err := s.ListOrchestrations(orchestration.ListParameters{})
	require.NoError(t, err)
	require.Empty(t, list.Data)
	require.Empty(t, s.ListRuntimes(t, runtime.ListParameters{States: []runtime.State{runtime.AllState}}))
	require.NotContains(t, s.Log(t), "panic")
}

func sendBadRequests(t *testing.T, s *server.Process) {
	t.Helper()
	const tooLong = 10 << 20
	for title, request := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
	}{
		"10 MB of blanks":        {method: http.MethodPost, path: "/upgrade/cluster", body: strings.Repeat(" ", tooLong), status: http.StatusRequestEntityTooLarge},
		"10 MB in a text":        {method: http.MethodPost, path: "/upgrade/cluster", body: `{"version":"` + strings.Repeat("x", tooLong) + `"}`, status: http.StatusRequestEntityTooLarge},
		"10 MB to import":        {method: http.MethodPost, path: "/runtimes/import", body: `{"data":[` + strings.Repeat(" ", tooLong) + `]}`, status: http.StatusRequestEntityTooLarge},
		"10 MB to retry":         {method: http.MethodPost, path: "/orchestrations/o/retry", body: strings.Repeat("a", tooLong), status: http.StatusRequestEntityTooLarge},
		"deep":                   {method: http.MethodPost, path: "/upgrade/cluster", body: deep(50), status: http.StatusBadRequest},
		"very deep":              {method: http.MethodPost, path: "/upgrade/cluster", body: deep(40_000), status: http.StatusBadRequest},
		"very deep to import":    {method: http.MethodPost, path: "/runtimes/import", body: deep(100_000), status: http.StatusBadRequest},
		"many open brackets":     {method: http.MethodPost, path: "/runtimes/import", body: strings.Repeat("[", 1_000_000), status: http.StatusBadRequest},
		"bad UTF-8":              {method: http.MethodPost, path: "/upgrade/cluster", body: "{\"targets\":{\"include\":[{\"region\":\"\xff\xfe\"}]}}", status: http.StatusBadRequest},
		"bad UTF-8 in a key":     {method: http.MethodPost, path: "/upgrade/cluster", body: "{\"\xc3\x28\":1}", status: http.StatusBadRequest},
		"bad UTF-8 to import":    {method: http.MethodPost, path: "/runtimes/import", body: "{\"data\":[{\"instanceID\":\"\xed\xa0\x80\"}]}", status: http.StatusBadRequest},
		"a NUL":                  {method: http.MethodPost, path: "/upgrade/cluster", body: "\x00", status: http.StatusBadRequest},
		"half a document":        {method: http.MethodPost, path: "/upgrade/cluster", body: `{"targets":{"include":[{"target":"all"}]}`, status: http.StatusBadRequest},
		"two documents":          {method: http.MethodPost, path: "/upgrade/cluster", body: `{"targets":{"include":[{"target":"all"}]}}{}`, status: http.StatusBadRequest},
		"a key twice":            {method: http.MethodPost, path: "/upgrade/cluster", body: `{"version":"1.34.7","version":"1.34.5","targets":{"include":[{"target":"all"}]}}`, status: http.StatusBadRequest},
		"a list":                 {method: http.MethodPost, path: "/upgrade/cluster", body: `[]`, status: http.StatusBadRequest},
		"a big number":           {method: http.MethodPost, path: "/upgrade/cluster", body: `{"targets":{"include":[{"target":"all"}]},"strategy":{"parallel":{"workers":1e400}}}`, status: http.StatusBadRequest},
		"a pattern that is none": {method: http.MethodPost, path: "/upgrade/cluster", body: `{"targets":{"include":[{"region":"(((("}]}}`, status: http.StatusBadRequest},
		"text":                   {method: http.MethodPost, path: "/upgrade/cluster", body: `hello`, headers: []string{"Content-Type", "text/plain"}, status: http.StatusUnsupportedMediaType},
		"no such orchestration":  {method: http.MethodPut, path: "/orchestrations/%00%ff/cancel", status: http.StatusNotFound},
		"a bad page":             {method: http.MethodGet, path: "/runtimes?page=-1", status: http.StatusBadRequest},
		"a huge page":            {method: http.MethodGet, path: "/runtimes?page=99999999999999999999", status: http.StatusBadRequest},
	} {
		answer := s.Send(t, request.method, request.path, request.body, request.headers...)
		require.Equal(t, request.status, answer.Status, "%s: %s", title, answer.Body)
		require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"), title)
		_, detail := answer.Problem(t)
		require.NotEmpty(t, detail, title)
		require.Less(t, len(answer.Body), 2000, "%s: an answer does not repeat what was sent", title)
	}
}

// A thousand requests at the same time get answers, none of which is an internal error, and each upgrade that was accepted is there.
func TestAThousandRequestsAtTheSameTime(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 5, Version: "1.34.5"})
	s := server.StartProcess(t, settingsFor(t, f))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	const each = 200
	requests := []struct {
		method, path, body string
		expected           []int
	}{
		{http.MethodGet, "/runtimes?state=all", "", []int{http.StatusOK}},
		{http.MethodGet, "/orchestrations", "", []int{http.StatusOK}},
		{http.MethodPost, "/upgrade/cluster", `{"targets":{"include":[{}]}}`, []int{http.StatusBadRequest}},
		{http.MethodPost, "/upgrade/cluster", `{"version":"1.34.7","dryRun":true,"targets":{"include":[{"target":"all"}]},"strategy":{"parallel":{"workers":5}}}`, []int{http.StatusAccepted}},
		{http.MethodPut, "/orchestrations/nowhere/cancel", "", []int{http.StatusNotFound}},
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	accepted, problems := map[string]bool{}, []string{}
	for i := range each * len(requests) {
		r := requests[i%len(requests)]
		wg.Go(func() {
			answer, err := s.TrySend(t.Context(), r.method, r.path, r.body)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				problems = append(problems, err.Error())
			case answer.Status == http.StatusAccepted:
				var created orchestration.UpgradeResponse
				answer.Decode(t, &created)
				accepted[created.OrchestrationID] = true
			case answer.Status == http.StatusTooManyRequests || answer.Status == http.StatusServiceUnavailable:
				if answer.Header.Get("Retry-After") == "" {
					problems = append(problems, "busy without Retry-After")
				}
			case answer.Status != r.expected[0]:
				problems = append(problems, answer.Body)
			}
		})
	}
	wg.Wait()
	require.Empty(t, problems)
	require.NotEmpty(t, accepted)
	list, err := s.ListOrchestrations(orchestration.ListParameters{})
	require.NoError(t, err)
	stored := map[string]bool{}
	for _, o := range list.Data {
		stored[o.OrchestrationID] = true
	}
	require.Equal(t, accepted, stored)
	for id := range accepted {
		require.NoError(t, s.CancelOrchestration(id))
	}
	require.Empty(t, f.Upgrades(t))
	require.Zero(t, s.Terminate(t))
}
