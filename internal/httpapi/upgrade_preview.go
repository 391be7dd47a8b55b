package httpapi

import (
	"fmt"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

const (
	// maxPreviewPage is the largest page of a preview. It is also the usual one, and larger than that of lists, because each page costs as much as
	// the whole: the targets are resolved anew.
	maxPreviewPage = 10_000
	// maxPreviews is how many previews are made at the same time. Each holds all runtimes in memory, some 100 MB of 50,000.
	maxPreviews = 2
)

// preview says what an upgrade of a type would do.
func preview(t orchestration.Type) func(*api, *call) (answer, error) {
	return func(a *api, c *call) (answer, error) {
		page := c.query.page(maxPreviewPage, maxPreviewPage)
		if c.query.err != nil {
			return answer{}, c.query.err
		}
		_, normal, err := a.readUpgrade(c, t)
		if err != nil {
			return answer{}, err
		}
		leave, err := a.enter(c.ctx(), a.previews)
		if err != nil {
			return answer{}, err
		}
		defer leave()
		found, err := a.Previewer.PreviewOrchestration(c.ctx(), fleet.PreviewRequest{Type: t, Parameters: normal, Page: page})
		if err != nil {
			return answer{}, fmt.Errorf("preview orchestration: %w", err)
		}
		return answer{body: previewOf(t, &found)}, nil
	}
}

// previewOf is a preview in its published form.
func previewOf(t orchestration.Type, p *fleet.Preview) orchestration.Preview {
	out := orchestration.Preview{
		Type: t, At: p.At.UTC(), Revision: p.Revision, Executor: string(p.Backend), Parameters: fleet.AnswerParameters(t, p.Parameters),
		StartsAt: optional(p.NotBefore), FirstWindowBegin: optional(p.FirstWindow), LastWindowBegin: optional(p.LastWindow), Skipped: p.Skipped,
		Runtimes:       orchestration.PreviewRuntimeList{Data: make([]orchestration.PreviewRuntime, len(p.Runtimes)), Count: len(p.Runtimes), TotalCount: p.RuntimesTotal},
		LeftOut:        leftOutList(p.LeftOut, p.LeftOutTotal),
		LeftOutReasons: make(map[orchestration.LeftOutReason]int, len(p.Reasons)),
		Unmatched:      notNil(p.Unmatched),
	}
	for reason, n := range p.Reasons {
		out.LeftOutReasons[orchestration.LeftOutReason(reason)] = n
	}
	for i := range p.Runtimes {
		r := &p.Runtimes[i]
		out.Runtimes.Data[i] = orchestration.PreviewRuntime{
			ShootName: r.Target.ShootName, RuntimeID: r.Target.RuntimeID, InstanceID: r.Target.InstanceID,
			GlobalAccountID: r.Target.GlobalAccountID, SubAccountID: r.Target.SubAccountID, Region: r.Target.Region,
			ServicePlanID: r.Target.ServicePlanID, ServicePlanName: r.Target.ServicePlanName,
			KubernetesVersion: r.Target.KubernetesVersion, KymaVersion: r.KymaVersion,
			MaintenanceWindowBegin: optional(r.Window.Begin), MaintenanceWindowEnd: optional(r.Window.End),
			Skipped: r.Skipped, BusyWith: r.BusyWith,
		}
	}
	return out
}
