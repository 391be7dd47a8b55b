package gardener

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/window"
	"github.com/swell-fleet/swell/orchestration"
)

// unreachable says whether the Shoot may not be changed at all, or is not the runtime that the operation is about.
func unreachable(t fleet.Task, shoot *gardencorev1beta1.Shoot) (fleet.Result, bool) {
	if shoot.DeletionTimestamp != nil {
		return gone(fmt.Sprintf("the Shoot %s is being deleted", shoot.Name)), true
	}
	if id := runtimeID(shoot); t.RuntimeID != "" && id != t.RuntimeID {
		return gone(fmt.Sprintf("the Shoot %s now belongs to another runtime", shoot.Name)), true
	}
	if t.Sent {
		return fleet.Result{}, false
	}
	if ignored, err := strconv.ParseBool(shoot.Annotations[constants.ShootIgnore]); err == nil && ignored {
		return refused(fmt.Sprintf("the Shoot is ignored by Gardener: it has the annotation %s", constants.ShootIgnore)), true
	}
	return fleet.Result{}, false
}

func runtimeID(shoot *gardencorev1beta1.Shoot) string {
	if id := shoot.Annotations[orchestration.RuntimeIDAnnotation]; id != "" {
		return id
	}
	return shoot.Annotations[orchestration.InfrastructureManagerRuntimeIDAnnotation]
}

// judge says how an operation stands, from the Shoot's specification and status.
func judge(t fleet.Task, shoot *gardencorev1beta1.Shoot, m memo, want change) fleet.Result {
	if !want.in(shoot) {
		return fleet.Result{Outcome: fleet.NeedsStart, Sent: t.Sent}
	}
	last := shoot.Status.LastOperation
	following := fleet.Result{Outcome: fleet.Again, Sent: t.Sent, Description: progress(last)}
	if !observed(shoot, m) {
		following.Description = "waiting for Gardener to begin"
		if wait, ok := confined(shoot, t.Now); ok {
			following.Description = "Gardener rolls changes of this Shoot out in its own maintenance window only, next from " + wait.Format(time.RFC3339)
			following.TimeLimitFrom = wait
		}
		return following
	}
	if last == nil {
		following.Description = "waiting for Gardener to begin"
		return following
	}
	switch last.State {
	case gardencorev1beta1.LastOperationStateSucceeded:
		if last.Type != gardencorev1beta1.LastOperationTypeCreate && last.Type != gardencorev1beta1.LastOperationTypeReconcile {
			return following
		}
		return fleet.Result{Outcome: fleet.Done, Sent: t.Sent, Stage: "shoot_reconciled", Description: done(shoot, want)}
	case gardencorev1beta1.LastOperationStateFailed, gardencorev1beta1.LastOperationStateAborted:
		return failed(t, shoot, m, following)
	case gardencorev1beta1.LastOperationStateProcessing, gardencorev1beta1.LastOperationStatePending, gardencorev1beta1.LastOperationStateError:
		return following
	default:
		return following
	}
}

// failed tells a failure of our run, which is final, from one that was there before: then Gardener is told to try again, once per attempt.
func failed(t fleet.Task, shoot *gardencorev1beta1.Shoot, m memo, following fleet.Result) fleet.Result {
	at := lastUpdate(shoot)
	if m.RetriedAttempt != 0 && !at.After(m.RetriedAfter) {
		return following
	}
	ours := m.Generation != 0 || at.After(t.StartedAt)
	if ours || m.RetriedAttempt == t.Attempt {
		return refused(failure(shoot))
	}
	if _, asked := shoot.Annotations[constants.GardenerOperation]; asked {
		return following
	}
	return fleet.Result{Outcome: fleet.NeedsStart, Sent: t.Sent}
}

func lastUpdate(shoot *gardencorev1beta1.Shoot) time.Time {
	if shoot.Status.LastOperation == nil {
		return time.Time{}
	}
	return shoot.Status.LastOperation.LastUpdateTime.UTC()
}

// observed says whether the status speaks about the wanted specification. After a write of ours that is told by the generation. Without one
// every change of the specification up to now counts; and where Gardener confines rollouts to the Shoot's window, so that changes of the specification do not
// raise the generation, the last operation must be later than the last write of the version.
func observed(shoot *gardencorev1beta1.Shoot, m memo) bool {
	if m.Generation != 0 {
		return shoot.Status.ObservedGeneration >= m.Generation
	}
	if shoot.Status.ObservedGeneration < shoot.Generation {
		return false
	}
	return !confinesRollout(shoot) || !versionWrittenAt(shoot).After(lastUpdate(shoot))
}

// versionWrittenAt returns when the Kubernetes version was last written, as the Shoot's managed fields tell; zero when they do not.
func versionWrittenAt(shoot *gardencorev1beta1.Shoot) time.Time {
	var at time.Time
	for _, entry := range shoot.ManagedFields {
		if entry.FieldsV1 == nil || entry.Time == nil || entry.Subresource != "" || !entry.Time.After(at) {
			continue
		}
		var fields struct {
			Spec struct {
				Kubernetes struct {
					Version *struct{} `json:"f:version"`
				} `json:"f:kubernetes"`
			} `json:"f:spec"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && fields.Spec.Kubernetes.Version != nil {
			at = entry.Time.UTC()
		}
	}
	return at
}

// generationOf returns the generation that the status has to reach after a write. Where rollouts are confined a write does not raise the generation; what
// raises it next is the rollout.
func generationOf(before, written *gardencorev1beta1.Shoot) int64 {
	if written.Generation == before.Generation {
		return written.Generation + 1
	}
	return written.Generation
}

func confinesRollout(shoot *gardencorev1beta1.Shoot) bool {
	mt := shoot.Spec.Maintenance
	return mt != nil && mt.ConfineSpecUpdateRollout != nil && *mt.ConfineSpecUpdateRollout
}

// confined returns the begin of the next window in which Gardener rolls changes out, when the Shoot lets it do so in windows only and none is open.
func confined(shoot *gardencorev1beta1.Shoot, now time.Time) (time.Time, bool) {
	mt := shoot.Spec.Maintenance
	if !confinesRollout(shoot) || mt.TimeWindow == nil {
		return time.Time{}, false
	}
	w, err := window.Parse(mt.TimeWindow.Begin, mt.TimeWindow.End, nil)
	if err != nil {
		return time.Time{}, false
	}
	next, ok := w.Next(now)
	if !ok || next.Contains(now) {
		return time.Time{}, false
	}
	return next.Begin, true
}

// progress describes the operation that Gardener carries out.
func progress(last *gardencorev1beta1.LastOperation) string {
	if last == nil {
		return ""
	}
	s := fmt.Sprintf("%s %s, %d %%", strings.ToLower(string(last.Type)), strings.ToLower(string(last.State)), last.Progress)
	if d := oneLine(last.Description); d != "" {
		s += ": " + d
	}
	return s
}

// done says what the Shoot has now, and names worker pools that keep a version of their own.
func done(shoot *gardencorev1beta1.Shoot, want change) string {
	s := "has " + want.words()
	var own []string
	for i := range shoot.Spec.Provider.Workers {
		pool := &shoot.Spec.Provider.Workers[i]
		if pool.Kubernetes != nil && pool.Kubernetes.Version != nil && *pool.Kubernetes.Version != want.Version {
			own = append(own, pool.Name+" ("+*pool.Kubernetes.Version+")")
		}
	}
	if len(own) > 0 {
		s += "; worker pools with a version of their own: " + strings.Join(own, ", ")
	}
	return s
}

// failure says why Gardener gave up: the last errors with their codes, or else the description of the last operation.
func failure(shoot *gardencorev1beta1.Shoot) string {
	var parts []string
	for _, e := range shoot.Status.LastErrors {
		s := oneLine(e.Description)
		if len(e.Codes) > 0 {
			codes := make([]string, len(e.Codes))
			for i, c := range e.Codes {
				codes[i] = string(c)
			}
			s += " [" + strings.Join(codes, ", ") + "]"
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return "Gardener gave up: " + progress(shoot.Status.LastOperation)
	}
	return "Gardener gave up: " + strings.Join(parts, "; ")
}

// maxText is how much of a text of Gardener's is kept, in bytes.
const maxText = 2000

// oneLine makes foreign text fit for a line: control characters become spaces, and it is cut at maxText bytes.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + " …"
}
