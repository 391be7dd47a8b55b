package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/quantity"
	"github.com/swell-fleet/swell/orchestration"
)

// askedToCreate says for the history what a request to upgrade asked for. The whole of it stays with the orchestration.
func askedToCreate(o *fleet.Orchestration) string {
	p := &o.Parameters
	parts := []string{fmt.Sprintf("created: %s", o.Type)}
	if version := versionOf(p); version != "" {
		parts = append(parts, "to "+version)
	}
	parts = append(parts, "of "+targets(p.Targets))
	parts = append(parts, "by "+quantity.Of(p.Strategy.Parallel.Workers, "worker"))
	if o.UsesWindows() {
		parts = append(parts, "in maintenance windows")
	}
	if !o.NotBefore.IsZero() {
		parts = append(parts, "not before "+o.NotBefore.UTC().Format(time.RFC3339))
	}
	if p.DryRun {
		parts = append(parts, "as a dry run")
	}
	return strings.Join(parts, " ")
}

func versionOf(p *orchestration.Parameters) string {
	switch {
	case p.Version != "":
		return p.Version
	case p.Kyma != nil && p.Kyma.Version != "":
		return p.Kyma.Version
	case p.Kubernetes != nil:
		return p.Kubernetes.KubernetesVersion
	default:
		return ""
	}
}

// targets shows the first targets as they were given.
func targets(spec orchestration.TargetSpec) string {
	const shown = 3
	list := func(all []orchestration.RuntimeTarget) string {
		var texts []string
		for i := range all {
			if i == shown {
				texts = append(texts, fmt.Sprintf("and %d more", len(all)-shown))
				break
			}
			text, err := json.Marshal(all[i])
			if err != nil {
				text = []byte("{}")
			}
			texts = append(texts, string(text))
		}
		return strings.Join(texts, " ")
	}
	text := list(spec.Include)
	if len(spec.Exclude) > 0 {
		text += " except " + list(spec.Exclude)
	}
	return text
}

// askedToRetry says for the history what a request to repeat operations asked for, and what became of it.
func askedToRetry(req fleet.RetryRequest, result string) string {
	text := "asked to repeat all that failed or were canceled"
	if n := len(req.OperationIDs); n > 0 {
		text = "asked to repeat " + quantity.Of(n, "operation")
	}
	if req.Immediate {
		text += ", without waiting for windows"
	}
	return text + ": " + result
}
