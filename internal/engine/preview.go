package engine

import (
	"context"
	"fmt"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

var _ fleet.Previewer = (*Engine)(nil)

// PreviewOrchestration goes the way of CreateOrchestration and of the start of an orchestration, up to where something would be written.
func (e *Engine) PreviewOrchestration(ctx context.Context, req fleet.PreviewRequest) (fleet.Preview, error) {
	normal, notBefore, err := e.accept(ctx, req.Type, req.Parameters)
	if err != nil {
		return fleet.Preview{}, err
	}
	found, err := e.resolveTargets(ctx, normal.Targets, "preview", true)
	if err != nil {
		return fleet.Preview{}, fmt.Errorf("resolve targets: %w", err)
	}
	now := e.clock()
	o := fleet.Orchestration{Type: req.Type, State: fleet.Pending, Parameters: normal, NotBefore: notBefore}
	preview := fleet.Preview{
		At: now, Parameters: normal, NotBefore: notBefore, Backend: e.bindings[req.Type].Backend, Forecast: fleet.Foresee(&o, found, now),
	}
	preview.RuntimesTotal, preview.LeftOutTotal = preview.Cut(req.Page)
	if err := e.tellBusy(ctx, preview.Runtimes); err != nil {
		return fleet.Preview{}, err
	}
	if req.Type == orchestration.UpgradeKymaOrchestration {
		if err := e.tellKymaVersions(ctx, preview.Runtimes); err != nil {
			return fleet.Preview{}, err
		}
	}
	return preview, nil
}

// tellBusy marks the runtimes that another operation changes at this moment.
func (e *Engine) tellBusy(ctx context.Context, rows []fleet.ForeseenRuntime) error {
	inFlight, err := e.store.InFlight(ctx)
	if err != nil {
		return fmt.Errorf("look for operations in progress: %w", err)
	}
	busy := make(map[string]string, len(inFlight))
	for i := range inFlight {
		busy[inFlight[i].RuntimeID] = inFlight[i].OrchestrationID
	}
	for i := range rows {
		rows[i].BusyWith = busy[rows[i].Target.RuntimeID]
	}
	return nil
}

// versionChunk is how many documents of runtimes are read at a time.
const versionChunk = 500

// tellKymaVersions adds the versions, which only the documents of the runtimes have.
func (e *Engine) tellKymaVersions(ctx context.Context, rows []fleet.ForeseenRuntime) error {
	for begin := 0; begin < len(rows); begin += versionChunk {
		part := rows[begin:min(begin+versionChunk, len(rows))]
		filter := fleet.RuntimeFilter{States: []runtime.State{runtime.AllState}, WithoutOwn: true}
		for i := range part {
			filter.InstanceIDs = append(filter.InstanceIDs, part[i].Target.InstanceID)
		}
		known, _, err := e.store.ListRuntimes(ctx, filter, fleet.Page{Number: 1, Size: len(part)})
		if err != nil {
			return fmt.Errorf("read the versions of the runtimes: %w", err)
		}
		versions := make(map[string]string, len(known))
		for i := range known {
			versions[known[i].DTO.InstanceID] = known[i].DTO.KymaVersion
		}
		for i := range part {
			part[i].KymaVersion = versions[part[i].Target.InstanceID]
		}
	}
	return nil
}
