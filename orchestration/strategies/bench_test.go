package strategies

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/orchestration"
)

const (
	benchOperations = 100_000
	benchWorkers    = 1_000
)

func benchmarkOperations() []orchestration.RuntimeOperation {
	operations := make([]orchestration.RuntimeOperation, benchOperations)
	for i := range operations {
		operations[i].ID = "op-" + strconv.Itoa(i)
	}
	return operations
}

// peakHeap measures how far the heap rises above what it was, until the returned function is called.
func peakHeap() (stop func() float64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	read := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64() + sample[1].Value.Uint64()
	}
	runtime.GC()
	before, peak := read(), uint64(0)
	quit := make(chan struct{})
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for tick := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-quit:
				tick.Stop()
				return
			case <-tick.C:
				peak = max(peak, read())
			}
		}
	})
	return func() float64 {
		now := read()
		close(quit)
		sampler.Wait()
		return float64(max(peak, now)-before) / 1e6
	}
}

func benchmark(b *testing.B, executor Executor, spec orchestration.StrategySpec, operations []orchestration.RuntimeOperation) {
	b.Helper()
	s := NewParallelOrchestrationStrategy(executor, nil)
	spec.Parallel.Workers = benchWorkers
	peak := 0.0
	var spent time.Duration
	for b.Loop() {
		stop := peakHeap()
		began := time.Now()
		id, err := s.Execute(operations, spec)
		require.NoError(b, err)
		s.Wait(id)
		spent += time.Since(began)
		peak = max(peak, stop())
	}
	b.ReportMetric(float64(benchOperations)*float64(b.N)/spent.Seconds(), "ops/s")
	b.ReportMetric(spent.Seconds()/float64(b.N), "s/run")
	b.ReportMetric(peak, "peak-MB")
}

// BenchmarkParallelNoop runs 100,000 operations that are done at once.
func BenchmarkParallelNoop(b *testing.B) {
	noop := ExecutorFunc(func(string) (time.Duration, error) { return 0, nil })
	b.Run("immediate", func(b *testing.B) {
		benchmark(b, noop, orchestration.StrategySpec{}, benchmarkOperations())
	})
	b.Run("windows", func(b *testing.B) {
		operations := benchmarkOperations()
		for i := range operations {
			var err error
			operations[i].MaintenanceWindowBegin, err = time.Parse("150405-0700", fmt.Sprintf("00%02d00+0000", i%60))
			require.NoError(b, err)
			operations[i].MaintenanceWindowEnd = operations[i].MaintenanceWindowBegin
		}
		benchmark(b, noop, orchestration.StrategySpec{Schedule: orchestration.MaintenanceWindow}, operations)
	})
}

// BenchmarkParallelAgain runs 100,000 operations that ask three times to be called again after 10 ms: 3 s are ideal with 1,000 workers.
func BenchmarkParallelAgain(b *testing.B) {
	operations := benchmarkOperations()
	calls := make([]uint8, len(operations))
	executor := ExecutorFunc(func(id string) (time.Duration, error) {
		i, err := strconv.Atoi(id[len("op-"):])
		if err != nil {
			return 0, err
		}
		if calls[i]++; calls[i]%4 == 0 {
			return 0, nil
		}
		return 10 * time.Millisecond, nil
	})
	benchmark(b, executor, orchestration.StrategySpec{}, operations)
}

// BenchmarkParallelBlocking runs 100,000 operations whose only call takes 10 ms: 1 s is ideal with 1,000 workers.
func BenchmarkParallelBlocking(b *testing.B) {
	executor := ExecutorFunc(func(string) (time.Duration, error) {
		time.Sleep(10 * time.Millisecond)
		return 0, nil
	})
	benchmark(b, executor, orchestration.StrategySpec{}, benchmarkOperations())
}
