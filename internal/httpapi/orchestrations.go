package httpapi

import (
	"fmt"
	"slices"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// typeParam filters orchestrations by type.
const typeParam = "type"

// orchestrationTypes are the words that it understands.
var orchestrationTypes = []orchestration.Type{orchestration.UpgradeKymaOrchestration, orchestration.UpgradeClusterOrchestration}

// types returns the types of orchestrations that are asked for.
func (q *query) types() []orchestration.Type {
	var types []orchestration.Type
	for _, word := range q.all(typeParam) {
		t := orchestration.Type(word)
		if !slices.Contains(orchestrationTypes, t) {
			q.fail(typeParam, fmt.Sprintf("%s is no type; known are %s", quote(word), joinWords(orchestrationTypes)))
		}
		types = append(types, t)
	}
	return types
}

func (a *api) listOrchestrations(c *call) (answer, error) {
	page := c.query.page(a.PageSize, a.MaxPageSize)
	filter := fleet.OrchestrationFilter{States: c.query.states(), Types: c.query.types()}
	if c.query.err != nil {
		return answer{}, c.query.err
	}
	rows, total, err := a.Reader.ListOrchestrations(c.ctx(), filter, page)
	if err != nil {
		return answer{}, fmt.Errorf("list orchestrations: %w", err)
	}
	list := orchestration.StatusResponseList{Data: make([]orchestration.StatusResponse, len(rows)), Count: len(rows), TotalCount: total}
	for i := range rows {
		list.Data[i] = statusResponse(&rows[i])
	}
	return answer{body: list}, nil
}

func (a *api) getOrchestration(c *call) (answer, error) {
	o, err := a.orchestration(c)
	if err != nil {
		return answer{}, err
	}
	status := statusResponse(&o)
	if o.State == fleet.Canceling || o.State == fleet.Canceled {
		if status.CanceledBy, err = a.Reader.CanceledBy(c.ctx(), o.ID); err != nil {
			return answer{}, fmt.Errorf("get who canceled: %w", err)
		}
	}
	return answer{body: status}, nil
}

// orchestration reads the orchestration that the path names.
func (a *api) orchestration(c *call) (fleet.Orchestration, error) {
	id, err := c.id("orchestration_id")
	if err != nil {
		return fleet.Orchestration{}, err
	}
	o, err := a.Reader.Orchestration(c.ctx(), id)
	if err != nil {
		return fleet.Orchestration{}, fmt.Errorf("get orchestration: %w", err)
	}
	return o, nil
}

// statusResponse is an orchestration in its published form.
func statusResponse(o *fleet.Orchestration) orchestration.StatusResponse {
	description := o.Description
	if o.Unreadable != "" {
		description = joinText("the stored parameters cannot be read, so it does not run: "+o.Unreadable, description)
	}
	return orchestration.StatusResponse{
		OrchestrationID: o.ID,
		Type:            o.Type,
		State:           string(o.State),
		Description:     description,
		CreatedAt:       o.CreatedAt.UTC(),
		UpdatedAt:       o.UpdatedAt.UTC(),
		Parameters:      fleet.AnswerParameters(o.Type, o.Parameters),
		OperationStats:  o.Counts.Stats(),
		StartsAt:        optional(o.NotBefore),
		CreatedBy:       o.CreatedBy,
	}
}

func (a *api) listLeftOut(c *call) (answer, error) {
	page := c.query.page(a.PageSize, a.MaxPageSize)
	if c.query.err != nil {
		return answer{}, c.query.err
	}
	o, err := a.orchestration(c)
	if err != nil {
		return answer{}, err
	}
	rows, total, err := a.Reader.ListLeftOut(c.ctx(), o.ID, page)
	if err != nil {
		return answer{}, fmt.Errorf("list what was left out: %w", err)
	}
	return answer{body: leftOutList(rows, total)}, nil
}

// leftOutList is a page of what is left out in its published form.
func leftOutList(rows []fleet.LeftOut, total int) orchestration.LeftOutList {
	list := orchestration.LeftOutList{Data: make([]orchestration.LeftOut, len(rows)), Count: len(rows), TotalCount: total}
	for i, row := range rows {
		list.Data[i] = orchestration.LeftOut{
			RuntimeID: row.RuntimeID, InstanceID: row.InstanceID, ShootName: row.ShootName,
			Reason: orchestration.LeftOutReason(row.Reason), Description: row.Description,
		}
	}
	return list
}
