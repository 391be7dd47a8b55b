package progress

import (
	"context"
	"fmt"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/orchestration"
)

// maxFailures is how many failed operations are listed at the end.
const maxFailures = 10

// leastReason is the number of columns from which on a reason stands beside its Shoot.
const leastReason = 30

// Reworded is the description of an operation for a person who sees its state beside it: without the word of the state that it begins with.
func Reworded(state, description string) string {
	rest, doubled := strings.CutPrefix(description, state)
	if doubled && rest == "" {
		return ""
	}
	if after, found := strings.CutPrefix(rest, ": "); doubled && found {
		return after
	}
	return description
}

// Wait follows an orchestration to its end, tells the outcome, and turns it into the exit code: nil when it succeeded.
func Wait(ctx context.Context, c *console.Console, id string, format console.Format) error {
	o := Options{ID: id, Out: c.Out, Redraw: c.IsTerminal()}
	if format == console.JSON {
		o.Out, o.Redraw = c.Err, false
	}
	status, err := Follow(ctx, c, o)
	if err != nil {
		return err
	}
	if format == console.JSON {
		if err := c.PrintJSON(status); err != nil {
			return err
		}
	} else {
		if status.Description != "" {
			c.Printf("%s\n", display.Text(status.Description))
		}
		if status.OperationStats[orchestration.Failed] > 0 {
			tellFailures(ctx, c, status)
		}
	}
	if status.State == orchestration.Succeeded && len(status.OperationStats) == 0 {
		c.Notef("warning: the targets selected no runtime, so nothing was upgraded; see %s", c.Command("orchestrations", id, "leftout"))
	}
	return Outcome(status)
}

// Outcome is the error that a finished orchestration ends the program with.
func Outcome(status orchestration.StatusResponse) error {
	switch status.State {
	case orchestration.Succeeded:
		return nil
	case orchestration.Canceled:
		return &console.ExitError{Code: console.ExitCanceled, Err: fmt.Errorf("orchestration %s was canceled", display.Text(status.OrchestrationID))}
	default:
		return &console.ExitError{Code: console.ExitFailed, Err: fmt.Errorf("orchestration %s ended as %s", display.Text(status.OrchestrationID), display.Text(status.State))}
	}
}

// tellFailures lists failed operations with their reasons.
func tellFailures(ctx context.Context, c *console.Console, status orchestration.StatusResponse) {
	list, err := c.Orchestrations(ctx).ListOperations(status.OrchestrationID, orchestration.ListParameters{
		Page: 1, PageSize: maxFailures, States: []string{orchestration.Failed},
	})
	if err != nil {
		c.Notef("the failed operations cannot be listed: %s", console.Clean(err.Error()))
		return
	}
	c.Printf("\n")
	table := display.NewTable(c, display.Column{Title: "FAILED"}, display.Column{Title: "REASON", Wrap: leastReason})
	for _, op := range list.Data {
		reason := op.Description
		if c.IsTerminal() {
			reason = Reworded(op.State, reason)
		}
		table.Row(op.ShootName, reason)
	}
	if err := table.Print(); err != nil {
		c.Notef("%s", err.Error())
	}
	if more := list.TotalCount - len(list.Data); more > 0 {
		c.Printf("and %s more: %s\n", display.Number(more), c.Command("orchestrations", status.OrchestrationID, "operations", "--state", orchestration.Failed))
	}
	c.Printf("Try them again with: %s\n", c.Command("orchestrations", status.OrchestrationID, "retry"))
}
