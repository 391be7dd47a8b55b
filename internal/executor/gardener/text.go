package gardener

import (
	"fmt"
	"strings"
	"unicode"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
)

// progress describes the operation that Gardener carries out. Of one that meets errors it names them: Gardener tries again by itself, and
// whoever waits wants to know why.
func progress(shoot *gardencorev1beta1.Shoot) string {
	last := shoot.Status.LastOperation
	if last == nil {
		return ""
	}
	s := fmt.Sprintf("%s %s, %d %%", strings.ToLower(oneLine(string(last.Type))), strings.ToLower(oneLine(string(last.State))), last.Progress)
	if last.State == gardencorev1beta1.LastOperationStateError {
		if errs := lastErrors(shoot); errs != "" {
			return s + ": " + errs
		}
	}
	if d := oneLine(last.Description); d != "" {
		s += ": " + d
	}
	return s
}

// done says what the Shoot has now, names worker pools that keep a version of their own, and says that sleeping nodes are updated later.
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
	if h := shoot.Spec.Hibernation; h != nil && h.Enabled != nil && *h.Enabled {
		s += "; the cluster is hibernated and gets its nodes with it when it wakes up"
	}
	return s
}

// failure says why Gardener gave up: the last errors with their codes, or else the description of the last operation.
func failure(shoot *gardencorev1beta1.Shoot) string {
	if errs := lastErrors(shoot); errs != "" {
		return "Gardener gave up: " + errs
	}
	return "Gardener gave up: " + progress(shoot)
}

// lastErrors puts the errors that Gardener met last into one line, with their codes.
func lastErrors(shoot *gardencorev1beta1.Shoot) string {
	var b strings.Builder
	for _, e := range shoot.Status.LastErrors {
		if b.Len() > maxText {
			b.WriteString("; …")
			break
		}
		s := oneLine(e.Description)
		if len(e.Codes) > 0 {
			codes := make([]string, len(e.Codes))
			for i, c := range e.Codes {
				codes[i] = string(c)
			}
			s = strings.TrimSpace(s + " [" + oneLine(strings.Join(codes, ", ")) + "]")
		}
		if s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(s)
	}
	return b.String()
}

// maxText is how much of a text of Gardener's is kept, in bytes.
const maxText = 2000

// oneLine makes foreign text fit for a line: what cannot be printed becomes a space, spaces in a row become one, and it is cut after maxText bytes.
func oneLine(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			space = b.Len() > 0
			continue
		}
		if b.Len() >= maxText {
			b.WriteString(" …")
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
