package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// previewed is a fleet of four runtimes: one that is suspended, one without a window, one that is being changed.
func previewed(t *testing.T, change ...func(*httpapi.Options)) *fixture {
	t.Helper()
	f := newFixture(t, change...)
	rt1 := document("rt-1", "c-1")
	rt1.GlobalAccountID, rt1.SubAccountID, rt1.ProviderRegion, rt1.ServicePlanID, rt1.KymaVersion = "ga-blue", "sa-blue-1", "eu-demo-1", "plan-1", "2.20.5"
	trial := document("rt-2", "c-2")
	trial.ServicePlanName = "trial"
	f.addRuntimes(rt1, trial, document("rt-3", "c-3", done(runtime.Suspension, orchestration.Succeeded, 11)), document("rt-4", "c-4"))
	f.addOrchestration(fleet.Orchestration{ID: "o-9", State: fleet.InProgress, ResolvedAt: noon},
		fleet.Operation{ID: "op-9", State: fleet.InProgress, RuntimeID: "rt-4", InstanceID: "in-rt-4", StartedAt: noon})
	return f
}

func TestAPreviewSaysWhatAnUpgradeWouldDo(t *testing.T) {
	t.Parallel()
	f := previewed(t)
	got := read[orchestration.Preview](t, f.post("/upgrade/cluster/preview",
		`{"kubernetes":{"kubernetesVersion":"1.34.7"},"targets":{"include":[{"target":"all"},{"shoot":"c-77"}]},"strategy":{"schedule":"maintenanceWindow"}}`))
	require.Equal(t, orchestration.UpgradeClusterOrchestration, got.Type)
	require.Equal(t, noon, got.At)
	require.Equal(t, "gardener", got.Executor)
	require.Equal(t, "1.34.7", got.Parameters.Version, "the version stands where clients of either age look")
	require.Equal(t, 1, got.Parameters.Strategy.Parallel.Workers, "defaults are filled in")
	require.Nil(t, got.StartsAt)
	begin, end := noon.Add(10*time.Hour), noon.Add(14*time.Hour)
	require.Equal(t, orchestration.PreviewRuntimeList{Count: 3, TotalCount: 3, Data: []orchestration.PreviewRuntime{
		{
			ShootName: "c-1", RuntimeID: "rt-1", InstanceID: "in-rt-1", GlobalAccountID: "ga-blue", SubAccountID: "sa-blue-1", Region: "eu-demo-1",
			ServicePlanID: "plan-1", ServicePlanName: "aws", KubernetesVersion: "1.33.1", MaintenanceWindowBegin: &begin, MaintenanceWindowEnd: &end,
		},
		{
			ShootName: "c-4", RuntimeID: "rt-4", InstanceID: "in-rt-4", ServicePlanName: "aws", KubernetesVersion: "1.33.1",
			MaintenanceWindowBegin: &begin, MaintenanceWindowEnd: &end, BusyWith: "o-9",
		},
		{
			ShootName: "c-2", RuntimeID: "rt-2", InstanceID: "in-rt-2", ServicePlanName: "trial", KubernetesVersion: "1.33.1",
			Skipped: "the runtime has no maintenance window that can be used",
		},
	}}, got.Runtimes)
	require.Equal(t, &begin, got.FirstWindowBegin)
	require.Equal(t, &begin, got.LastWindowBegin)
	require.Equal(t, 1, got.Skipped)
	require.Equal(t, map[orchestration.LeftOutReason]int{orchestration.LeftOutSuspended: 1}, got.LeftOutReasons)
	require.Equal(t, "c-3", got.LeftOut.Data[0].ShootName)
	require.Equal(t, []int{1}, got.Unmatched)

	later := read[orchestration.Preview](t, f.post("/upgrade/kyma/preview",
		`{"version":"fast","targets":{"include":[{"shoot":"c-1"}]},"strategy":{"schedule":"2030-01-02T22:00:00+01:00","maintenanceWindow":true}}`))
	at := time.Date(2030, 1, 2, 21, 0, 0, 0, time.UTC)
	require.Equal(t, &at, later.StartsAt)
	require.Equal(t, at.Add(time.Hour), *later.FirstWindowBegin, "the window is the next one when it starts")
	require.Equal(t, "2.20.5", later.Runtimes.Data[0].KymaVersion)
	require.Equal(t, "kyma", later.Executor)
	require.NotEqual(t, got.Revision, later.Revision)

	nothing := f.post("/upgrade/cluster/preview", `{"targets":{"include":[{"shoot":"c-77"}]}}`)
	require.Contains(t, nothing.text, `"runtimes":{"data":[],"count":0,"totalCount":0},"leftOut":{"data":[],"count":0,"totalCount":0},"leftOutReasons":{},"unmatched":[0]}`)
}

// What an upgrade refuses its preview refuses with the same words, and what a preview shows can be started. Nothing is written by it.
func TestAPreviewRefusesWhatAnUpgradeRefuses(t *testing.T) {
	t.Parallel()
	f := previewed(t)
	const all = `"targets":{"include":[{"target":"all"}]}`
	accepted := 0
	for _, what := range []string{"kyma", "cluster"} {
		for _, body := range []string{
			`{` + all + `}`, `{"version":"1",` + all + `}`, `{"kyma":{"version":"1"},` + all + `}`, `{"kubernetes":{"kubernetesVersion":"1"},` + all + `}`,
			olderZero, newerZero, everyZero, ``, `{}`, `[]`, `{"targets":{"include":[{}]}}`, `{"targets":{"include":[{"region":"eu-("}]}}`,
			`{"version":"1","kyma":{"version":"2"},` + all + `}`, `{"notification":true,` + all + `}`, `{"retryoperation":{"immediate":true},` + all + `}`,
			`{"strategy":{"parallel":{"workers":-1}},` + all + `}`, `{"strategy":{"parallel":{"workers":1001}},` + all + `}`, `{"strategy":{"type":"serial"},` + all + `}`,
			`{"strategy":{"schedule":"tomorrow"},` + all + `}`, `{"strategy":{"scheduleTime":"2030-01-02T22:00:00Z","maintenanceWindow":true},"version":"1",` + all + `}`,
			`{"dryrun":true,` + all + `}`, `{"version":"1","version":"1",` + all + `}`, `{"dryRun":true,"version":"1",` + all + `}`,
		} {
			before, events := f.orchestrations(), f.get("/events").text
			preview := f.post("/upgrade/"+what+"/preview", body, "Idempotency-Key", "key", "X-Request-Id", "r-1")
			require.Equal(t, before, f.orchestrations(), "nothing is stored")
			require.Equal(t, events, f.get("/events").text, "nothing is recorded")
			upgrade := f.post("/upgrade/"+what, body, "X-Request-Id", "r-1")
			if upgrade.status == http.StatusAccepted {
				accepted++
				require.Equal(t, http.StatusOK, preview.status, preview.text)
				continue
			}
			require.Equal(t, upgrade, preview, body)
		}
	}
	require.Equal(t, 9, accepted)
	require.Equal(t, http.StatusAccepted, f.post("/upgrade/cluster", `{`+all+`}`, "Idempotency-Key", "key").status, "the key was not taken")
}

func TestPreviewsComeInPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var docs []runtime.RuntimeDTO
	for i := range 5 {
		docs = append(docs, document(fmt.Sprintf("rt-%d", i), fmt.Sprintf("c-%d", i)))
	}
	docs = append(docs, document("rt-7", "c-7", done(runtime.Suspension, orchestration.Succeeded, 11)), document("rt-8", "c-8", done(runtime.Suspension, orchestration.Succeeded, 11)),
		document("rt-9", "c-9", done(runtime.Suspension, orchestration.Succeeded, 11)))
	f.addRuntimes(docs...)
	const body = `{"targets":{"include":[{"target":"all"}]}}`
	page := func(query string) orchestration.Preview {
		t.Helper()
		return read[orchestration.Preview](t, f.post("/upgrade/cluster/preview"+query, body))
	}
	whole := page("")
	require.Len(t, whole.Runtimes.Data, 5)
	require.Len(t, whole.LeftOut.Data, 3)
	var runtimes []orchestration.PreviewRuntime
	var leftOut []orchestration.LeftOut
	for number := 1; number <= 4; number++ {
		part := page(fmt.Sprintf("?page=%d&page_size=2", number))
		require.Equal(t, whole.Revision, part.Revision)
		require.Equal(t, []int{5, 3}, []int{part.Runtimes.TotalCount, part.LeftOut.TotalCount})
		require.Equal(t, []int{len(part.Runtimes.Data), len(part.LeftOut.Data)}, []int{part.Runtimes.Count, part.LeftOut.Count})
		require.Equal(t, whole.LeftOutReasons, part.LeftOutReasons, "sums are over all pages")
		runtimes, leftOut = append(runtimes, part.Runtimes.Data...), append(leftOut, part.LeftOut.Data...)
	}
	require.Equal(t, whole.Runtimes.Data, runtimes)
	require.Equal(t, whole.LeftOut.Data, leftOut)
	require.Empty(t, page("?page=2147483647&page_size=10000").Runtimes.Data)
	for query, field := range map[string]string{"?page=0": "page", "?page_size=10001": "page_size", "?page=1&page=2": "page", "?state=failed": "state", "?page_size=-1": "page_size"} {
		problem(t, f.post("/upgrade/cluster/preview"+query, body), http.StatusBadRequest, field)
	}
}

// previewer is a Previewer of a test's own.
type previewer func(ctx context.Context) (fleet.Preview, error)

func (p previewer) PreviewOrchestration(ctx context.Context, _ fleet.PreviewRequest) (fleet.Preview, error) {
	return p(ctx)
}

// A fleet that cannot be read is not an empty one, and what only the server knows is not told.
func TestAPreviewWithoutAFleetIs503(t *testing.T) {
	t.Parallel()
	const body = `{"targets":{"include":[{"target":"all"}]}}`
	f := newFixture(t, func(o *httpapi.Options) {
		o.Previewer = previewer(func(context.Context) (fleet.Preview, error) {
			return fleet.Preview{}, fleet.Unavailable("the Shoots have not been read yet", fmt.Errorf("secret"))
		})
	})
	r := f.post("/upgrade/cluster/preview", body)
	require.Equal(t, "the Shoots have not been read yet", problem(t, r, http.StatusServiceUnavailable, "").Detail)
	require.NotEmpty(t, r.header.Get("Retry-After"))
}

// Previews take memory, so no more than two are made at once; others wait for a while.
func TestPreviewsWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		end := make(chan struct{})
		handler, err := httpapi.New(httpapi.Options{
			Reader: reader{}, Commands: &recordingCommands{}, Authenticator: httpapi.Loopback{}, Logger: discard, Clock: time.Now,
			Previewer: previewer(func(context.Context) (fleet.Preview, error) {
				most.Store(max(most.Load(), running.Add(1)))
				<-end
				running.Add(-1)
				return fleet.Preview{}, nil
			}),
		})
		require.NoError(t, err)
		f := &fixture{t: t, handler: handler}
		replies := make(chan int, 5)
		for range 5 {
			go func() {
				replies <- f.post("/upgrade/cluster/preview", `{"targets":{"include":[{"target":"all"}]}}`).status
			}()
		}
		for range 3 {
			require.Equal(t, http.StatusTooManyRequests, <-replies)
		}
		require.EqualValues(t, 2, most.Load())
		close(end)
		for range 2 {
			require.Equal(t, http.StatusOK, <-replies)
		}
	})
}

func TestThePreviewOfTheOpenAPIDocumentHasItsOwnPageSize(t *testing.T) {
	t.Parallel()
	text := newFixture(t).get("/openapi.json").text
	require.Contains(t, text, `"maximum": 10000`)
	require.Equal(t, 2, strings.Count(text, `"maximum": 10000`))
}
