package fleet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

var noon = time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)

func running(workers, inProgress int) *fleet.Orchestration {
	return &fleet.Orchestration{
		ID: "o-1", State: fleet.InProgress, ResolvedAt: noon, Counts: fleet.Counts{Pending: 9, InProgress: inProgress},
		Parameters: orchestration.Parameters{Strategy: orchestration.StrategySpec{Parallel: orchestration.ParallelStrategySpec{Workers: workers}}},
	}
}

func candidate(id string, change ...func(c *fleet.Candidate)) fleet.Candidate {
	c := fleet.Candidate{
		Operation:    fleet.Operation{ID: id, OrchestrationID: "o-1", RuntimeID: "rt-" + id, State: fleet.Pending},
		RuntimeKnown: true, RuntimeState: runtime.StateSucceeded,
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func ids(changes []fleet.Change) string {
	var names []string
	for _, c := range changes {
		names = append(names, c.Operation.ID)
	}
	return strings.Join(names, " ")
}

// Admission does not rely on the store to leave out what may not start.
func TestAdmission(t *testing.T) {
	t.Parallel()
	window := func(begin, end time.Time) func(c *fleet.Candidate) {
		return func(c *fleet.Candidate) {
			c.Operation.UsesWindow, c.Operation.WindowBegin, c.Operation.WindowEnd = true, begin, end
		}
	}
	inState := func(s runtime.State) func(c *fleet.Candidate) {
		return func(c *fleet.Candidate) { c.RuntimeState = s }
	}
	for name, test := range map[string]struct {
		o             *fleet.Orchestration
		candidates    []fleet.Candidate
		start, cancel string
	}{
		"as many as workers are free, in the order given": {
			o: running(3, 1), candidates: []fleet.Candidate{candidate("b"), candidate("a"), candidate("c")}, start: "b a",
		},
		"none without a free worker": {o: running(1, 1), candidates: []fleet.Candidate{candidate("a")}},
		"none while canceling": {
			o: func() *fleet.Orchestration { o := running(3, 0); o.State = fleet.Canceling; return o }(), candidates: []fleet.Candidate{candidate("a")},
		},
		"none before the targets are complete": {
			o: func() *fleet.Orchestration { o := running(3, 0); o.ResolvedAt = time.Time{}; return o }(), candidates: []fleet.Candidate{candidate("a")},
		},
		"none before its time": {
			o: func() *fleet.Orchestration { o := running(3, 0); o.NotBefore = noon.Add(1); return o }(), candidates: []fleet.Candidate{candidate("a")},
		},
		"one for each runtime": {
			o: running(3, 0), candidates: []fleet.Candidate{candidate("a"), candidate("b", func(c *fleet.Candidate) { c.Operation.RuntimeID = "rt-a" })}, start: "a",
		},
		"from its begin on and not at its end": {
			o: running(9, 0), candidates: []fleet.Candidate{
				candidate("early", window(noon.Add(1), noon.Add(time.Hour))), candidate("begins", window(noon, noon.Add(time.Hour))),
				candidate("ends", window(noon.Add(-time.Hour), noon)), candidate("never", window(time.Time{}, time.Time{})),
			}, start: "begins",
		},
		"not before the operation's own time": {
			o: running(3, 0), candidates: []fleet.Candidate{candidate("a", func(c *fleet.Candidate) { c.Operation.NotBefore = noon.Add(1) })},
		},
		"nothing that is not pending, or of another orchestration": {
			o: running(3, 0), candidates: []fleet.Candidate{
				candidate("a", func(c *fleet.Candidate) { c.Operation.State = fleet.Succeeded }),
				candidate("b", func(c *fleet.Candidate) { c.Operation.OrchestrationID = "o-2" }),
			},
		},
		"what went away is canceled and takes no worker": {
			o: running(1, 0), candidates: []fleet.Candidate{
				candidate("gone", func(c *fleet.Candidate) { c.RuntimeKnown = false }), candidate("suspended", inState(runtime.StateSuspended)),
				candidate("removed", inState(runtime.StateDeprovisioned)), candidate("removing", inState(runtime.StateDeprovisioning)),
				candidate("half", inState(runtime.StateDeprovisionIncomplete)), candidate("waking", inState(runtime.StateProvisioning)),
				candidate("broken", inState(runtime.StateFailed)), candidate("error", inState(runtime.StateError)), candidate("next"),
			}, start: "error", cancel: "gone suspended removed removing half waking broken",
		},
		"what went away is canceled also without a free worker": {
			o: running(1, 1), candidates: []fleet.Candidate{candidate("gone", func(c *fleet.Candidate) { c.RuntimeKnown = false })}, cancel: "gone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := fleet.Admit(test.o, test.candidates, noon, time.Minute)
			require.Equal(t, test.start, ids(a.Start))
			require.Equal(t, test.cancel, ids(a.Cancel))
			for _, c := range a.Start {
				require.Equal(t, fleet.InProgress, c.Operation.State)
				require.Equal(t, 1, c.Operation.Attempt)
				require.Equal(t, c.IfFence+1, c.Operation.Fence)
				require.Equal(t, noon.Add(time.Minute), c.Operation.LeaseUntil)
				require.Equal(t, noon, c.Operation.StartedAt)
			}
			for _, c := range a.Cancel {
				require.Equal(t, fleet.Canceled, c.Operation.State)
				require.NotEmpty(t, c.Operation.Reason)
				require.Len(t, c.Events, 1)
			}
		})
	}
}

func claimed() fleet.Operation {
	return fleet.Operation{
		ID: "op-1", OrchestrationID: "o-1", State: fleet.InProgress, Attempt: 1, Fence: 7, Description: "as before", StartedAt: noon.Add(-time.Hour),
		LeaseUntil: noon.Add(time.Minute), JobID: 3, FinishedStages: []string{"written"},
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step  fleet.Step
		want  func(t *testing.T, op fleet.Operation)
		state fleet.State
	}{
		"again after the default": {
			step: fleet.Step{Result: fleet.Result{Outcome: fleet.Again, Description: "40 %\n done", Sent: true, Stage: "rolled", Version: "1.33.4"}}, state: fleet.InProgress,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.Equal(t, noon.Add(10*time.Second), op.CheckAt)
				require.Equal(t, op.CheckAt.Add(lease), op.LeaseUntil)
				require.True(t, op.Following && op.Sent)
				require.Equal(t, "40 % done", op.Description)
				require.Equal(t, []string{"written", "rolled"}, op.FinishedStages)
				require.Equal(t, "1.33.4", op.Version)
				require.EqualValues(t, 7, op.Fence)
				require.EqualValues(t, 3, op.JobID)
			},
		},
		"a stage counts once": {
			step: fleet.Step{Result: fleet.Result{Stage: "written"}}, state: fleet.InProgress,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.Equal(t, []string{"written"}, op.FinishedStages)
				require.Equal(t, "as before", op.Description)
			},
		},
		"observe again": {
			step: fleet.Step{Result: fleet.Result{Outcome: fleet.Again, NextObserve: true, After: time.Minute}}, state: fleet.InProgress,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.False(t, op.Following)
				require.Equal(t, noon.Add(time.Minute), op.CheckAt)
			},
		},
		"a passing fault": {
			step: fleet.Step{Err: errors.New("too many requests")}, state: fleet.InProgress,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.Equal(t, 1, op.Failures)
				require.Equal(t, noon.Add(time.Second), op.CheckAt)
				require.Equal(t, "waiting for gardener: too many requests", op.Description)
				require.Empty(t, op.Reason)
			},
		},
		"handed back": {
			step: fleet.Step{HandBack: true}, state: fleet.InProgress,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.Equal(t, noon, op.LeaseUntil)
				require.False(t, op.Following)
			},
		},
		"done": {
			step: fleet.Step{Result: fleet.Result{Outcome: fleet.Done}}, state: fleet.Succeeded,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.EqualValues(t, 8, op.Fence)
				require.Equal(t, noon, op.FinishedAt)
				require.True(t, op.LeaseUntil.IsZero() && op.CheckAt.IsZero())
				require.Zero(t, op.JobID)
				require.Equal(t, "done", op.Description)
			},
		},
		"refused without a reason": {
			step: fleet.Step{Result: fleet.Result{Outcome: fleet.Refused}}, state: fleet.Failed,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.Equal(t, "the backend gave no reason", op.Reason)
			},
		},
		"gone": {
			step: fleet.Step{Result: fleet.Result{Outcome: fleet.Gone, Reason: "the Shoot is being deleted"}}, state: fleet.Canceled,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.Equal(t, "canceled: the Shoot is being deleted", op.Description)
			},
		},
		"canceled before anything was sent": {
			step: fleet.Step{Err: fleet.ErrCanceled}, state: fleet.Canceled,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.Contains(t, op.Reason, "nothing had been sent")
			},
		},
		"not started after all": {
			step: fleet.Step{Result: fleet.Result{Outcome: fleet.NeedsStart}}, state: fleet.InProgress,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.Equal(t, noon.Add(time.Second), op.CheckAt)
				require.False(t, op.Following)
			},
		},
		"a limit that starts later counts from now": {
			step: fleet.Step{Result: fleet.Result{TimeLimitFrom: noon.Add(time.Hour)}}, state: fleet.InProgress,
			want: func(t *testing.T, op fleet.Operation) {
				t.Helper()
				require.Equal(t, noon, op.TimeLimitFrom)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ok := fleet.ApplyStep(claimed(), test.step, noon, rules)
			require.True(t, ok)
			require.EqualValues(t, 7, c.IfFence)
			require.Equal(t, test.state, c.Operation.State)
			require.Equal(t, test.state != fleet.InProgress, len(c.Events) == 1)
			test.want(t, c.Operation)
		})
	}
	_, ok := fleet.ApplyStep(claimed(), fleet.Step{Err: fleet.ErrFenced}, noon, rules)
	require.False(t, ok, "who was fenced writes nothing")
}

func TestTheTimeLimitIsJudgedAfterTheLook(t *testing.T) {
	t.Parallel()
	op := claimed()
	op.StartedAt = noon.Add(-3 * time.Hour)
	again := fleet.Step{Result: fleet.Result{Outcome: fleet.Again, Description: "worker pool 2 of 3"}}
	c, _ := fleet.ApplyStep(op, again, noon, rules)
	require.Equal(t, fleet.Failed, c.Operation.State)
	require.Equal(t, "not finished within 3h0m0s: worker pool 2 of 3", c.Operation.Reason)
	c, _ = fleet.ApplyStep(op, fleet.Step{Result: fleet.Result{Outcome: fleet.Done}}, noon, rules)
	require.Equal(t, fleet.Succeeded, c.Operation.State, "what is done in time for the last look is done")
	c, _ = fleet.ApplyStep(op, again, noon.Add(-time.Second), rules)
	require.Equal(t, noon, c.Operation.CheckAt, "the last look is at the limit")
	op.TimeLimitFrom = noon.Add(-time.Minute)
	c, _ = fleet.ApplyStep(op, again, noon, rules)
	require.Equal(t, fleet.InProgress, c.Operation.State, "the limit counts from where the executor said")
}

// The time until access is granted is not that of operations that had no chance because the backend lets nobody in. One of which something was sent, or that is
// refused alone, has its limit.
func TestTheTimeLimitWhileTheBackendRefusesAccess(t *testing.T) {
	t.Parallel()
	op := claimed()
	op.Sent = false
	op.StartedAt = noon.Add(-3 * time.Hour)
	denied := fleet.Step{Err: fmt.Errorf("write the Shoot: %w: a right is missing", fleet.ErrNoAccess), ShutOut: true}
	c, _ := fleet.ApplyStep(op, denied, noon, rules)
	require.Equal(t, fleet.InProgress, c.Operation.State)
	require.Equal(t, noon, c.Operation.TimeLimitFrom)
	require.Equal(t, "waiting for gardener: write the Shoot: access is refused: a right is missing", c.Operation.Description)

	for name, test := range map[string]struct {
		change func(op *fleet.Operation, s *fleet.Step)
		state  fleet.State
	}{
		"something was sent":                 {func(op *fleet.Operation, _ *fleet.Step) { op.Sent = true }, fleet.Failed},
		"something may have been sent":       {func(op *fleet.Operation, _ *fleet.Step) { op.Uncertain = true }, fleet.Failed},
		"a look shows that nothing was sent": {func(op *fleet.Operation, s *fleet.Step) { op.Uncertain, s.Unstarted = true, true }, fleet.InProgress},
		"the others are not shut out":        {func(_ *fleet.Operation, s *fleet.Step) { s.ShutOut = false }, fleet.Failed},
	} {
		op, step := op, denied
		test.change(&op, &step)
		c, _ := fleet.ApplyStep(op, step, noon, rules)
		require.Equal(t, test.state, c.Operation.State, name)
	}
}

func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	for failures := range 8 {
		waits = append(waits, fleet.Backoff(failures+1, time.Second, 30*time.Second)/time.Second)
	}
	require.Equal(t, []time.Duration{1, 2, 4, 8, 16, 30, 30, 30}, waits)
	require.Equal(t, 30*time.Second, fleet.Backoff(1<<40, time.Second, 30*time.Second))
}

func TestGuard(t *testing.T) {
	t.Parallel()
	view := fleet.GuardView{Now: noon, State: fleet.InProgress, Fence: 7, OrchestrationState: fleet.InProgress}
	for name, test := range map[string]struct {
		sent   bool
		change func(v *fleet.GuardView)
		want   error
	}{
		"nothing against it":                {change: func(*fleet.GuardView) {}},
		"another holder":                    {change: func(v *fleet.GuardView) { v.Fence++ }, want: fleet.ErrFenced},
		"another holder, sent already":      {sent: true, change: func(v *fleet.GuardView) { v.Fence++ }, want: fleet.ErrFenced},
		"ended":                             {change: func(v *fleet.GuardView) { v.State = fleet.Failed }, want: fleet.ErrFenced},
		"canceling":                         {change: func(v *fleet.GuardView) { v.OrchestrationState = fleet.Canceling }, want: fleet.ErrCanceled},
		"canceling, sent already":           {sent: true, change: func(v *fleet.GuardView) { v.OrchestrationState = fleet.Canceling }},
		"at the end of the window":          {change: func(v *fleet.GuardView) { v.UsesWindow, v.WindowBegin, v.WindowEnd = true, noon.Add(-1), noon }, want: fleet.ErrWindowClosed},
		"at the begin of the window":        {change: func(v *fleet.GuardView) { v.UsesWindow, v.WindowBegin, v.WindowEnd = true, noon, noon.Add(1) }},
		"after the window, sent already":    {sent: true, change: func(v *fleet.GuardView) { v.UsesWindow, v.WindowBegin, v.WindowEnd = true, noon.Add(-1), noon }},
		"a window of a run that needs none": {change: func(v *fleet.GuardView) { v.WindowBegin, v.WindowEnd = noon.Add(-1), noon }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, v := claimed(), view
			op.Sent = test.sent
			test.change(&v)
			require.Equal(t, test.want, fleet.CheckGuard(op, v))
		})
	}
}

func TestWaitReasons(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Hour)
	for name, test := range map[string]struct {
		change func(v *fleet.OperationView, o *fleet.Orchestration)
		down   bool
		reason orchestration.WaitReason
		until  time.Time
	}{
		"nothing":              {change: func(*fleet.OperationView, *fleet.Orchestration) {}},
		"in progress":          {change: func(v *fleet.OperationView, o *fleet.Orchestration) { v.State = fleet.InProgress; o.NotBefore = later }},
		"canceling":            {change: func(_ *fleet.OperationView, o *fleet.Orchestration) { o.State = fleet.Canceling; o.NotBefore = later }},
		"deferred":             {change: func(_ *fleet.OperationView, o *fleet.Orchestration) { o.NotBefore = later }, reason: orchestration.WaitNotBefore, until: later},
		"deferred by itself":   {change: func(v *fleet.OperationView, _ *fleet.Orchestration) { v.NotBefore = later }, reason: orchestration.WaitNotBefore, until: later},
		"the workers are busy": {change: func(_ *fleet.OperationView, o *fleet.Orchestration) { o.Counts.InProgress = 2 }, reason: orchestration.WaitWorkerLimit},
		"the runtime is busy": {
			change: func(v *fleet.OperationView, o *fleet.Orchestration) { v.RuntimeBusy = true; o.Counts.InProgress = 2 }, down: true, reason: orchestration.WaitRuntimeBusy,
		},
		"the backend is down": {
			change: func(_ *fleet.OperationView, o *fleet.Orchestration) { o.Counts.InProgress = 2 }, down: true, reason: orchestration.WaitBackendUnavailable,
		},
		"the window is not open": {
			change: func(v *fleet.OperationView, _ *fleet.Orchestration) {
				v.UsesWindow, v.WindowBegin, v.WindowEnd, v.RuntimeBusy = true, later, later.Add(1), true
			}, reason: orchestration.WaitWindow, until: later,
		},
		"the window is past and not moved on yet": {
			change: func(v *fleet.OperationView, _ *fleet.Orchestration) {
				v.UsesWindow, v.WindowBegin, v.WindowEnd = true, noon.Add(-2*time.Hour), noon.Add(-time.Hour)
				v.WindowRule = fleet.WindowRule{Begin: "100000+0000", End: "110000+0000"}
			}, reason: orchestration.WaitWindow, until: noon.Add(22 * time.Hour),
		},
		"the window is open": {
			change: func(v *fleet.OperationView, _ *fleet.Orchestration) {
				v.UsesWindow, v.WindowBegin, v.WindowEnd = true, noon, later
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, o := fleet.OperationView{Operation: fleet.Operation{State: fleet.Pending}}, running(2, 0)
			test.change(&v, o)
			reason, until := fleet.WaitReason(v, o, noon, test.down)
			require.Equal(t, test.reason, reason)
			require.True(t, until.Equal(test.until), "until %s", until)
		})
	}
}

func TestDescriptionsSayTheCounts(t *testing.T) {
	t.Parallel()
	o := running(1, 2)
	o.Counts = fleet.Counts{Pending: 3, InProgress: 2, Succeeded: 5, Failed: 1, Canceled: 4}
	o.LeftOut, o.LeftOutWhy = 3, fleet.SumUp([]fleet.LeftOut{{Reason: "being_deleted"}, {Reason: "suspended"}, {Reason: "suspended"}})
	require.Equal(t, "15 runtimes: 5 succeeded, 1 failed, 2 in progress, 3 pending, 4 canceled; 3 left out: 2 suspended, 1 being deleted", fleet.Describe(o))
	o.Counts = fleet.Counts{}
	require.Equal(t, "no runtime to upgrade; 3 left out: 2 suspended, 1 being deleted", fleet.Describe(o))
	require.Equal(t, "waiting to be started", fleet.Describe(&fleet.Orchestration{State: fleet.Pending}))
	require.Equal(t, "starts at 2024-05-15 12:00Z", fleet.Describe(&fleet.Orchestration{State: fleet.Pending, NotBefore: noon}))

	var rows []fleet.LeftOut
	for _, reason := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		rows = append(rows, fleet.LeftOut{Reason: reason})
	}
	require.Equal(t, "1 a, 1 b, 1 c, 1 d, 1 e, 1 f, 2 for other reasons", fleet.SumUp(rows))
}

// A rule that cannot be read never becomes a window.
func TestWindowsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]fleet.WindowRule{
		"none":          {},
		"no end":        {Begin: "220000+0000"},
		"no clock":      {Begin: "22:00", End: "23:00"},
		"no weekday":    {Begin: "220000+0000", End: "230000+0000", Days: []string{"Caturday"}},
		"no date":       {Begin: "220000+0000", End: "230000+0000", NotOn: []string{"Christmas"}},
		"never allowed": {Begin: "220000+0000", End: "230000+0000", NotOn: []string{"2024-01-01..2030-01-01"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(1, 0)
			o.Parameters.Strategy.Schedule = orchestration.MaintenanceWindow
			op, events := fleet.NewOperation(o, "op-1", 0, fleet.Target{RuntimeID: "rt-1", Window: rule}, noon)
			require.Equal(t, fleet.Canceled, op.State)
			require.Contains(t, op.Description, "skipped: ")
			require.Equal(t, noon, op.FinishedAt)
			require.Equal(t, fleet.EventSkipped, events[0].Kind)

			o.Parameters.Strategy.Schedule = orchestration.Immediate
			op, events = fleet.NewOperation(o, "op-1", 0, fleet.Target{RuntimeID: "rt-1", Window: rule}, noon)
			require.Equal(t, fleet.Pending, op.State)
			require.Empty(t, events)
		})
	}
}

func FuzzLine(f *testing.F) {
	for _, seed := range []string{"", "a\nb", "  x\t\ty ", "\x00\xff", strings.Repeat("ü", 1000), "\u202e\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := fleet.Line(text)
		require.True(t, utf8.ValidString(line))
		require.LessOrEqual(t, len(line), 604)
		require.NotContains(t, line, "\n")
		require.NotContains(t, line, "  ")
		require.Equal(t, line, fleet.Line(line))
	})
}

// TestWhatMayHaveBeenSentIsRemembered: only a look at the backend settles whether something was sent whose answer is missing.
func TestWhatMayHaveBeenSentIsRemembered(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)
	rules := fleet.StepRules{TimeLimit: time.Hour, DefaultAfter: time.Second, Margin: time.Second, BackoffFrom: time.Second, BackoffTo: time.Minute}
	op := fleet.Operation{ID: "op-1", State: fleet.InProgress, StartedAt: now}
	apply := func(op fleet.Operation, s fleet.Step) fleet.Operation {
		c, ok := fleet.ApplyStep(op, s, now, rules)
		require.True(t, ok)
		return c.Operation
	}
	fault := errors.New("no answer")
	require.False(t, apply(op, fleet.Step{Err: fault}).Uncertain, "nothing was let through")
	unsure := apply(op, fleet.Step{Err: fault, Passed: true})
	require.True(t, unsure.Uncertain)
	require.True(t, apply(unsure, fleet.Step{Err: fault}).Uncertain, "another fault settles nothing")
	require.True(t, apply(op, fleet.Step{HandBack: true, Passed: true}).Uncertain)
	require.False(t, apply(unsure, fleet.Step{Result: fleet.Result{Outcome: fleet.Again}}).Uncertain, "an answer does")
	require.True(t, fleet.TakeOver(op, now, time.Minute).Operation.Uncertain, "whoever died may have sent something")
}
