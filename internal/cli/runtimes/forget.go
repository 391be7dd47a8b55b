package runtimes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/caller"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/quantity"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// forgetting is one use of "swell runtimes forget".
type forgetting struct {
	console *console.Console
	ids     []string
	yes     bool
	output  console.Format
}

// outcome is what became of one runtime, in the form of a program.
type outcome struct {
	InstanceID         string `json:"instanceID"`
	Forgotten          bool   `json:"forgotten"`
	CanceledOperations int    `json:"canceledOperations"`
	// Error is why it was not forgotten.
	Error string `json:"error,omitempty"`
}

const yesFlag = "yes"

// newForget returns "swell runtimes forget".
func newForget(c *console.Console) *cobra.Command {
	f := &forgetting{console: c}
	cmd := &cobra.Command{
		Use:   "forget INSTANCE-ID...",
		Short: "Remove runtimes that no source knows any more",
		Long: `Remove runtimes from the server that no source knows any more, such as imported
ones whose Shoots are gone.

Their pending operations are canceled; their history is kept. A runtime is
refused while an operation of it is in progress, and while there is a Shoot with
its runtime ID, because it would come back; the others are forgotten all the
same. A runtime without an instance ID is named by its runtime ID.`,
		Example: `  swell runtimes forget 0d9b7f5e-6c1a-4f3e-8a52-7b1c9e4d2f60
  swell runtimes --state deprovisioned -o json |
    jq -r '.data[].instanceID' | xargs swell runtimes forget --yes`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if id == "" {
					return console.Usagef("an instance ID is empty")
				}
				// What was said twice is meant once.
				if !slices.Contains(f.ids, id) {
					f.ids = append(f.ids, id)
				}
			}
			return f.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVarP(&f.yes, yesFlag, "y", false, "do not ask; needed where there is no terminal to ask at")
	console.OutputFlag(cmd, &f.output)
	return cmd
}

func (f *forgetting) run(ctx context.Context) error {
	if !f.yes {
		if !f.console.Person || !f.console.IsTerminal() || f.output == console.JSON {
			return console.Usagef("nobody can be asked here whether to forget: give --%s", yesFlag)
		}
		if err := f.ask(ctx); err != nil {
			return err
		}
	}
	outcomes, err := f.forget(ctx)
	if printErr := f.print(outcomes); printErr != nil {
		return errors.Join(err, printErr)
	}
	refused := 0
	for _, o := range outcomes {
		if !o.Forgotten {
			refused++
		}
	}
	switch rest := len(f.ids) - len(outcomes); {
	case err != nil && rest > 1:
		return fmt.Errorf("%w; %s not tried", err, counted(rest-1))
	case err != nil:
		return err
	case refused > 0:
		return &console.ExitError{Code: console.ExitRefused, Err: fmt.Errorf("%s not forgotten", counted(refused))}
	default:
		return nil
	}
}

// counted begins a sentence about runtimes.
func counted(n int) string { return display.Count(n, "runtime") + quantity.Pick(n, " was", " were") }

// maxNamed is how many runtimes the question names.
const maxNamed = 10

// ask shows what the server knows of the runtimes and asks whether they shall be forgotten.
func (f *forgetting) ask(ctx context.Context) error {
	server, err := caller.Admin(ctx, f.console)
	if err != nil {
		return err
	}
	named := f.ids[:min(len(f.ids), maxNamed)]
	page, err := console.Call(f.console, func() (runtime.RuntimesPage, error) {
		return f.console.Runtimes(ctx).ListRuntimes(runtime.ListParameters{
			InstanceIDs: named, States: []runtime.State{runtime.AllState}, OperationDetail: runtime.LastOperation,
		})
	})
	if err != nil {
		return err
	}
	known := make(map[string]*runtime.RuntimeDTO, len(page.Data))
	for i := range page.Data {
		known[page.Data[i].InstanceID] = &page.Data[i]
	}
	f.console.Printf("Server: %s\n", server)
	table := display.NewTable(f.console, display.Column{Title: "INSTANCE ID"}, display.Column{Title: "SHOOT"}, display.Column{Title: "STATE"})
	for _, id := range named {
		if rt := known[id]; rt != nil {
			table.Row(id, rt.ShootName, string(rt.Status.State))
		} else {
			table.Row(id, "", "not known")
		}
	}
	if err := table.Print(); err != nil {
		return err
	}
	if more := len(f.ids) - len(named); more > 0 {
		f.console.Printf("and %s more\n", display.Number(more))
	}
	f.console.Printf("Pending operations are canceled, the history is kept.\n")
	return f.console.Confirm(ctx, "Forget "+display.Count(len(f.ids), "runtime")+"?")
}

// forget goes through the runtimes. It goes on after one that the server refuses for its own sake, and ends at a failure that would meet all others too.
func (f *forgetting) forget(ctx context.Context) ([]outcome, error) {
	outcomes := make([]outcome, 0, len(f.ids))
	for _, id := range f.ids {
		response, err := console.Call(f.console, func() (orchestration.ForgetResponse, error) { return f.console.Orchestrations(ctx).ForgetRuntime(id) })
		answer, refused := errors.AsType[*orchestration.Error](err)
		switch {
		case err == nil:
			outcomes = append(outcomes, outcome{InstanceID: id, Forgotten: true, CanceledOperations: response.CanceledOperations})
		case refused && (answer.Status == http.StatusNotFound || answer.Status == http.StatusConflict):
			reason := answer.Reason
			if reason == "" {
				reason = answer.Error()
			}
			outcomes = append(outcomes, outcome{InstanceID: id, Error: reason})
		default:
			return outcomes, err
		}
	}
	return outcomes, nil
}

func (f *forgetting) print(outcomes []outcome) error {
	if f.output == console.JSON {
		return f.console.PrintJSON(outcomes)
	}
	if len(outcomes) == 0 {
		return nil
	}
	table := display.NewTable(f.console,
		display.Column{Title: "INSTANCE ID"}, display.Column{Title: "RESULT"}, display.Column{Title: "CANCELED", Drop: 1}, display.Column{Title: "REASON", Wrap: 30})
	for _, o := range outcomes {
		if o.Forgotten {
			table.Row(o.InstanceID, "forgotten", strconv.Itoa(o.CanceledOperations), "")
		} else {
			table.Row(o.InstanceID, "refused", "", o.Error)
		}
	}
	return table.Print()
}
