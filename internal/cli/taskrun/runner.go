package taskrun

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/orchestration"
)

// Result is what came of the command for one runtime.
type Result struct {
	ShootName  string `json:"shootName"`
	RuntimeID  string `json:"runtimeID"`
	InstanceID string `json:"instanceID"`
	// State is succeeded, failed, or canceled when the command was not run.
	State string `json:"state"`
	// ExitCode is that of the command; -1 when it has none, because it was not run or was ended by a signal.
	ExitCode int `json:"exitCode"`
	// Error says what went wrong; absent when nothing did.
	Error string `json:"error,omitempty"`
	// Seconds is how long the command ran.
	Seconds float64 `json:"seconds"`
}

// runner is the executor of the strategy: an operation is one run of the command.
type runner struct {
	ctx     context.Context
	command []string
	environ []string
	output  *prefixer
	clock   func() time.Time

	order   []string
	mu      sync.Mutex
	records map[string]*record
}

// record is a runtime with its result; done tells that the command was run.
type record struct {
	runtime orchestration.Runtime
	result  Result
}

func newRunner(ctx context.Context, command, environ []string, output *prefixer, clock func() time.Time) *runner {
	return &runner{ctx: ctx, command: command, environ: environ, output: output, clock: clock, records: map[string]*record{}}
}

// operations makes an operation for each runtime.
func (r *runner) operations(runtimes []orchestration.Runtime) []orchestration.RuntimeOperation {
	operations := make([]orchestration.RuntimeOperation, len(runtimes))
	for i, rt := range runtimes {
		id := uuid.NewString()
		operations[i] = orchestration.RuntimeOperation{Runtime: rt, ID: id}
		r.order = append(r.order, id)
		r.records[id] = &record{runtime: rt, result: Result{
			ShootName: rt.ShootName, RuntimeID: rt.RuntimeID, InstanceID: rt.InstanceID, State: orchestration.Canceled, ExitCode: -1, Error: "the command was not run",
		}}
	}
	return operations
}

// killAfter is how long a command that was told to end may take to do so.
const killAfter = 10 * time.Second

// Execute implements strategies.Executor.
func (r *runner) Execute(operationID string) (time.Duration, error) {
	r.mu.Lock()
	rec, ok := r.records[operationID]
	r.mu.Unlock()
	if !ok {
		return 0, fmt.Errorf("operation %s is not known", operationID)
	}
	select {
	case <-r.ctx.Done():
		return 0, nil
	default:
	}
	begun := r.clock()
	err := r.runCommand(rec.runtime)
	result := rec.result
	result.Seconds = r.clock().Sub(begun).Seconds()
	result.State, result.ExitCode, result.Error = orchestration.Succeeded, 0, ""
	if err != nil {
		result.State, result.ExitCode, result.Error = orchestration.Failed, -1, err.Error()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			result.ExitCode = exit.ExitCode()
		}
	}
	r.mu.Lock()
	rec.result = result
	r.mu.Unlock()
	// A failure is a result, which is reported at the end; the strategy needs not log it.
	return 0, nil
}

func (r *runner) runCommand(rt orchestration.Runtime) error {
	cmd := exec.CommandContext(r.ctx, r.command[0], r.command[1:]...)
	cmd.Env = append(append([]string(nil), r.environ...),
		"SWELL_RUNTIME_ID="+rt.RuntimeID,
		"SWELL_INSTANCE_ID="+rt.InstanceID,
		"SWELL_ACCOUNT_ID="+rt.GlobalAccountID,
		"SWELL_SUBACCOUNT_ID="+rt.SubAccountID,
		"SWELL_SHOOT_NAME="+rt.ShootName,
	)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	out := r.output.writer(rt.ShootName)
	defer out.flush()
	cmd.Stdout, cmd.Stderr = out, out
	return cmd.Run()
}

// results returns the results in the order of the runtimes.
func (r *runner) results() []Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	results := make([]Result, len(r.order))
	for i, id := range r.order {
		results[i] = r.records[id].result
	}
	return results
}

// report tells the results. Its error is the exit code.
func (o *options) report(ctx context.Context, c *console.Console, results []Result) error {
	failed := 0
	for _, result := range results {
		if result.State != orchestration.Succeeded {
			failed++
		}
	}
	if o.output == console.JSON {
		if err := c.PrintJSON(results); err != nil {
			return err
		}
	} else if failed > 0 {
		c.Printf("\n")
		table := display.NewTable(c, display.Column{Title: "SHOOT"}, display.Column{Title: "STATE"}, display.Column{Title: "REASON", Shrink: 20})
		for _, result := range results {
			if result.State != orchestration.Succeeded {
				table.Row(result.ShootName, result.State, result.Error)
			}
		}
		if err := table.Print(); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return &console.ExitError{Code: console.ExitInterrupted}
	case failed > 0:
		return &console.ExitError{Code: console.ExitFailed, Err: fmt.Errorf("the command failed for %d of %s", failed, display.Count(len(results), "runtime"))}
	case o.output != console.JSON:
		c.Notef("the command succeeded for %s", display.Count(len(results), "runtime"))
	}
	return nil
}
