package orchestrations

import (
	"slices"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/caller"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/progress"
	"github.com/swell-fleet/swell/orchestration"
)

// checkPerson makes sure that somebody can be asked where that is needed.
func (c *call) checkPerson() error {
	if !c.yes && (!c.console.Person || !c.console.IsTerminal() || c.output == console.JSON) {
		return console.Usagef("nobody can be asked here whether to cancel: give --%s", yesFlag)
	}
	return nil
}

// cancel lets nothing more start.
func (c *call) cancel() error {
	api := c.console.Orchestrations(c.ctx)
	if !c.yes {
		o, err := console.Call(c.console, func() (orchestration.StatusResponse, error) { return api.GetOrchestration(c.id) })
		if err != nil {
			return err
		}
		if slices.Contains([]string{orchestration.Succeeded, orchestration.Failed, orchestration.Canceled}, o.State) {
			c.console.Printf("%s has ended already (%s); there is nothing to cancel.\n", progress.Title(o), display.Text(o.State))
			return nil
		}
		server, err := caller.Admin(c.ctx, c.console)
		if err != nil {
			return err
		}
		c.console.Printf("Server: %s\n%s is %s: %s\nWhat is in progress runs to its end, nothing more is started.\n",
			server, progress.Title(o), display.Text(o.State), display.Text(o.Description))
		if err := c.console.Confirm(c.ctx, "Cancel it?"); err != nil {
			return err
		}
	}
	_, err := console.Call(c.console, func() (struct{}, error) { return struct{}{}, api.CancelOrchestration(c.id) })
	if err != nil {
		return err
	}
	if c.wait {
		return c.canceled(progress.Wait(c.ctx, c.console, c.id, c.output))
	}
	if c.output == console.JSON {
		return c.console.PrintJSON(orchestration.UpgradeResponse{OrchestrationID: c.id})
	}
	c.console.Printf("Orchestration %s starts nothing more.\n", display.Text(c.id))
	return nil
}

// canceled turns the outcome of waiting for a cancel into an exit code: being canceled is what was asked for.
func (c *call) canceled(err error) error {
	if console.ExitCode(err) == console.ExitCanceled {
		return nil
	}
	return err
}

// retry tries operations again.
func (c *call) retry() error {
	result, err := console.Call(c.console, func() (orchestration.RetryResponse, error) {
		return c.console.Orchestrations(c.ctx).RetryOrchestration(c.id, c.operations, c.now)
	})
	if err != nil {
		return err
	}
	if c.output == console.JSON && !c.wait {
		return c.console.PrintJSON(result)
	}
	if c.output != console.JSON {
		c.tellRetry(result)
	}
	if len(result.RetryShoots) == 0 {
		return &console.ExitError{Code: console.ExitFailed}
	}
	if c.wait {
		return progress.Wait(c.ctx, c.console, c.id, c.output)
	}
	return nil
}

// maxNamed is how many Shoots a line names.
const maxNamed = 10

func (c *call) tellRetry(result orchestration.RetryResponse) {
	c.console.Printf("%s\n", display.Text(result.Msg))
	for _, list := range []struct {
		title string
		names []string
	}{
		{"Retried", result.RetryShoots},
		{"Not retried, a newer orchestration has upgraded the runtime", result.OldOperations},
		{"Not retried, no failed operation of this orchestration", result.InvalidOperations},
	} {
		if len(list.names) == 0 {
			continue
		}
		names := list.names
		more := ""
		if len(names) > maxNamed {
			more = " and " + display.Number(len(names)-maxNamed) + " more"
			names = names[:maxNamed]
		}
		cleaned := make([]string, len(names))
		for i, name := range names {
			cleaned[i] = display.Text(name)
		}
		c.console.Printf("%s: %s%s\n", list.title, strings.Join(cleaned, ", "), more)
	}
}
