package executortest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// Method names a method of an executor.
type Method string

// The methods of an executor.
const (
	Observe Method = "observe"
	Start   Method = "start"
	Check   Method = "check"
)

// Call is one call of a fake executor.
type Call struct {
	Method Method
	Task   fleet.Task
}

// Fake is an executor over an invented backend that remembers what it was asked for. Several engines may share one, as processes share a
// backend. Set the fields before the first call.
type Fake struct {
	// Checks is how many times a started upgrade is looked at before it is done.
	Checks int
	// After is what the fake asks to wait between two looks.
	After time.Duration
	// Before is called at the begin of every call, when it is set. An error it returns is the answer of the call.
	Before func(ctx context.Context, call Call) error
	// Deny is called in Start once the guard has let the write through, when it is set. An error it returns is the backend's answer, and nothing was accepted.
	Deny func(task fleet.Task) error
	// AfterStart is called in Start once the backend has accepted the upgrade and before the executor answers, when it is set.
	AfterStart func(ctx context.Context, task fleet.Task) error
	// Outcome gives the end of the upgrade of a runtime, when it is set; the default is fleet.Done.
	Outcome func(task fleet.Task) fleet.Result
	// Refuses makes Validate refuse every request with this error.
	Refuses error

	mu       sync.Mutex
	calls    []Call
	accepted []fleet.Task
	// upgrades has for each runtime the upgrade that runs or ran last.
	upgrades map[string]*upgrade
	// running counts the runtimes that are being changed; most is the highest number so far, by orchestration.
	running map[string]int
	most    map[string]int
	wake    func(shootName string)
	watched chan struct{}
}

type upgrade struct {
	operation string
	looks     int
	ended     bool
}

var (
	_ fleet.Executor  = (*Fake)(nil)
	_ fleet.Watcher   = (*Fake)(nil)
	_ fleet.Validator = (*Fake)(nil)
)

// NewFake returns a fake whose upgrades are done after a number of looks.
func NewFake(checks int, after time.Duration) *Fake {
	return &Fake{
		Checks: checks, After: after, upgrades: map[string]*upgrade{}, running: map[string]int{}, most: map[string]int{}, watched: make(chan struct{}),
	}
}

func (f *Fake) call(ctx context.Context, method Method, task fleet.Task) error {
	f.mu.Lock()
	c := Call{Method: method, Task: task}
	f.calls = append(f.calls, c)
	f.mu.Unlock()
	if f.Before == nil {
		return nil
	}
	return f.Before(ctx, c)
}

// Observe finds the upgrade that the operation has started, if there is one.
func (f *Fake) Observe(ctx context.Context, task fleet.Task) (fleet.Result, error) {
	if err := f.call(ctx, Observe, task); err != nil {
		return fleet.Result{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.upgrades[task.RuntimeID]
	if u == nil || u.operation != task.OperationID {
		return fleet.Result{Outcome: fleet.NeedsStart, Version: task.Parameters.Version}, nil
	}
	return f.look(u, task), nil
}

// Start begins the upgrade.
func (f *Fake) Start(ctx context.Context, task fleet.Task, guard fleet.Guard) (fleet.Result, error) {
	if err := f.call(ctx, Start, task); err != nil {
		return fleet.Result{}, err
	}
	if err := guard(ctx); err != nil {
		return fleet.Result{}, err
	}
	if f.Deny != nil {
		if err := f.Deny(task); err != nil {
			return fleet.Result{}, err
		}
	}
	if task.DryRun {
		return fleet.Result{Outcome: fleet.Done, Description: "would be upgraded"}, nil
	}
	f.mu.Lock()
	f.accepted = append(f.accepted, task)
	u := &upgrade{operation: task.OperationID}
	f.upgrades[task.RuntimeID] = u
	f.running[task.OrchestrationID]++
	f.most[task.OrchestrationID] = max(f.most[task.OrchestrationID], f.running[task.OrchestrationID])
	f.mu.Unlock()
	if f.AfterStart != nil {
		if err := f.AfterStart(ctx, task); err != nil {
			return fleet.Result{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.look(u, task), nil
}

// Check looks how the upgrade gets on.
func (f *Fake) Check(ctx context.Context, task fleet.Task, _ fleet.Guard) (fleet.Result, error) {
	if err := f.call(ctx, Check, task); err != nil {
		return fleet.Result{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.upgrades[task.RuntimeID]
	if u == nil {
		return fleet.Result{}, fmt.Errorf("nothing was started on %s", task.RuntimeID)
	}
	return f.look(u, task), nil
}

func (f *Fake) look(u *upgrade, task fleet.Task) fleet.Result {
	if u.looks < f.Checks {
		u.looks++
		memo := json.RawMessage(fmt.Sprintf(`{"looks":%d}`, u.looks))
		return fleet.Result{Outcome: fleet.Again, After: f.After, Description: fmt.Sprintf("look %d", u.looks), Sent: true, Memo: memo}
	}
	if !u.ended {
		u.ended = true
		f.running[task.OrchestrationID]--
	}
	if f.Outcome != nil {
		return f.Outcome(task)
	}
	return fleet.Result{Outcome: fleet.Done, Description: "upgraded", Sent: true, Version: task.Parameters.Version}
}

// Validate refuses requests when the fake was told to.
func (f *Fake) Validate(context.Context, orchestration.Parameters) error { return f.Refuses }

// Watch waits for calls of Wake until ctx ends.
func (f *Fake) Watch(ctx context.Context, wake func(shootName string)) error {
	f.mu.Lock()
	first := f.wake == nil
	f.wake = wake
	f.mu.Unlock()
	if first {
		close(f.watched)
	}
	<-ctx.Done()
	return ctx.Err()
}

// Watched is closed once somebody watches.
func (f *Fake) Watched() <-chan struct{} { return f.watched }

// Wake tells the last one who watches that a Shoot has changed.
func (f *Fake) Wake(shootName string) {
	f.mu.Lock()
	wake := f.wake
	f.mu.Unlock()
	if wake != nil {
		wake(shootName)
	}
}

// Complete lets the backend complete the upgrade of a runtime, however many looks are left.
func (f *Fake) Complete(runtimeID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.upgrades[runtimeID].looks = f.Checks
}

// Calls returns all calls so far, oldest first.
func (f *Fake) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.calls...)
}

// CallCount returns the number of calls so far.
func (f *Fake) CallCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

// Accepted returns the tasks whose upgrades the backend has accepted, in order.
func (f *Fake) Accepted() []fleet.Task {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]fleet.Task(nil), f.accepted...)
}

// Most returns the highest number of runtimes of an orchestration that were being changed at the same time.
func (f *Fake) Most(orchestrationID string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most[orchestrationID]
}
