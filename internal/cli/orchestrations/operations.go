package orchestrations

import (
	"errors"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/progress"
	"github.com/swell-fleet/swell/orchestration"
)

// checkOperations settles which operations are meant.
func (c *call) checkOperations() error { return errors.Join(c.oneOperation(), c.checkPage()) }

// listOperations shows the operations of an orchestration, or one of them.
func (c *call) listOperations() error {
	if c.operation != "" {
		return c.showOperation()
	}
	list, err := console.Call(c.console, func() (orchestration.OperationResponseList, error) {
		return c.console.Orchestrations(c.ctx).ListOperations(c.id, c.parameters())
	})
	if err != nil {
		return err
	}
	if c.output == console.JSON {
		return c.console.PrintJSON(list)
	}
	table := c.table(
		display.Column{Title: "SHOOT"}, display.Column{Title: "STATE"}, display.Column{Title: "PLAN", Drop: 3},
		display.Column{Title: "WINDOW", Drop: 2}, display.Column{Title: "DESCRIPTION", Wrap: leastText, Last: true},
		display.Column{Title: "STARTED", Drop: 4}, display.Column{Title: "TOOK", Right: true, Drop: 1}, display.Column{Title: "OPERATION ID", Brief: briefID})
	clock := c.clock()
	for _, op := range list.Data {
		row := table.Brief
		if op.State == orchestration.Failed || op.State == orchestration.Canceled {
			// Why that is has to be read to its end.
			row = table.Row
		}
		row(op.ShootName, op.State, op.ServicePlanName, clock.Window(op.MaintenanceWindowBegin, op.MaintenanceWindowEnd), reason(op, clock),
			relative(clock, op), took(clock, op), op.OperationID)
	}
	if err := table.Print(); err != nil {
		return err
	}
	c.counted(len(list.Data), list.TotalCount, "operation")
	return nil
}

// leastText is the number of columns from which on a description stands beside the other cells.
const leastText = 30

// reason is describe beside a column that has the state: a person is not told it twice.
func reason(op orchestration.OperationResponse, clock display.Clock) string {
	if clock.Machine {
		return describe(op, clock)
	}
	return progress.Reworded(op.State, describe(op, clock))
}

// oneOperation settles which operation is meant where one at most can be: by an argument or by the flag.
func (c *call) oneOperation() error {
	switch {
	case len(c.operations) > 1 || len(c.operations) == 1 && c.operation != "":
		return console.Usagef("only one operation can be shown at a time")
	case len(c.operations) == 1:
		c.operation, c.operations = c.operations[0], nil
	}
	return nil
}

// describe says how an operation stands; of a waiting one why it waits and until when.
func describe(op orchestration.OperationResponse, clock display.Clock) string {
	if op.WaitReason == "" {
		return op.Description
	}
	text := "waits " + progress.Reason(op.WaitReason)
	if op.WaitUntil != nil && display.IsSet(*op.WaitUntil) {
		text += ", until " + clock.Both(*op.WaitUntil)
	}
	// For the other reasons the server's description says the same once more.
	if op.WaitReason == orchestration.WaitBackendUnavailable && op.Description != "" {
		text += "; " + op.Description
	}
	return text
}

func relative(clock display.Clock, op orchestration.OperationResponse) string {
	if op.StartedAt == nil {
		return ""
	}
	return clock.Relative(*op.StartedAt)
}

// took says how long an operation ran, or has been running.
func took(clock display.Clock, op orchestration.OperationResponse) string {
	switch {
	case op.StartedAt == nil || !display.IsSet(*op.StartedAt):
		return ""
	case op.FinishedAt != nil && display.IsSet(*op.FinishedAt):
		return display.Duration(op.FinishedAt.Sub(*op.StartedAt))
	case op.State == orchestration.InProgress:
		return display.Duration(clock.Now.Sub(*op.StartedAt))
	default:
		return ""
	}
}

// showOperation shows one operation.
func (c *call) showOperation() error {
	op, err := console.Call(c.console, func() (orchestration.OperationDetailResponse, error) {
		return c.console.Orchestrations(c.ctx).GetOperation(c.id, c.operation)
	})
	if err != nil {
		return err
	}
	if c.output == console.JSON {
		return c.console.PrintJSON(op)
	}
	clock := c.clock()
	var d display.Details
	d.Add("Operation", op.OperationID)
	d.Add("Orchestration", op.OrchestrationID)
	d.Add("State", op.State)
	d.Add("Description", describe(op.OperationResponse, clock))
	d.Add("Shoot", op.ShootName)
	d.Add("Runtime", op.RuntimeID)
	d.Add("Instance", op.InstanceID)
	d.Add("Account", op.GlobalAccountID)
	d.Add("Sub-account", op.SubAccountID)
	d.Add("Plan", op.ServicePlanName)
	d.Add("Dry run", yesNo(op.DryRun))
	d.Add("Window", clock.Window(op.MaintenanceWindowBegin, op.MaintenanceWindowEnd))
	d.Add("Created", clock.Pointer(op.CreatedAt))
	d.Add("Started", clock.Pointer(op.StartedAt))
	d.Add("Finished", clock.Pointer(op.FinishedAt))
	d.Add("Took", took(clock, op.OperationResponse))
	d.Add("Kubernetes version", op.ClusterConfig.KubernetesVersion)
	d.Add("Kyma version", op.KymaConfig.Version)
	d.Print(c.console)
	return nil
}

// listLeftOut shows what an orchestration leaves out.
func (c *call) listLeftOut() error {
	list, err := console.Call(c.console, func() (orchestration.LeftOutList, error) {
		return c.console.Orchestrations(c.ctx).ListLeftOut(c.id, c.parameters())
	})
	if err != nil {
		return err
	}
	if c.output == console.JSON {
		return c.console.PrintJSON(list)
	}
	table := c.table(
		display.Column{Title: "SHOOT"}, display.Column{Title: "REASON"}, display.Column{Title: "DESCRIPTION", Wrap: leastText, Last: true},
		display.Column{Title: "RUNTIME ID", Drop: 1})
	for _, row := range list.Data {
		table.Row(row.ShootName, string(row.Reason), row.Description, row.RuntimeID)
	}
	if err := table.Print(); err != nil {
		return err
	}
	c.counted(len(list.Data), list.TotalCount, "runtime")
	return nil
}
