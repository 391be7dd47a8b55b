package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/caller"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/selector"
	"github.com/swell-fleet/swell/orchestration"
)

// maxNamed is how many Shoots a summary names.
const maxNamed = 5

// maxReasons is how many different reasons a summary names.
const maxReasons = 4

// foresight is what the server says of an upgrade before it begins.
type foresight struct {
	// preview is nil when the server does not say.
	preview *orchestration.Preview
	// silent is why it does not, and cause what it answered.
	silent string
	cause  error
}

// ask asks the server what the upgrade would do. The error is that of the client.
func ask(ctx context.Context, c *console.Console, kind orchestration.Type, p orchestration.Parameters, page orchestration.ListParameters) (orchestration.Preview, error) {
	api := c.Orchestrations(ctx)
	return console.Call(c, func() (orchestration.Preview, error) {
		if kind == orchestration.UpgradeKymaOrchestration {
			return api.PreviewKyma(p, page)
		}
		return api.PreviewCluster(p, page)
	})
}

// foresee asks for what a summary tells. A server that cannot say it may carry the upgrade out nevertheless; what it refuses is an error.
func foresee(ctx context.Context, c *console.Console, kind orchestration.Type, p orchestration.Parameters) (foresight, error) {
	preview, err := ask(ctx, c, kind, p, orchestration.ListParameters{Page: 1, PageSize: maxNamed})
	if err == nil {
		return foresight{preview: &preview}, nil
	}
	answer, ok := errors.AsType[*orchestration.Error](err)
	switch {
	case ok && unknownRoute(answer):
		return foresight{silent: "this server cannot tell which runtimes these are", cause: &console.ExitError{Code: console.ExitFailed, Err: tooOld(err)}}, nil
	case ok && console.ExitCode(err) != console.ExitRefused:
		return foresight{silent: "the server cannot tell now which runtimes these are: " + cmp.Or(answer.Reason, http.StatusText(answer.Status)), cause: err}, nil
	default:
		return foresight{}, err
	}
}

// tooOld is the error of a server without previews.
func tooOld(answer error) error {
	return fmt.Errorf("this server has no previews; it may be older than the program: %w", answer)
}

// unknownRoute reports whether a server is too old for previews.
func unknownRoute(answer *orchestration.Error) bool {
	return answer.Status == http.StatusNotFound || answer.Status == http.StatusMethodNotAllowed
}

// nothing reports whether it is certain that there is nothing to upgrade. Targets of an upgrade that starts later may come until then.
func (f foresight) nothing() bool {
	return f.preview != nil && f.preview.Runtimes.TotalCount == 0 && f.preview.StartsAt == nil
}

// matched returns an error unless every target matches a runtime, and at least one is selected.
func (f foresight) matched() error {
	if f.preview == nil {
		return fmt.Errorf("--%s cannot be kept, nothing was started: %w", matchFlag, f.cause)
	}
	var problem error
	if none := unmatched(f.preview); len(none) > 0 {
		problem = fmt.Errorf("--%s: no runtime matches %s", matchFlag, console.Clean(selector.FormatList(none)))
	} else if f.preview.Runtimes.TotalCount == 0 {
		problem = fmt.Errorf("--%s: the targets select no runtime", matchFlag)
	}
	if problem == nil {
		return nil
	}
	return &console.ExitError{Code: console.ExitFailed, Err: fmt.Errorf("%w; nothing was started", problem)}
}

// add adds to a summary which runtimes are meant.
func (f foresight) add(c *console.Console, d *display.Details) {
	if f.preview == nil {
		d.Add("Selected", f.silent)
		return
	}
	p := f.preview
	d.Add("Selected", selected(p))
	if p.LeftOut.TotalCount > 0 {
		d.Add("Left out", reasons(p))
	}
	if none := unmatched(p); len(none) > 0 {
		d.Add("No match", selector.FormatList(none))
	}
	if p.Skipped > 0 {
		d.Add("Skipped", display.Count(p.Skipped, "runtime")+" without a maintenance window that can be used")
	}
	if p.FirstWindowBegin != nil && p.LastWindowBegin != nil {
		d.Add("Windows", windows(display.Clock{Now: c.Clock()}, p))
	}
}

// selected says how many runtimes are selected, and names some.
func selected(p *orchestration.Preview) string {
	total := p.Runtimes.TotalCount
	text := "no runtime"
	if total > 0 {
		text = display.Count(total, "runtime") + ": " + names(p.Runtimes.Data, total)
	}
	if p.StartsAt != nil {
		text += "; this is how it is now, the targets are looked up when the upgrade starts"
	}
	return text
}

func names(rows []orchestration.PreviewRuntime, total int) string {
	some := make([]string, 0, maxNamed)
	for _, r := range rows[:min(len(rows), maxNamed)] {
		some = append(some, display.Text(r.ShootName))
	}
	text := strings.Join(some, ", ")
	if more := total - len(some); more > 0 {
		text += " and " + display.Number(more) + " more"
	}
	return text
}

// reasons says how much is left out, and counts it by reason, the most frequent first.
func reasons(p *orchestration.Preview) string {
	words := make([]orchestration.LeftOutReason, 0, len(p.LeftOutReasons))
	for word := range p.LeftOutReasons {
		words = append(words, word)
	}
	slices.SortFunc(words, func(a, b orchestration.LeftOutReason) int {
		return cmp.Or(cmp.Compare(p.LeftOutReasons[b], p.LeftOutReasons[a]), cmp.Compare(a, b))
	})
	var parts []string
	rest := p.LeftOut.TotalCount
	for _, word := range words[:min(len(words), maxReasons)] {
		rest -= p.LeftOutReasons[word]
		parts = append(parts, display.Number(p.LeftOutReasons[word])+" "+strings.ReplaceAll(string(word), "_", " "))
	}
	if rest > 0 {
		parts = append(parts, display.Number(rest)+" for other reasons")
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return display.Number(p.LeftOut.TotalCount) + ": " + strings.Join(parts, ", ")
}

// unmatched returns the targets that match no Shoot at all.
func unmatched(p *orchestration.Preview) []orchestration.RuntimeTarget {
	var none []orchestration.RuntimeTarget
	for _, i := range p.Unmatched {
		if i >= 0 && i < len(p.Parameters.Targets.Include) {
			none = append(none, p.Parameters.Targets.Include[i])
		}
	}
	return none
}

// windows says when the first and the last window begin.
func windows(clock display.Clock, p *orchestration.Preview) string {
	first, last := *p.FirstWindowBegin, *p.LastWindowBegin
	tell := func(what string) string { return what + " began " + clock.Both(first) + " and is open" }
	if first.After(p.At) {
		tell = func(what string) string { return what + " begins " + clock.Both(first) }
	}
	switch {
	case first.Equal(last):
		return tell("each")
	case last.After(p.At):
		return tell("the first") + ", the last begins " + clock.Both(last)
	default:
		return tell("the first") + ", the last began " + clock.Both(last)
	}
}

// show shows the whole preview and starts nothing.
func (o *options) show(ctx context.Context, c *console.Console, kind orchestration.Type, p orchestration.Parameters) error {
	preview, err := ask(ctx, c, kind, p, orchestration.ListParameters{})
	if answer, ok := errors.AsType[*orchestration.Error](err); ok && unknownRoute(answer) {
		return tooOld(err)
	}
	if err != nil {
		return err
	}
	known := foresight{preview: &preview}
	switch {
	case o.output == console.JSON:
		err = c.PrintJSON(preview)
	case c.IsTerminal():
		summary(c, caller.Where(c), kind, p, &known)
		c.Printf("\n")
		err = list(c, &preview)
	default:
		err = list(c, &preview)
	}
	if err == nil && o.requireMatch {
		err = known.matched()
	}
	return err
}

// What becomes of a runtime, in words that programs may rely on.
const (
	willUpgrade  = "upgrade"
	willSkip     = "skip"
	willLeaveOut = "leave out"
)

// hasAlready reports whether a cluster has the version that is asked for, where nothing but a version is. What Kyma is asked for may be a channel, which
// says nothing of the version.
func hasAlready(p *orchestration.Preview, r *orchestration.PreviewRuntime) bool {
	wanted := p.Parameters.Version
	if k := p.Parameters.Kubernetes; k != nil {
		if k.MachineImage != "" || k.MachineImageVersion != "" {
			return false
		}
		wanted = cmp.Or(wanted, k.KubernetesVersion)
	}
	return p.Type == orchestration.UpgradeClusterOrchestration && wanted != "" && r.KubernetesVersion == wanted
}

// list writes a line for each runtime: those that are upgraded, in their order, those that are skipped, and those that are left out.
func list(c *console.Console, p *orchestration.Preview) error {
	clock := display.Clock{Now: c.Clock(), Machine: !c.IsTerminal()}
	table := display.NewTable(c,
		display.Column{Title: "SHOOT"}, display.Column{Title: "WHAT"}, display.Column{Title: "WINDOW", Drop: 2}, display.Column{Title: "HAS", Drop: 3},
		display.Column{Title: "PLAN", Drop: 4}, display.Column{Title: "REGION", Drop: 5}, display.Column{Title: "ACCOUNT", Drop: 6},
		display.Column{Title: "SUB-ACCOUNT", Drop: 7}, display.Column{Title: "RUNTIME ID", Drop: 8}, display.Column{Title: "INSTANCE ID", Drop: 9},
		display.Column{Title: "NOTE", Wrap: 20})
	for i := range p.Runtimes.Data {
		r := &p.Runtimes.Data[i]
		what, note := willUpgrade, r.Skipped
		switch {
		case r.Skipped != "":
			what = willSkip
		case r.BusyWith != "":
			note = "waits for orchestration " + r.BusyWith + ", which is changing it"
		case hasAlready(p, r):
			note = "has it already"
		}
		window := display.Dash
		if r.MaintenanceWindowBegin != nil && r.MaintenanceWindowEnd != nil {
			window = clock.Window(*r.MaintenanceWindowBegin, *r.MaintenanceWindowEnd)
		}
		version := r.KubernetesVersion
		if p.Type == orchestration.UpgradeKymaOrchestration {
			version = r.KymaVersion
		}
		table.Row(r.ShootName, what, window, version, r.ServicePlanName, r.Region, r.GlobalAccountID, r.SubAccountID, r.RuntimeID, r.InstanceID, note)
	}
	for _, l := range p.LeftOut.Data {
		table.Row(l.ShootName, willLeaveOut, "", "", "", "", "", "", l.RuntimeID, l.InstanceID, cmp.Or(l.Description, strings.ReplaceAll(string(l.Reason), "_", " ")))
	}
	return table.Print()
}
