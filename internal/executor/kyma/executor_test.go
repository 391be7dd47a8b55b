package kyma_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/swell-fleet/swell/internal/executor/kyma"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	for _, o := range []kyma.Options{
		{},
		{Client: p.client, AllowedChannels: []string{"regular", ""}},
		{Client: p.client, AllowedChannels: []string{"Fast"}},
		{Client: p.client, AllowedChannels: []string{"ab"}},
		{Client: p.client, AllowedChannels: []string{"none"}},
	} {
		_, err := kyma.New(o)
		require.Error(t, err, "%+v", o)
	}
	_, err := kyma.New(kyma.Options{AllowedChannels: []string{"1"}})
	require.ErrorContains(t, err, "no client")
	require.ErrorContains(t, err, `"1" is not the name of a channel`)
}

func TestOnlyAllowedChannels(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	e := p.executor(t)
	for _, channel := range kyma.DefaultChannels() {
		require.NoError(t, e.Validate(t.Context(), orchestration.Parameters{Version: channel}))
	}
	for _, version := range []string{"", "2.20.5", "Fast", "rapid", "none"} {
		err := e.Validate(t.Context(), orchestration.Parameters{Version: version})
		require.ErrorIs(t, err, fleet.ErrInvalid)
		require.ErrorContains(t, err, "regular, fast, experimental")
	}
	other := p.executor(t, func(o *kyma.Options) { o.AllowedChannels = []string{"rapid"} })
	require.NoError(t, other.Validate(t.Context(), orchestration.Parameters{Version: "rapid"}))
	require.Error(t, other.Validate(t.Context(), orchestration.Parameters{Version: "fast"}))
}

// The patch holds the channel and the condition, and nothing else.
func TestPatchIsSmall(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.start(t, p.executor(t), "rt-1")
	require.Equal(t, []string{`{"metadata":{"resourceVersion":"1"},"spec":{"channel":"fast"}}`}, p.bodies)
}

// Each row is a status after the channel was changed; the generation is 2 then.
func TestStatusAfterTheChange(t *testing.T) {
	t.Parallel()
	later, before := began.Add(time.Minute), began.Add(-time.Minute)
	tests := []struct {
		name    string
		status  func(u *unstructured.Unstructured)
		outcome fleet.Outcome
		says    string
	}{
		{"nothing has happened", func(*unstructured.Unstructured) {}, fleet.Again, "waiting for Lifecycle Manager to take the change up; in the state Ready"},
		{"no status", func(u *unstructured.Unstructured) { delete(u.Object, "status") }, fleet.Again, "no status yet"},
		{"ready", func(u *unstructured.Unstructured) { report(u, "Ready", later) }, fleet.Done, "has the channel fast"},
		{"ready, of the generation before", func(u *unstructured.Unstructured) {
			report(u, "Ready", later)
			observe(u, 1)
		}, fleet.Again, "take the change up"},
		{"ready, generation not told, older", func(u *unstructured.Unstructured) {
			report(u, "Ready", before)
			delete(u.Object["status"].(map[string]any), "conditions")
		}, fleet.Again, "take the change up"},
		{"ready, generation not told, in the second of the write", func(u *unstructured.Unstructured) {
			report(u, "Ready", began)
			observe(u, 0)
		}, fleet.Again, "take the change up"},
		{"ready, generation not told, later", func(u *unstructured.Unstructured) {
			report(u, "Ready", later)
			observe(u, 0)
		}, fleet.Done, "has the channel fast"},
		{"ready, neither generation nor time", func(u *unstructured.Unstructured) {
			report(u, "Ready", later)
			delete(u.Object["status"].(map[string]any), "conditions")
			delete(u.Object["status"].(map[string]any), "lastOperation")
		}, fleet.Again, "take the change up"},
		{"processing", func(u *unstructured.Unstructured) { report(u, "Processing", later) }, fleet.Again, "0 of 3 modules are ready: looked at it"},
		{"partly ready", func(u *unstructured.Unstructured) {
			report(u, "Processing", later)
			modules, _, _ := unstructured.NestedSlice(u.Object, "status", "modules")
			modules[0].(map[string]any)["state"], modules[1].(map[string]any)["state"] = "Ready", "Unmanaged"
			set(u, modules, "status", "modules")
		}, fleet.Again, "2 of 3 modules are ready"},
		{"error", func(u *unstructured.Unstructured) { report(u, "Error", later) }, fleet.Again, "tries to leave by itself: istio: istio is Error, serverless"},
		{"error of before", func(u *unstructured.Unstructured) {
			report(u, "Error", before)
			observe(u, 1)
		}, fleet.Again, "take the change up; in the state Error"},
		{"warning", func(u *unstructured.Unstructured) { report(u, "Warning", later) }, fleet.Again, "asks for somebody's help: istio: istio is Warning"},
		{"error without modules", func(u *unstructured.Unstructured) {
			report(u, "Error", later)
			delete(u.Object["status"].(map[string]any), "modules")
		}, fleet.Again, "by itself: looked at it"},
		{"unmanaged", func(u *unstructured.Unstructured) { report(u, "Unmanaged", later) }, fleet.Again, "does not work on it"},
		{"a state of tomorrow", func(u *unstructured.Unstructured) { report(u, "Resting", later) }, fleet.Again, "in the state Resting, which is not known"},
		{"deleting by state", func(u *unstructured.Unstructured) { report(u, "Deleting", later) }, fleet.Gone, "is being deleted"},
		{"deleting by time", func(u *unstructured.Unstructured) {
			now := metav1.NewTime(later)
			u.SetDeletionTimestamp(&now)
		}, fleet.Gone, "is being deleted"},
		{"skipped meanwhile", func(u *unstructured.Unstructured) {
			report(u, "Ready", later)
			set(u, "True", "metadata", "labels", "operator.kyma-project.io/skip-reconciliation")
		}, fleet.Again, "skip-reconciliation"},
		{"ready on another channel", func(u *unstructured.Unstructured) {
			report(u, "Ready", later)
			set(u, "regular", "status", "activeChannel")
		}, fleet.Again, "ready, but on the channel regular"},
		{"ready on no channel", func(u *unstructured.Unstructured) {
			report(u, "Ready", later)
			delete(u.Object["status"].(map[string]any), "activeChannel")
		}, fleet.Again, "ready, but on none"},
		{"a module left behind", func(u *unstructured.Unstructured) {
			report(u, "Ready", later)
			modules, _, _ := unstructured.NestedSlice(u.Object, "status", "modules")
			modules[1].(map[string]any)["channel"] = "regular"
			set(u, modules, "status", "modules")
		}, fleet.Again, "not on the channel fast: serverless"},
		{"modules not told", func(u *unstructured.Unstructured) {
			report(u, "Ready", later)
			delete(u.Object["status"].(map[string]any), "modules")
		}, fleet.Again, "not on the channel fast: istio, serverless"},
		{"set back", func(u *unstructured.Unstructured) { set(u, "regular", "spec", "channel") }, fleet.Refused, "was set to regular after it had been changed to fast"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			e := p.executor(t)
			task := p.start(t, e, "rt-1")
			p.change(t, "rt-1", test.status)
			checked, err := e.Check(t.Context(), task, allowed)
			require.NoError(t, err)
			observed, err := p.executor(t).Observe(t.Context(), task)
			require.NoError(t, err)
			require.Equal(t, checked, observed, "a new process has to see the same")
			require.Equal(t, test.outcome, checked.Outcome, "%+v", checked)
			require.Contains(t, checked.Description, test.says)
			require.True(t, checked.Sent)
			require.Equal(t, 1, p.starts("rt-1"))
		})
	}
}

func observe(u *unstructured.Unstructured, generation int64) {
	set(u, []any{map[string]any{"type": "Modules", "status": "True", "observedGeneration": generation}}, "status", "conditions")
}

// Each row is a Kyma before anything is written.
func TestKymaBeforeTheChange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		change  func(u *unstructured.Unstructured)
		outcome fleet.Outcome
		says    string
	}{
		{"ready", func(*unstructured.Unstructured) {}, fleet.NeedsStart, "has the channel regular, in the state Ready"},
		{"no status", func(u *unstructured.Unstructured) { delete(u.Object, "status") }, fleet.NeedsStart, "in the state none"},
		{"error", func(u *unstructured.Unstructured) { report(u, "Error", began) }, fleet.NeedsStart, "in the state Error"},
		{"managed by others", func(u *unstructured.Unstructured) {
			set(u, "someone", "metadata", "labels", "operator.kyma-project.io/managed-by")
		}, fleet.NeedsStart, "managed by someone"},
		{"unmanaged", func(u *unstructured.Unstructured) { report(u, "Unmanaged", began) }, fleet.Refused, "state Unmanaged"},
		{"skipped", func(u *unstructured.Unstructured) {
			set(u, "true", "metadata", "labels", "operator.kyma-project.io/skip-reconciliation")
		}, fleet.Refused, "skip-reconciliation"},
		{"not skipped", func(u *unstructured.Unstructured) {
			set(u, "false", "metadata", "labels", "operator.kyma-project.io/skip-reconciliation")
		}, fleet.NeedsStart, "regular"},
		{"deleting", func(u *unstructured.Unstructured) { report(u, "Deleting", began) }, fleet.Gone, "is being deleted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, dry := range []bool{false, true} {
				p := newPlane(t)
				task := p.task(t, "rt-1")
				task.DryRun = dry
				p.change(t, "rt-1", test.change)
				r, err := p.executor(t).Observe(t.Context(), task)
				require.NoError(t, err)
				require.Equal(t, test.outcome, r.Outcome, "%+v", r)
				require.Contains(t, r.Description, test.says)
				require.False(t, r.Sent)
			}
		})
	}
}

// Trouble ends an operation when it has lasted without a break, and says what it was and how it was before.
func TestTroubleIsGivenTime(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	e := p.executor(t)
	task := p.task(t, "rt-1")
	p.change(t, "rt-1", func(u *unstructured.Unstructured) { report(u, "Warning", began.Add(-time.Minute)) })
	r, err := e.Start(t.Context(), task, allowed)
	require.NoError(t, err)
	keep(&task, r)
	look := func(minutes int, state string) fleet.Result {
		task.Now = began.Add(time.Duration(minutes) * time.Minute)
		p.change(t, "rt-1", func(u *unstructured.Unstructured) { report(u, state, task.Now) })
		r, err := e.Check(t.Context(), task, allowed)
		require.NoError(t, err)
		keep(&task, r)
		return r
	}
	require.Equal(t, fleet.Again, look(1, "Error").Outcome)
	require.Equal(t, fleet.Again, look(15, "Error").Outcome)
	require.Equal(t, fleet.Again, look(17, "Processing").Outcome)
	require.Equal(t, fleet.Again, look(18, "Error").Outcome)
	require.Equal(t, fleet.Again, look(30, "Warning").Outcome, "another trouble")
	require.Equal(t, fleet.Again, look(44, "Warning").Outcome)
	r = look(45, "Warning")
	require.Equal(t, fleet.Refused, r.Outcome)
	require.Contains(t, r.Reason, "istio is Warning")
	require.Contains(t, r.Reason, "so for 15m0s")
	require.Contains(t, r.Reason, "in the state Warning before the change")
	require.True(t, r.Sent)
}

// A Kyma that has the channel already, and whose status says so, needs nothing; one that is on its way is followed.
func TestChannelThatIsThereAlready(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	task := p.task(t, "rt-1")
	e := p.executor(t)
	p.change(t, "rt-1", func(u *unstructured.Unstructured) {
		set(u, "fast", "spec", "channel")
		u.SetGeneration(2)
	})
	r, err := e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.Again, r.Outcome)
	keep(&task, r)
	p.change(t, "rt-1", func(u *unstructured.Unstructured) { report(u, "Ready", began.Add(-time.Hour)) })
	r, err = e.Check(t.Context(), task, allowed)
	require.NoError(t, err)
	require.Equal(t, fleet.Done, r.Outcome)
	require.False(t, r.Sent)
	require.Zero(t, p.starts("rt-1"))
}

// Modules that do not follow the channel are named in what the operation says at its end.
func TestModulesOfTheirOwnAreReported(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	e := p.executor(t)
	task := p.task(t, "rt-1")
	p.change(t, "rt-1", func(u *unstructured.Unstructured) {
		set(u, []any{
			map[string]any{"name": "istio"}, map[string]any{"name": "keda", "channel": "regular"}, map[string]any{"name": "nats", "version": "1.2.3"},
			map[string]any{"name": "telemetry", "managed": false}, map[string]any{"name": "same", "channel": "fast"},
		}, "spec", "modules")
	})
	dry := task
	dry.DryRun = true
	r, err := e.Start(t.Context(), dry, allowed)
	require.NoError(t, err)
	require.Equal(t, fleet.Done, r.Outcome)
	require.Contains(t, r.Description, "keep their own: keda (channel regular), nats (version 1.2.3), telemetry (not managed); nothing was changed")
	require.Zero(t, p.starts("rt-1"))

	r, err = e.Start(t.Context(), task, allowed)
	require.NoError(t, err)
	keep(&task, r)
	require.JSONEq(t, `{"version":"fast","components":[
		{"component":"istio","namespace":""},{"component":"keda","namespace":"","configuration":[{"key":"channel","value":"regular"}]},
		{"component":"nats","namespace":"","configuration":[{"key":"version","value":"1.2.3"}]},{"component":"telemetry","namespace":""},
		{"component":"same","namespace":"","configuration":[{"key":"channel","value":"fast"}]}]}`, string(r.KymaConfig))
	p.change(t, "rt-1", func(u *unstructured.Unstructured) { report(u, "Ready", began.Add(time.Minute)) })
	r, err = e.Check(t.Context(), task, allowed)
	require.NoError(t, err)
	require.Equal(t, fleet.Done, r.Outcome)
	require.Contains(t, r.Description, "keep their own: keda (channel regular), nats (version 1.2.3), telemetry (not managed)")
}

func TestFindsTheKymaOfARuntime(t *testing.T) {
	t.Parallel()
	relabel := func(id string) func(u *unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { set(u, id, "metadata", "labels", kyma.RuntimeIDLabel) }
	}
	p := newPlane(t)
	e := p.executor(t)
	task := p.task(t, "kyma-of-somebody")
	p.change(t, "kyma-of-somebody", relabel("rt-1"))
	task.RuntimeID = "rt-1"
	r, err := e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.NeedsStart, r.Outcome, "named otherwise")

	p.add(t, "rt-1")
	p.change(t, "rt-1", relabel("rt-other"))
	r, err = e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.NeedsStart, r.Outcome, "another one has the name")

	p.add(t, "third")
	p.change(t, "third", relabel("rt-1"))
	r, err = e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.Refused, r.Outcome)
	require.Contains(t, r.Reason, "kyma-of-somebody, third")

	for _, id := range []string{"", "a b", "/", "rt-1,other=2"} {
		task.RuntimeID = id
		r, err = e.Observe(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, fleet.Refused, r.Outcome, id)
	}
	task.RuntimeID = "Rt_1"
	r, err = e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.Gone, r.Outcome)
}

// A control plane that does not know Kymas, or does not let us read them, is no reason to say that a runtime is gone.
func TestFaultsThatMayPass(t *testing.T) {
	t.Parallel()
	resource := kyma.Resource.GroupResource()
	for name, fault := range map[string]error{
		"no such resource": apierrors.NewNotFound(resource, "rt-1"),
		"forbidden":        apierrors.NewForbidden(resource, "rt-1", errors.New("no")),
		"unauthorized":     apierrors.NewUnauthorized("no"),
		"overloaded":       apierrors.NewTooManyRequests("later", 1),
		"cut":              errors.New("unexpected EOF"),
		"gateway":          apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", resource, "", "<html>", 0, true),
	} {
		p := newPlane(t)
		e := p.executor(t)
		task := p.task(t, "rt-1")
		p.set(func() { p.outage = fault })
		_, err := e.Observe(t.Context(), task)
		require.ErrorIs(t, err, fault, name)
		_, err = e.Start(t.Context(), task, allowed)
		require.ErrorIs(t, err, fault, name)
		_, err = e.Check(t.Context(), task, allowed)
		require.ErrorIs(t, err, fault, name)
	}
}

func TestRefusedWritesEndTheOperation(t *testing.T) {
	t.Parallel()
	resource := kyma.Resource.GroupResource()
	for name, refusal := range map[string]error{
		"invalid":     apierrors.NewInvalid(kyma.Resource.GroupVersion().WithKind("Kyma").GroupKind(), "rt-1", nil),
		"bad request": apierrors.NewBadRequest("channel is odd"),
		"forbidden":   apierrors.NewForbidden(resource, "rt-1", errors.New("a webhook says no")),
	} {
		p := newPlane(t)
		task := p.task(t, "rt-1")
		p.set(func() { p.refuse = refusal })
		r, err := p.executor(t).Start(t.Context(), task, allowed)
		require.NoError(t, err)
		require.Equal(t, fleet.Refused, r.Outcome, name)
		require.Contains(t, r.Reason, "the control plane refuses the change")
		require.False(t, r.Sent)
	}
	p := newPlane(t)
	task := p.task(t, "rt-1")
	p.set(func() { p.refuse = apierrors.NewInternalError(errors.New("webhook timed out")) })
	_, err := p.executor(t).Start(t.Context(), task, allowed)
	require.Error(t, err)
}

// A right that is missing, or credentials that have expired, are no judgement of the change.
func TestRefusedAccessIsWaitedFor(t *testing.T) {
	t.Parallel()
	resource := kyma.Resource.GroupResource()
	for name, refusal := range map[string]error{
		"right": apierrors.NewForbidden(resource, "rt-1", errors.New(
			`User "swell" cannot patch resource "kymas" in API group "operator.kyma-project.io" in the namespace "kcp-system"`)),
		"credentials": apierrors.NewUnauthorized("Unauthorized"),
		"gateway":     apierrors.NewGenericServerResponse(http.StatusForbidden, "patch", resource, "rt-1", "<html>", 0, true),
	} {
		p := newPlane(t)
		task := p.task(t, "rt-1")
		p.set(func() { p.refuse = refusal })
		_, err := p.executor(t).Start(t.Context(), task, allowed)
		require.ErrorIs(t, err, fleet.ErrNoAccess, name)
		require.ErrorIs(t, err, refusal, name)
		p.set(func() { p.refuse, p.outage = nil, refusal })
		_, err = p.executor(t).Observe(t.Context(), task)
		require.ErrorIs(t, err, fleet.ErrNoAccess, name)
	}
}

func TestContextThatEndsIsAPassingFault(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	task := p.task(t, "rt-1")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopping"))
	_, err := p.executor(t).Start(ctx, task, allowed)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, p.starts("rt-1"))
}

func TestUnreadableMemoIsAnError(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	e := p.executor(t)
	task := p.task(t, "rt-1")
	task.Memo = json.RawMessage(`{"generation":"two"}`)
	_, err := e.Observe(t.Context(), task)
	require.Error(t, err)
	_, err = e.Check(t.Context(), task, allowed)
	require.Error(t, err)
}

func FuzzKyma(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{"channel":"fast"}}`, `{"spec":{"channel":"fast"},"status":{"state":"Ready","activeChannel":"fast","conditions":[{"type":"Modules","observedGeneration":9}]}}`,
		`{"spec":{"channel":7}}`, `{"spec":{"modules":[null]}}`, `{"spec":{"modules":[{"name":"a","managed":null}]},"status":{"modules":[{}]}}`,
		`{"spec":{"channel":"fast"},"status":{"state":"Error","lastOperation":{"operation":"x\u0000\ny","lastUpdateTime":"yesterday"}}}`,
		`{"metadata":{"managedFields":[{"manager":"swell"}],"generation":-1},"status":{"state":"Warning","lastOperation":{"lastUpdateTime":null}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		u := &unstructured.Unstructured{}
		if json.Unmarshal(text, &u.Object) != nil || u.Object == nil {
			return
		}
		if m, ok := u.Object["metadata"]; ok {
			if _, ok := m.(map[string]any); !ok {
				return
			}
		}
		u.SetAPIVersion("operator.kyma-project.io/v1beta2")
		u.SetKind("Kyma")
		u.SetName("rt-1")
		u.SetNamespace(namespace)
		u.SetLabels(map[string]string{kyma.RuntimeIDLabel: "rt-1"})
		p := newPlane(t)
		if p.client.Tracker().Create(kyma.Resource, u, namespace) != nil {
			return
		}
		e := p.executor(t, impatient)
		task := fleet.Task{RuntimeID: "rt-1", Version: "fast", Now: began}
		for _, call := range []func() (fleet.Result, error){
			func() (fleet.Result, error) { return e.Observe(t.Context(), task) },
			func() (fleet.Result, error) { return e.Check(t.Context(), task, allowed) },
		} {
			r, err := call()
			if err != nil {
				continue
			}
			if slices.Contains([]fleet.Outcome{fleet.Refused, fleet.Gone}, r.Outcome) == (r.Reason == "") {
				t.Fatalf("outcome and reason do not fit: %+v", r)
			}
			if fleet.Line(r.Reason) != r.Reason || fleet.Line(r.Description) != r.Description {
				t.Fatalf("text from outside is not made one line: %+v", r)
			}
		}
	})
}
