package engine_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/executor/noop"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// production are the limits of a server, for measuring.
func production(o *engine.Options) {
	o.Limits = engine.Limits{}
	o.Executors = map[orchestration.Type]engine.ExecutorBinding{clusterType: {Backend: fleet.BackendGardener, Executor: noop.Executor{}}}
}

// BenchmarkEngine measures operations per second from the request to the end of the orchestration, with an executor that does nothing.
func BenchmarkEngine(b *testing.B) {
	const operations = 5000
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			s := open(b, operations)
			p := s.start(b, production, func(o *engine.Options) {
				if s.url != "" {
					o.Limits.Lanes = 4
				}
			})
			for b.Loop() {
				begin := time.Now()
				id := p.create(b, request(1000, orchestration.Immediate))
				s.waitLazily(b, id)
				b.ReportMetric(operations/time.Since(begin).Seconds(), "operations/s")
			}
		})
	}
}

// BenchmarkCreate measures the time from the request until an orchestration of 100,000 operations is in progress, and the memory of the process
// meanwhile.
func BenchmarkCreate(b *testing.B) {
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			s := open(b, 100_000)
			p := s.start(b, production)
			// What making the runtimes took is not part of it.
			debug.FreeOSMemory()
			for b.Loop() {
				id := p.create(b, request(1, orchestration.Immediate))
				most := uint64(0)
				s.waitFor(b, id, func(o fleet.Orchestration) bool {
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					most = max(most, m.Sys-m.HeapReleased)
					return o.State == fleet.InProgress
				})
				b.ReportMetric(float64(most)/1e6, "MB-process")
				b.StopTimer()
				_, err := p.CancelOrchestration(b.Context(), someone, id)
				require.NoError(b, err)
				s.waitFor(b, id, inState(fleet.Canceled))
				b.StartTimer()
			}
		})
	}
}

// BenchmarkResume measures the time from the start of a server until it has looked at each of 5,000 operations that an earlier one left in
// progress.
func BenchmarkResume(b *testing.B) {
	const operations = 5000
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			s := open(b, operations)
			s.fake.Checks, s.fake.After = 1<<30, time.Hour
			withFake := func(o *engine.Options) {
				fake := o.Executors
				production(o)
				o.Executors, o.Limits.MaxWorkers = fake, operations
				o.Exclusive = true
			}
			first := s.start(b, withFake)
			id := first.create(b, request(operations, orchestration.Immediate))
			require.Eventually(b, func() bool { return s.fake.CallCount() >= 2*operations }, 2*time.Minute, 100*time.Millisecond)
			first.end(b)
			for b.Loop() {
				b.StopTimer()
				// As a process leaves them that was killed in the middle of its steps.
				s.update(b, func(ctx context.Context, tx fleet.Tx) error {
					ops, err := tx.Operations(ctx, s.operationIDs(b, id))
					if err != nil {
						return err
					}
					changes := make([]fleet.OperationChange, 0, len(ops))
					for _, op := range ops {
						op.JobID, op.LeaseUntil = 0, tx.Now().Add(time.Hour)
						changes = append(changes, fleet.OperationChange{Operation: op, IfFence: op.Fence})
					}
					_, err = tx.SaveOperations(ctx, changes)
					return err
				})
				seen := s.fake.CallCount()
				b.StartTimer()
				p := s.start(b, withFake)
				require.Eventually(b, func() bool { return s.fake.CallCount() >= seen+operations }, time.Minute, 20*time.Millisecond)
				b.StopTimer()
				p.end(b)
				b.StartTimer()
			}
		})
	}
}

func (s *site) operationIDs(t testing.TB, id string) []string {
	t.Helper()
	var ids []string
	for number := 1; ; number++ {
		views, total, err := s.store.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: id}, fleet.Page{Number: number, Size: 1000})
		require.NoError(t, err)
		for _, v := range views {
			ids = append(ids, v.ID)
		}
		if len(views) == 0 || len(ids) >= total {
			return ids
		}
	}
}

// waitLazily waits until an orchestration has succeeded, without costing much.
func (s *site) waitLazily(b *testing.B, id string) {
	b.Helper()
	require.Eventually(b, func() bool {
		o, err := s.store.Orchestration(b.Context(), id)
		return err == nil && o.State == fleet.Succeeded
	}, 10*time.Minute, 100*time.Millisecond)
}
