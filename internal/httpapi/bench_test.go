package httpapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// The sizes of the benchmarks.
const (
	manyRuntimes   = 100_000
	manyOperations = 100_000
	benchChunk     = 5_000
)

// benchRuntime is one of many runtimes, with what a provisioning and an update leave behind.
func benchRuntime(i int) runtime.RuntimeDTO {
	doc := document(fmt.Sprintf("5f4e3d2c-0000-4000-8000-%012d", i), fmt.Sprintf("c-%07x", i), done(runtime.Update, orchestration.Succeeded, 11))
	doc.GlobalAccountID, doc.SubAccountID = fmt.Sprintf("ga-%d", i%500), fmt.Sprintf("sa-%d", i%20_000)
	doc.ProviderRegion, doc.ServicePlanName, doc.Provider = fmt.Sprintf("eu-demo-%d", i%8), fmt.Sprintf("plan-%d", i%6), "AWS"
	doc.Status.CreatedAt = noon.Add(-time.Duration(i) * time.Minute)
	return doc
}

func addMany(f *fixture, runtimes int) {
	for from := 0; from < runtimes; from += benchChunk {
		docs := make([]runtime.RuntimeDTO, min(benchChunk, runtimes-from))
		for i := range docs {
			docs[i] = benchRuntime(from + i)
		}
		f.addRuntimes(docs...)
	}
}

// measure times one request after another and reports the median and the 99th percentile in milliseconds.
func measure(b *testing.B, f *fixture, path string) {
	b.Helper()
	b.Run(path, func(b *testing.B) {
		times := make([]time.Duration, 0, b.N)
		for b.Loop() {
			begin := time.Now()
			r := f.get(path)
			times = append(times, time.Since(begin))
			if r.status != 200 {
				b.Fatal(r.text)
			}
		}
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
	})
}

// BenchmarkRuntimes measures GET /runtimes over 100,000 runtimes, pages of 100.
func BenchmarkRuntimes(b *testing.B) {
	f := newFixture(b)
	addMany(f, manyRuntimes)
	for _, query := range []string{
		"", "?page=500", "?state=all&op_detail=last", "?region=eu-demo-3", "?account=ga-7&plan=plan-1", "?state=succeeded&region=eu-demo-1&plan=plan-3",
	} {
		measure(b, f, "/runtimes"+query)
	}
}

// BenchmarkOrchestration measures an orchestration of 100,000 operations and its operations, pages of 100.
func BenchmarkOrchestration(b *testing.B) {
	f := newFixture(b)
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress, ResolvedAt: noon, Counts: fleet.Counts{Pending: manyOperations}})
	for from := 0; from < manyOperations; from += benchChunk {
		ops := make([]fleet.Operation, benchChunk)
		for i := range ops {
			n := from + i
			ops[i] = fleet.Operation{
				ID: fmt.Sprintf("%08x-0000-4000-8000-%012d", n*7919, n), OrchestrationID: "o-1", Type: orchestration.UpgradeClusterOrchestration, Position: n,
				RuntimeID: fmt.Sprintf("rt-%d", n), InstanceID: fmt.Sprintf("in-%d", n), State: []fleet.State{fleet.Pending, fleet.Failed, fleet.Succeeded}[n%3],
			}
		}
		f.write(func(ctx context.Context, tx fleet.Tx) error { return tx.InsertOperations(ctx, ops) })
	}
	for _, path := range []string{"", "/operations", "/operations?page=500", "/operations?state=failed&state=pending"} {
		measure(b, f, "/orchestrations/o-1"+path)
	}
}

// BenchmarkWalk measures how long the published client takes to read 10,000 runtimes page by page.
func BenchmarkWalk(b *testing.B) {
	f := newFixture(b, func(o *httpapi.Options) { o.Logger = discard })
	addMany(f, 10_000)
	server := httptest.NewServer(f.handler)
	defer server.Close()
	client := runtime.NewClient(server.URL, server.Client())
	for b.Loop() {
		page, err := client.ListRuntimes(runtime.ListParameters{})
		require.NoError(b, err)
		require.Len(b, page.Data, 10_000)
	}
}
