package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/executor/noop"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

func previewOf(req fleet.CreateRequest) fleet.PreviewRequest {
	return fleet.PreviewRequest{Type: req.Type, Parameters: req.Parameters, Page: fleet.Page{Number: 1, Size: 1000}}
}

// What a preview shows is what an orchestration stores that starts in the same moment: the same runtimes in the same places, the same windows, the
// same that are skipped and left out.
func TestAPreviewIsWhatIsStored(t *testing.T) {
	t.Parallel()
	s := newSite(t, 9)
	// What starts never ends, so that the operations stay as they were stored.
	s.fake.Checks = 1 << 30
	p := s.start(t)
	windows := []fleet.WindowRule{{}, {Begin: "220000+0000", End: "020000+0000"}, {Begin: "013000+0530", End: "033000+0530", Days: []string{"Sat"}}, {Begin: "nonsense", End: "020000+0000"}}
	rapid.Check(t, func(rt *rapid.T) {
		var found fleet.Resolution
		for i := range rapid.IntRange(0, 9).Draw(rt, "targets") {
			g := target(i)
			g.Window = rapid.SampledFrom(windows).Draw(rt, "window")
			found.Runtimes = append(found.Runtimes, g)
		}
		for i := range rapid.IntRange(0, 3).Draw(rt, "left out") {
			found.LeftOut = append(found.LeftOut, fleet.LeftOut{ShootName: fmt.Sprintf("c-x%d", i), Reason: rapid.SampledFrom([]string{"suspended", "excluded"}).Draw(rt, "reason")})
		}
		s.targets.set(found)
		req := request(1, rapid.SampledFrom([]orchestration.ScheduleType{orchestration.Immediate, orchestration.MaintenanceWindow}).Draw(rt, "schedule"))
		preview, err := p.PreviewOrchestration(t.Context(), previewOf(req))
		require.NoError(rt, err)

		id := p.create(t, req)
		o := s.waitFor(t, id, func(o fleet.Orchestration) bool { return !o.ResolvedAt.IsZero() })
		require.Equal(rt, o.Counts.Total(), preview.RuntimesTotal)
		require.Equal(rt, o.LeftOut, preview.LeftOutTotal)
		ops := s.operations(t, id)
		last := -1
		for _, r := range preview.Runtimes {
			op := ops[r.Target.RuntimeID]
			require.Equal(rt, op.WindowBegin, r.Window.Begin.UTC())
			require.Equal(rt, op.WindowEnd, r.Window.End.UTC())
			require.Equal(rt, op.State == fleet.Canceled, r.Skipped != "")
			if r.Skipped != "" {
				require.Equal(rt, "skipped: "+r.Skipped, op.Description)
			}
			if !op.UsesWindow {
				require.Greater(rt, op.Position, last, "the order of the resolver")
				last = op.Position
			}
		}
		leftOut, _, err := s.store.ListLeftOut(t.Context(), id, fleet.Page{Number: 1, Size: 1000})
		require.NoError(rt, err)
		for i := range leftOut {
			leftOut[i].OrchestrationID, leftOut[i].Position = "", 0
		}
		require.ElementsMatch(rt, leftOut, preview.LeftOut)
		_, err = p.CancelOrchestration(t.Context(), someone, id)
		require.NoError(rt, err)
	})
}

func TestAPreviewIsRefusedLikeItsUpgrade(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	p := s.start(t)
	for name, change := range map[string]func(req *fleet.CreateRequest){
		"no executor for the type": func(req *fleet.CreateRequest) { req.Type = orchestration.UpgradeKymaOrchestration },
		"too many workers":         func(req *fleet.CreateRequest) { req.Parameters.Strategy.Parallel.Workers = 1001 },
		"empty target":             func(req *fleet.CreateRequest) { req.Parameters.Targets.Include[0] = orchestration.RuntimeTarget{} },
		"refused by the executor":  func(*fleet.CreateRequest) { s.fake.Refuses = fleet.Invalidf("version", "no CloudProfile has it") },
	} {
		req := request(1, orchestration.Immediate)
		if req.Type == orchestration.UpgradeKymaOrchestration {
			req.Parameters.Version = "fast"
		}
		change(&req)
		_, want := p.CreateOrchestration(t.Context(), someone, req)
		_, err := p.PreviewOrchestration(t.Context(), previewOf(req))
		require.ErrorIs(t, err, fleet.ErrInvalid, name)
		require.Equal(t, want, err, name)
		s.fake.Refuses = nil
	}
	s.targets.resolve = func(context.Context) error { return fleet.Unavailable("the Shoots have not been read yet", nil) }
	_, err := p.PreviewOrchestration(t.Context(), previewOf(request(1, orchestration.Immediate)))
	require.ErrorIs(t, err, fleet.ErrUnavailable)
	s.targets.resolve = func(context.Context) error { panic("no such thing") }
	_, err = p.PreviewOrchestration(t.Context(), previewOf(request(1, orchestration.Immediate)))
	require.ErrorContains(t, err, "the resolver panicked")
	_, total, err := s.store.ListOrchestrations(t.Context(), fleet.OrchestrationFilter{}, fleet.Page{Number: 1, Size: 10})
	require.NoError(t, err)
	require.Zero(t, total)
}

func TestAPreviewTellsVersionsAndWhoIsBusy(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 0)
			const many = 1203
			var found fleet.Resolution
			docs := make([]runtime.RuntimeDTO, 0, many)
			for i := range many {
				found.Runtimes = append(found.Runtimes, target(i))
				doc := document(target(i), "succeeded")
				doc.KymaVersion = fmt.Sprintf("2.%d", i)
				docs = append(docs, doc)
			}
			s.put(t, docs...)
			s.targets.set(fleet.Resolution{Runtimes: found.Runtimes[:1]})
			s.fake.Checks = 1 << 30
			p := s.start(t, func(o *engine.Options) {
				o.Executors[orchestration.UpgradeKymaOrchestration] = engine.ExecutorBinding{Backend: fleet.BackendKyma, Executor: noop.Executor{}}
			})
			id := p.create(t, request(1, orchestration.Immediate))
			s.waitForOperation(t, id, target(0).RuntimeID, func(op fleet.Operation) bool { return op.State == fleet.InProgress })

			s.targets.set(found)
			req := previewOf(request(1, orchestration.Immediate))
			req.Type, req.Page.Size = orchestration.UpgradeKymaOrchestration, many
			preview, err := p.PreviewOrchestration(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, fleet.BackendKyma, preview.Backend)
			require.Len(t, preview.Runtimes, many)
			for i, r := range preview.Runtimes {
				require.Equal(t, fmt.Sprintf("2.%d", i), r.KymaVersion)
				require.Equal(t, i == 0, r.BusyWith == id)
			}
		})
	}
}
