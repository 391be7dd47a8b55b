package upgrade

import (
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/selector"
	"github.com/swell-fleet/swell/orchestration"
)

// summary tells a person what an upgrade will do, as far as the program and the server know.
// The server is told as the caller names it.
func summary(c *console.Console, server string, kind orchestration.Type, p orchestration.Parameters, known *foresight) {
	var d display.Details
	d.Add("Server", server)
	if kind == orchestration.UpgradeKymaOrchestration {
		version := p.Version
		if version == "" && known.preview != nil && known.preview.Parameters.Version != "" {
			version = known.preview.Parameters.Version + ", which the server chose"
		}
		d.Add("Upgrade", "Kyma to "+or(version, "the version that the server chooses"))
	} else {
		d.Add("Upgrade", "clusters to "+or(p.Version, "the newest patch of their own Kubernetes version"))
	}
	if k := p.Kubernetes; k != nil {
		d.Add("Machine image", strings.TrimSpace(or(k.MachineImage, "the image they have")+" "+k.MachineImageVersion))
	}
	if p.DryRun {
		d.Add("Dry run", "yes, no runtime is changed")
	}
	d.Add("Targets", selector.FormatList(p.Targets.Include))
	if len(p.Targets.Exclude) > 0 {
		d.Add("Except", selector.FormatList(p.Targets.Exclude))
	}
	known.add(c, &d)
	d.Add("At once", display.Count(p.Strategy.Parallel.Workers, "runtime"))
	d.Add("Start", start(c, p.Strategy))
	d.Print(c)
}

func or(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}

func start(c *console.Console, s orchestration.StrategySpec) string {
	text := "now"
	if at, err := time.Parse(time.RFC3339, string(s.Schedule)); err == nil {
		text = "not before " + display.Clock{Now: c.Clock()}.Both(at)
	}
	if s.MaintenanceWindow {
		text += ", each runtime inside its maintenance window only"
	}
	return text
}
