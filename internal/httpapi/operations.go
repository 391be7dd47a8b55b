package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

func (a *api) listOperations(c *call) (answer, error) {
	page := c.query.page(a.PageSize, a.MaxPageSize)
	states := c.query.states()
	if c.query.err != nil {
		return answer{}, c.query.err
	}
	o, err := a.orchestration(c)
	if err != nil {
		return answer{}, err
	}
	rows, total, err := a.Reader.ListOperations(c.ctx(), fleet.OperationFilter{OrchestrationID: o.ID, States: states}, page)
	if err != nil {
		return answer{}, fmt.Errorf("list operations: %w", err)
	}
	list := orchestration.OperationResponseList{Data: make([]orchestration.OperationResponse, len(rows)), Count: len(rows), TotalCount: total}
	for i := range rows {
		list.Data[i] = a.operationResponse(&o, &rows[i])
	}
	return answer{body: list}, nil
}

func (a *api) getOperation(c *call) (answer, error) {
	o, err := a.orchestration(c)
	if err != nil {
		return answer{}, err
	}
	id, err := c.id("operation_id")
	if err != nil {
		return answer{}, err
	}
	op, err := a.Reader.Operation(c.ctx(), o.ID, id)
	if err != nil {
		return answer{}, fmt.Errorf("get operation: %w", err)
	}
	detail := orchestration.OperationDetailResponse{OperationResponse: a.operationResponse(&o, &op)}
	// A configuration that cannot be read is shown as an empty one; the rest of the operation is not worth less for it.
	_ = json.Unmarshal(op.KymaConfig, &detail.KymaConfig)
	_ = json.Unmarshal(op.ClusterConfig, &detail.ClusterConfig)
	fillConfigs(&detail.KymaConfig, &detail.ClusterConfig)
	return answer{body: detail}, nil
}

// fillConfigs makes empty what clients expect and would not take null for.
func fillConfigs(kyma *gqlschema.KymaConfigInput, cluster *gqlschema.GardenerConfigInput) {
	if kyma != nil {
		kyma.Components = notNil(kyma.Components)
	}
	if cluster != nil && cluster.ProviderSpecificConfig == nil {
		cluster.ProviderSpecificConfig = &gqlschema.ProviderSpecificInput{}
	}
}

// operationResponse is an operation in its published form.
func (a *api) operationResponse(o *fleet.Orchestration, op *fleet.OperationView) orchestration.OperationResponse {
	response := orchestration.OperationResponse{
		OperationID:     op.ID,
		RuntimeID:       op.RuntimeID,
		GlobalAccountID: op.GlobalAccountID,
		SubAccountID:    op.SubAccountID,
		OrchestrationID: op.OrchestrationID,
		ServicePlanID:   op.ServicePlanID,
		ServicePlanName: op.ServicePlanName,
		DryRun:          op.DryRun,
		ShootName:       op.ShootName,
		State:           string(op.State),
		Description:     joinText(op.Description, op.Reason),
		InstanceID:      op.InstanceID,
		CreatedAt:       optional(op.CreatedAt),
		StartedAt:       optional(op.StartedAt),
		FinishedAt:      optional(op.FinishedAt),
	}
	if isDated(op.WindowBegin) {
		response.MaintenanceWindowBegin = op.WindowBegin.UTC()
		if isDated(op.WindowEnd) {
			response.MaintenanceWindowEnd = op.WindowEnd.UTC()
		}
	}
	reason, until := fleet.WaitReason(*op, o, a.Clock(), a.BackendDown != nil && a.BackendDown(o.Type))
	response.WaitReason, response.WaitUntil = reason, optional(until)
	return response
}

// isDated reports whether a time is a point in time: not the zero time, and not a time of day in the year 0.
func isDated(t time.Time) bool { return t.Year() > 1 }

// optional returns nil for the zero time.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// joinText joins a description with what it does not say yet.
func joinText(text, more string) string {
	switch {
	case more == "" || strings.Contains(text, more):
		return text
	case text == "":
		return more
	default:
		return text + ": " + more
	}
}
