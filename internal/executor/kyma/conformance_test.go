package kyma_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/swell-fleet/swell/internal/executor/executortest"
	"github.com/swell-fleet/swell/internal/executor/kyma"
	"github.com/swell-fleet/swell/internal/fleet"
)

func TestKeepsThePromisesOfAnExecutor(t *testing.T) {
	t.Parallel()
	executortest.Run(t, func(t *testing.T) executortest.Harness {
		t.Helper()
		p := newPlane(t)
		var numbers atomic.Int64
		newTask := func(t testing.TB) fleet.Task {
			t.Helper()
			return p.task(t, fmt.Sprintf("rt-%d", numbers.Add(1)))
		}
		return executortest.Harness{
			NewExecutor: func(t testing.TB) fleet.Executor {
				t.Helper()
				return p.executor(t, impatient)
			},
			NewTask: newTask,
			Complete: func(t testing.TB, task fleet.Task) {
				t.Helper()
				p.change(t, task.RuntimeID, func(u *unstructured.Unstructured) { finish(u, began.Add(time.Minute)) })
			},
			Starts: func(_ testing.TB, task fleet.Task) int { return p.starts(task.RuntimeID) },
			Break: func(t testing.TB, task fleet.Task) {
				t.Helper()
				p.change(t, task.RuntimeID, func(u *unstructured.Unstructured) { report(u, "Error", began.Add(time.Minute)) })
			},
			Remove: func(t testing.TB, task fleet.Task) {
				t.Helper()
				p.remove(t, task.RuntimeID)
			},
			SetOutage: func(_ testing.TB, on bool) {
				p.set(func() {
					if p.outage = nil; on {
						p.outage = apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "get", kyma.Resource.GroupResource(), "", "away", 1, true)
					}
				})
			},
			LoseNextAnswer: func(testing.TB, fleet.Task) { p.set(func() { p.lose = true }) },
			ConflictNextWrite: func(t testing.TB, task fleet.Task) {
				t.Helper()
				p.set(func() {
					p.intrude = func() {
						p.change(t, task.RuntimeID, func(u *unstructured.Unstructured) { set(u, "true", "metadata", "labels", "touched") })
					}
				})
			},
			NewRefusedTask: func(t testing.TB) fleet.Task {
				t.Helper()
				task := newTask(t)
				task.Parameters.Version = "nightly"
				return task
			},
			NewFinishedTask: func(t testing.TB) fleet.Task {
				t.Helper()
				task := newTask(t)
				task.Parameters.Version = "regular"
				return task
			},
		}
	})
}
