package gardener

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	gardenclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/window"
	"github.com/swell-fleet/swell/orchestration"
)

var errNoShoot = errors.New("there is no such Shoot")

func fmtShoot(s landscape.Shoot) error {
	return fmt.Errorf("%s: %s %s, generation %d, observed %d", s.Name, s.Operation, s.State, s.Generation, s.ObservedGeneration)
}

// run is one operation on a Shoot of a landscape, carried out as the engine does it.
type run struct {
	fleet     *landscape.Fleet
	executor  *Executor
	task      fleet.Task
	following bool
}

func newRun(t testing.TB, f *landscape.Fleet, client gardenclient.CoreV1beta1Interface, name, version string) *run {
	t.Helper()
	return &run{fleet: f, executor: executorFor(t, client, f), task: taskFor(t, f, name, version)}
}

// step takes the next step.
func (r *run) step(t testing.TB) fleet.Result {
	t.Helper()
	got, err := r.tryStep(t)
	require.NoError(t, err)
	return got
}

func (r *run) tryStep(t testing.TB) (fleet.Result, error) {
	t.Helper()
	r.task.Now = time.Now()
	var got fleet.Result
	var err error
	if r.following {
		got, err = r.executor.Check(t.Context(), r.task, pass)
	} else if got, err = r.executor.Observe(t.Context(), r.task); err == nil && got.Outcome == fleet.NeedsStart {
		r.store(got)
		got, err = r.executor.Start(t.Context(), r.task, pass)
	}
	if err != nil {
		return got, err
	}
	r.store(got)
	r.following = got.Outcome == fleet.Again && !got.NextObserve
	return got, nil
}

func (r *run) store(got fleet.Result) {
	if got.Memo != nil {
		r.task.Memo = got.Memo
	}
	if got.Version != "" {
		r.task.Version = got.Version
	}
	r.task.Sent = r.task.Sent || got.Sent
}

// end takes steps until the operation ends.
func (r *run) end(t testing.TB) fleet.Result {
	t.Helper()
	var got fleet.Result
	await.That(t, "the end", func() error {
		got = r.step(t)
		if got.Outcome == fleet.Again {
			return errors.New(got.Description)
		}
		return nil
	})
	return got
}

// Gardener's API server judges, stores and tells, and the simulated gardenlet reconciles.
func TestUpgradeOfALandscape(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 10, Version: "1.33.9", ReconcileTime: 20 * time.Millisecond})
	client := clientFor(t, f).CoreV1beta1()
	names := f.Names(t)

	t.Run("newest supported patch of the own minor", func(t *testing.T) {
		t.Parallel()
		r := newRun(t, f, client, names[0], "")
		got := r.end(t)
		require.Equal(t, fleet.Done, got.Outcome, "%+v", got)
		require.Equal(t, "1.33.11", f.Get(t, names[0]).Spec.Kubernetes.Version)
		require.Equal(t, "1.33.11", r.task.Version)
		require.Contains(t, string(got.ClusterConfig), `"kubernetesVersion":"1.33.11"`)
	})
	t.Run("hibernated", func(t *testing.T) {
		t.Parallel()
		f.Patch(t, names[1], `{"spec":{"hibernation":{"enabled":true}}}`)
		got := newRun(t, f, client, names[1], landscape.Target).end(t)
		require.Equal(t, fleet.Done, got.Outcome, "%+v", got)
		require.Contains(t, got.Description, "hibernated")
	})
	t.Run("only the wanted fields are sent, on a condition", func(t *testing.T) {
		t.Parallel()
		before := f.Get(t, names[2])
		require.Equal(t, fleet.Done, newRun(t, f, client, names[2], landscape.Target).end(t).Outcome)
		requests := f.Audit(t).Of(names[2])
		require.Len(t, requests, 1)
		require.JSONEq(t, fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"spec":{"kubernetes":{"version":%q}}}`, before.ResourceVersion, landscape.Target), string(requests[0].Body))
	})
	t.Run("dry run", func(t *testing.T) {
		t.Parallel()
		before := f.Get(t, names[3])
		r := newRun(t, f, client, names[3], landscape.Target)
		r.task.DryRun = true
		got := r.end(t)
		require.Equal(t, fleet.Done, got.Outcome, "%+v", got)
		require.Equal(t, "dry run: Gardener accepts Kubernetes "+landscape.Target+"; nothing was changed", got.Description)
		require.Equal(t, before, f.Get(t, names[3]))
		requests := f.Audit(t).Of(names[3])
		require.Len(t, requests, 1)
		require.True(t, requests[0].DryRun)
	})
	t.Run("dry run that admission refuses", func(t *testing.T) {
		t.Parallel()
		r := newRun(t, f, client, names[9], landscape.Target)
		r.task.DryRun = true
		imageTo("no-such-image", "1.2.3")(&r.task)
		got := r.end(t)
		require.Equal(t, fleet.Refused, got.Outcome, "%+v", got)
		require.Contains(t, got.Reason, "Gardener refuses the change: ")
		require.Contains(t, got.Reason, "no-such-image")
		requireClean(t, got.Reason)
	})
	t.Run("somebody upgrades further meanwhile", func(t *testing.T) {
		t.Parallel()
		r := newRun(t, f, client, names[4], "1.33.11")
		require.Equal(t, fleet.Again, r.step(t).Outcome)
		f.Patch(t, names[4], `{"spec":{"kubernetes":{"version":"`+landscape.Target+`"}}}`)
		got := r.end(t)
		require.Equal(t, fleet.Refused, got.Outcome, "%+v", got)
		require.Contains(t, got.Reason, "somebody changed the Shoot after Kubernetes 1.33.11 was written: it has Kubernetes "+landscape.Target)

		later := newRun(t, f, client, names[4], "1.33.11")
		got = later.end(t)
		require.Equal(t, fleet.Refused, got.Outcome)
		require.Equal(t, "1.33.11 would be a downgrade: the Shoot has Kubernetes 1.34.7 already", got.Reason)
	})
	t.Run("somebody changes it between look and write", func(t *testing.T) {
		t.Parallel()
		r := newRun(t, f, client, names[5], landscape.Target)
		conflicts := 0
		guard := func(context.Context) error {
			if conflicts++; conflicts == 1 {
				f.Annotate(t, names[5], "example.com/note", "changed")
			}
			return nil
		}
		got, err := r.executor.Start(t.Context(), r.task, guard)
		require.NoError(t, err)
		require.Equal(t, fleet.Again, got.Outcome)
		require.True(t, got.NextObserve)
		require.Equal(t, fleet.Done, r.end(t).Outcome)
		require.Equal(t, 1, f.Upgrades(t)[names[5]])
	})
	t.Run("ignored", func(t *testing.T) {
		t.Parallel()
		f.Annotate(t, names[6], constants.ShootIgnore, "true")
		got := newRun(t, f, client, names[6], landscape.Target).end(t)
		require.Equal(t, fleet.Refused, got.Outcome)
		require.Empty(t, f.Audit(t).Of(names[6]))
	})
	t.Run("removed while it is upgraded", func(t *testing.T) {
		t.Parallel()
		r := newRun(t, f, client, names[7], landscape.Target)
		require.Equal(t, fleet.Again, r.step(t).Outcome)
		f.Remove(t, names[7])
		require.Equal(t, fleet.Gone, r.end(t).Outcome)
	})
	t.Run("a pool with a version of its own", func(t *testing.T) {
		t.Parallel()
		var shoot struct {
			Spec struct {
				Provider struct {
					Workers []map[string]any `json:"workers"`
				} `json:"provider"`
			} `json:"spec"`
		}
		text, err := json.Marshal(f.Get(t, names[8]))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &shoot))
		shoot.Spec.Provider.Workers[0]["kubernetes"] = map[string]any{"version": "1.33.9"}
		text, err = json.Marshal(shoot)
		require.NoError(t, err)
		f.Patch(t, names[8], string(text))
		got := newRun(t, f, client, names[8], landscape.Target).end(t)
		require.Equal(t, fleet.Done, got.Outcome, "%+v", got)
		require.Contains(t, got.Description, "worker pools with a version of their own: "+fmt.Sprint(shoot.Spec.Provider.Workers[0]["name"])+" (1.33.9)")
	})
}

// A machine image goes to every worker pool and leaves everything else of the pools as it is.
func TestMachineImage(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 25, Version: "1.34.5", ReconcileTime: 20 * time.Millisecond})
	client := clientFor(t, f).CoreV1beta1()
	const image, newVersion = "gardenlinux", "1592.9.0"
	name, pools := "", 0
	for _, candidate := range f.Names(t) {
		workers := f.Get(t, candidate).Spec.Provider.Workers
		if len(workers) > pools {
			name, pools = candidate, len(workers)
		}
	}
	require.Greater(t, pools, 1)
	shoot := f.Get(t, name)
	require.NotEqual(t, newVersion, *shoot.Spec.Provider.Workers[0].Machine.Image.Version)

	r := newRun(t, f, client, name, "1.34.5")
	imageTo(image, newVersion)(&r.task)
	got := r.end(t)
	require.Equal(t, fleet.Done, got.Outcome, "%+v", got)
	require.Contains(t, got.Description, "machine image "+image+" "+newVersion)
	want := shoot.DeepCopy()
	for i := range want.Spec.Provider.Workers {
		want.Spec.Provider.Workers[i].Machine.Image.Version = ptr(newVersion)
	}
	require.Equal(t, want.Spec, f.Get(t, name).Spec)
}

// Passing faults of the API are errors of the step, after which everything goes on; nothing is written twice.
func TestFaultsOfTheAPI(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{
		"refused":       "{action: refuse, for: 300ms}",
		"dropped":       "{action: drop, times: 3}",
		"lost":          "{action: lose, verbs: [patch], resources: [shoots], times: 1}",
		"garbage":       "{action: garbage, times: 4}",
		"garbage write": "{action: garbage, verbs: [patch], times: 1}",
		"500":           "{action: status, code: 500, times: 3}",
		"503":           "{action: status, code: 503, times: 3}",
		"404":           "{action: status, code: 404, times: 3}",
		"401":           "{action: status, code: 401, times: 3}",
		"409":           "{action: status, code: 409, verbs: [patch], times: 2}",
		"429":           "{action: status, code: 429, times: 2, retryAfter: 1s}",
		"slow":          "{action: delay, delay: 50ms}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := landscape.New(t, landscape.Options{Shoots: 1, Version: "1.34.5", ReconcileTime: 20 * time.Millisecond})
			shoot := f.Names(t)[0]
			r := newRun(t, f, clientFor(t, f).CoreV1beta1(), shoot, landscape.Target)
			f.SetFaults(t, "api: ["+fault+"]\n")
			var got fleet.Result
			await.That(t, "the end", func() (err error) {
				if got, err = r.tryStep(t); err == nil && got.Outcome == fleet.Again {
					err = errors.New(got.Description)
				}
				return err
			})
			require.Equal(t, fleet.Done, got.Outcome, "%+v", got)
			require.Equal(t, 1, f.Upgrades(t)[shoot])
		})
	}
}

// What fails in Gardener ends with Gardener's reason; what failed before is tried again.
func TestFailuresOfGardener(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.34.5", ReconcileTime: 20 * time.Millisecond, Faults: "gardenlet: {fail: 1, times: 1, codes: [ERR_INFRA_QUOTA_EXCEEDED]}\n"})
	client := clientFor(t, f).CoreV1beta1()
	names := f.Names(t)
	got := newRun(t, f, client, names[0], landscape.Target).end(t)
	require.Equal(t, fleet.Refused, got.Outcome, "%+v", got)
	require.Contains(t, got.Reason, "Gardener gave up: worker pool ")
	require.Contains(t, got.Reason, "[ERR_INFRA_QUOTA_EXCEEDED]")

	await.That(t, "the failure", func() error { return stateIs(t, f, names[0], "Failed") })
	again := newRun(t, f, client, names[0], landscape.Target)
	again.task.StartedAt = f.Get(t, names[0]).Status.LastOperation.LastUpdateTime.Add(time.Second)
	got = again.end(t)
	require.Equal(t, fleet.Done, got.Outcome, "%+v", got)
	requests := f.Audit(t).Of(names[0])
	require.Len(t, requests, 2)
	var sent struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec any `json:"spec"`
	}
	require.NoError(t, json.Unmarshal(requests[1].Body, &sent))
	require.Equal(t, map[string]string{constants.GardenerOperation: constants.ShootOperationRetry}, sent.Metadata.Annotations)
	require.Nil(t, sent.Spec)
	require.Equal(t, 1, f.Upgrades(t)[names[0]])
}

// A Shoot that confines rollouts to its window is reconciled there and nowhere else, without a new generation.
func TestConfinedLandscape(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{
		"as it should": "api: []\n", "the answer is lost": "api: [{action: lose, verbs: [patch], resources: [shoots], times: 1}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now().UTC().Add(2 * time.Hour)
			f := landscape.New(t, landscape.Options{
				Shoots: 1, Version: "1.34.5", Confined: true, ReconcileTime: 20 * time.Millisecond,
				Window: begin.Format(window.Layout) + "/" + begin.Add(time.Hour).Format(window.Layout),
			})
			shoot := f.Names(t)[0]
			client := clientFor(t, f).CoreV1beta1()
			// The simulator lays Shoots down without managed fields; from the first apply on Gardener keeps them, as for every Shoot it created.
			apply := fmt.Sprintf(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","metadata":{"name":%q,"labels":{"applied":"yes"}}}`, shoot)
			_, err := client.Shoots(f.Namespace).Patch(t.Context(), shoot, types.ApplyPatchType, []byte(apply), metav1.PatchOptions{FieldManager: "test"})
			require.NoError(t, err)
			f.SetFaults(t, fault)
			r := newRun(t, f, client, shoot, landscape.Target)
			got, err := r.tryStep(t)
			if err != nil {
				got = r.step(t)
			}
			require.Equal(t, fleet.Again, got.Outcome, "%+v", got)
			require.Contains(t, got.Description, "in its own maintenance window only, next from "+begin.Format("2006-01-02T15:04"))
			require.WithinDuration(t, begin, got.TimeLimitFrom, time.Second)
			require.Equal(t, fleet.Again, r.step(t).Outcome)
			f.SetClock(t, begin.Add(time.Minute))
			got = r.end(t)
			require.Equal(t, fleet.Done, got.Outcome, "%+v", got)
			require.Equal(t, 1, f.Upgrades(t)[shoot])
		})
	}
}

// A runtime under another Shoot's name is not touched.
func TestAnotherRuntimeUnderTheName(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 1, Version: "1.34.5"})
	name := f.Names(t)[0]
	r := newRun(t, f, clientFor(t, f).CoreV1beta1(), name, landscape.Target)
	annotation := orchestration.RuntimeIDAnnotation
	if f.Get(t, name).Annotations[annotation] == "" {
		annotation = orchestration.InfrastructureManagerRuntimeIDAnnotation
	}
	f.Annotate(t, name, annotation, "rt-other")
	got := r.end(t)
	require.Equal(t, fleet.Gone, got.Outcome)
	require.True(t, strings.HasSuffix(got.Reason, "belongs to another runtime now: rt-other"), got.Reason)
	require.Empty(t, f.Audit(t).Of(name))
}
