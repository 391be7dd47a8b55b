package store_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/store"
)

// benchEvents is the length of the history in the benchmarks.
const benchEvents = 1_000_000

// benchEvent is what an operation leaves: that it was admitted, and how it ended; every twentieth failed.
func benchEvent(n int) fleet.Event {
	op := n / 2
	doc := benchRuntime(op % benchRuntimes)
	e := fleet.Event{
		Kind: fleet.EventAdmitted, OrchestrationID: fmt.Sprintf("6f1d2c3e-0000-4000-8000-%012d", op/50_000), OperationID: fmt.Sprintf("7c4e3d2c-0000-4000-8000-%012d", op),
		RuntimeID: doc.RuntimeID, InstanceID: doc.InstanceID, From: fleet.Pending, To: fleet.InProgress, Message: "admitted, attempt 1",
	}
	if n%2 == 1 {
		e.Kind, e.From, e.To, e.Message = fleet.EventFinished, fleet.InProgress, fleet.Succeeded, "Kubernetes 1.33.4: Shoot has been successfully reconciled"
		if op%20 == 0 {
			e.Level, e.To, e.Message = fleet.LevelError, fleet.Failed, "quota of the account exceeded in the region eu-demo-1"
		}
	}
	return e
}

// BenchmarkEvents measures the lists of a history of 1,000,000 events, and what it takes to read all of it.
func BenchmarkEvents(b *testing.B) {
	forBoth(b, func(b *testing.B, s *store.Store) {
		b.Helper()
		begun := time.Now()
		for from := 0; from < benchEvents; from += 5000 {
			require.NoError(b, s.Update(b.Context(), func(ctx context.Context, tx fleet.Tx) error {
				events := make([]fleet.Event, 5000)
				for i := range events {
					events[i] = benchEvent(from + i)
				}
				return tx.AppendEvents(ctx, events)
			}))
		}
		b.Logf("appended %d events in %s", benchEvents, time.Since(begun).Round(time.Millisecond))
		if s.Dialect() == store.Postgres {
			_, err := s.SQL().ExecContext(b.Context(), "VACUUM ANALYZE")
			require.NoError(b, err)
		}
		one := fleet.EventFilter{OrchestrationID: benchEvent(0).OrchestrationID}
		info, failed := fleet.EventFilter{Levels: []fleet.Level{fleet.LevelInfo}}, fleet.EventFilter{Levels: []fleet.Level{fleet.LevelError}}
		pages := func(f fleet.EventFilter, number int) func() error {
			return func() error {
				_, _, err := s.ListEvents(context.Background(), f, fleet.Page{Number: number, Size: 100})
				return err
			}
		}
		before := func(f fleet.EventFilter, id int64) func() error {
			return func() error {
				_, err := s.EventsBefore(context.Background(), f, id, 100)
				return err
			}
		}
		for _, list := range []struct {
			name string
			read func() error
		}{
			{"first-page", pages(fleet.EventFilter{}, 1)},
			{"page-9000", pages(fleet.EventFilter{}, 9000)},
			{"before", before(fleet.EventFilter{}, benchEvents/10)},
			{"info", pages(info, 1)},
			{"info-page-9000", pages(info, 9000)},
			{"info-before", before(info, benchEvents/10)},
			{"error", pages(failed, 1)},
			{"error-page-200", pages(failed, 200)},
			{"error-before", before(failed, benchEvents/10)},
			{"orchestration", pages(one, 1)},
			{"orchestration-page-900", pages(one, 900)},
			{"orchestration-before", before(one, benchEvents/100)},
		} {
			b.Run(list.name, func(b *testing.B) {
				require.NoError(b, list.read())
				var took []time.Duration
				for b.Loop() {
					begun := time.Now()
					if err := list.read(); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(begun))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
		b.Run("walk", func(b *testing.B) {
			for b.Loop() {
				rows := 0
				for last := int64(math.MaxInt64); ; {
					events, err := s.EventsBefore(context.Background(), fleet.EventFilter{}, last, 1000)
					require.NoError(b, err)
					if len(events) == 0 {
						break
					}
					rows += len(events)
					last = events[len(events)-1].ID
				}
				require.Equal(b, benchEvents, rows)
			}
		})
	})
}
