package kyma

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/quantity"
)

// judge says how an operation stands, from the Kyma's specification and status.
func (e *Executor) judge(t fleet.Task, k *resource, m memo) fleet.Result {
	channel := wanted(t)
	if k.deleting() {
		r := gone(fmt.Sprintf("the Kyma %s is being deleted", k.Name))
		r.Sent = t.Sent
		return r
	}
	if k.Spec.Channel != channel {
		return unchanged(t, k, m, channel)
	}
	if t.DryRun {
		return fleet.Result{
			Outcome: fleet.Done, Version: channel, KymaConfig: config(k, channel),
			Description: fleet.Line(fmt.Sprintf("dry run: already has the channel %s, in the state %s%s; nothing was changed", channel, k.state(), keeping(k, channel))),
		}
	}
	return e.follow(t, k, m, channel)
}

// unchanged judges a Kyma that has another channel than the wanted one: before our write it has to be written, after it somebody has undone it.
func unchanged(t fleet.Task, k *resource, m memo, channel string) fleet.Result {
	switch {
	case m.Generation != 0:
		r := refused(fmt.Sprintf("the channel of the Kyma was set to %s after it had been changed to %s; "+
			"where the Kyma inside the runtime names a channel, that one counts", k.Spec.Channel, channel))
		r.Sent = t.Sent
		return r
	case k.skipped():
		return refused(fmt.Sprintf("Lifecycle Manager is told to leave the Kyma alone: it has the label %s", skipLabel))
	case k.Status.State == stateUnmanaged:
		return refused("the Kyma is in the state Unmanaged, so Lifecycle Manager would not carry the change out")
	}
	return fleet.Result{
		Outcome: fleet.NeedsStart, Sent: t.Sent, Version: channel, KymaConfig: config(k, channel),
		Description: fleet.Line(fmt.Sprintf("has the channel %s, in the state %s%s", k.Spec.Channel, k.state(), foreign(k))),
	}
}

// follow judges a Kyma that has the wanted channel.
func (e *Executor) follow(t fleet.Task, k *resource, m memo, channel string) fleet.Result {
	s := k.standing(m, channel)
	if s.done {
		return fleet.Result{
			Outcome: fleet.Done, Sent: t.Sent, Version: channel, Stage: "channel_active", KymaConfig: config(k, channel),
			Description: fleet.Line("has the channel " + channel + keeping(k, channel)),
		}
	}
	switch {
	case s.trouble == "":
		m.Trouble, m.Since = "", time.Time{}
	case s.trouble != m.Trouble:
		m.Trouble, m.Since = s.trouble, t.Now
	}
	if lasted := t.Now.Sub(m.Since); s.trouble != "" && lasted >= max(e.patience, 0) && (e.patience < 0 || lasted > 0) {
		text := s.words
		if lasted > 0 {
			text += fmt.Sprintf("; so for %s", lasted.Round(time.Second))
		}
		if m.Before != "" && m.Before != stateReady {
			text += "; it was in the state " + m.Before + " before the change"
		}
		r := refused(text)
		r.Sent, r.Memo = t.Sent, m.raw()
		return r
	}
	return fleet.Result{Outcome: fleet.Again, Sent: t.Sent, Version: channel, Memo: m.raw(), Description: fleet.Line(s.words)}
}

// standing is how a Kyma that has the wanted channel stands. Trouble names what does not end by waiting alone; it may have an end all the same.
type standing struct {
	done    bool
	trouble string
	words   string
}

func (k *resource) standing(m memo, channel string) standing {
	if k.skipped() {
		return standing{words: "waiting: Lifecycle Manager is told to leave the Kyma alone, by the label " + skipLabel}
	}
	switch state := k.Status.State; {
	case state == "":
		return standing{words: "waiting for Lifecycle Manager to begin; the Kyma has no status yet"}
	case state == stateUnmanaged:
		return standing{trouble: state, words: "the Kyma is in the state Unmanaged, so Lifecycle Manager does not work on it"}
	case !k.seen(m):
		return standing{words: fmt.Sprintf("waiting for Lifecycle Manager to take the change up; in the state %s%s", state, foreign(k))}
	case state == stateReady:
		return k.ready(channel)
	case state == stateError:
		return standing{trouble: state, words: "in the state Error, which Lifecycle Manager tries to leave by itself" + k.why(state)}
	case state == stateWarning:
		return standing{trouble: state, words: "in the state Warning, which asks for somebody's help" + k.why(state)}
	case state == stateProcessing:
		_, ready := k.complaints(state)
		return standing{words: fmt.Sprintf("%d of %s %s ready%s", ready, quantity.Of(len(k.Status.Modules), "module"), quantity.Pick(ready, "is", "are"), k.operation())}
	default:
		return standing{words: fmt.Sprintf("in the state %s, which is not known; waiting for Ready%s", state, k.operation())}
	}
}

// ready judges a Kyma whose status says Ready and is newer than the change. Ready on another channel is no success.
func (k *resource) ready(channel string) standing {
	if active := k.Status.ActiveChannel; active != channel {
		return standing{trouble: "channel", words: fmt.Sprintf("ready, but on %s: where the Kyma inside the runtime names a channel, that one counts", orNone("the channel "+active, active))}
	}
	if behind := k.behind(channel); len(behind) > 0 {
		return standing{trouble: "modules", words: fmt.Sprintf("ready, but %s not on the channel %s: %s", quantity.Pick(len(behind), "this module is", "these modules are"), channel, few(behind))}
	}
	return standing{done: true}
}

// seen says whether the status was made from the specification that we wrote, or that stands there when the channel was the wanted one already. The condition
// about the modules names the generation that it was made from. Without one the time of the last operation decides, which has to be
// later than our write by the API server's clock.
func (k *resource) seen(m memo) bool {
	generation := m.Generation
	if generation == 0 {
		generation = k.Generation
	}
	for _, c := range k.Status.Conditions {
		if c.Type == modulesCondition && c.ObservedGeneration > 0 {
			return c.ObservedGeneration >= generation
		}
	}
	after, last := k.writtenAt(), k.Status.LastOperation.LastUpdateTime
	if after.IsZero() {
		after = m.At
	}
	return last != nil && last.After(after)
}

func (k *resource) state() string { return orNone(k.Status.State, k.Status.State) }

// why says what the modules in a state say, or else the last operation.
func (k *resource) why(state string) string {
	if list, _ := k.complaints(state); len(list) > 0 {
		return ": " + few(list)
	}
	return k.operation()
}

func (k *resource) operation() string {
	if text := k.Status.LastOperation.Operation; text != "" {
		return ": " + text
	}
	return ""
}

// foreign says who looks after the Kyma when it is not Lifecycle Manager by name.
func foreign(k *resource) string {
	if by := k.Labels[managedByLabel]; by != "" && by != lifecycleManager {
		return "; it is managed by " + by
	}
	return ""
}

// keeping says which modules do not follow the channel.
func keeping(k *resource, channel string) string {
	if own := k.own(channel); len(own) > 0 {
		return "; these modules keep their own: " + few(own)
	}
	return ""
}

func orNone(text, value string) string {
	if value == "" {
		return "none"
	}
	return text
}

// config describes the Kyma in the Provisioner's words: the channel is the version, and modules are components. A channel or version of a module's own is
// a setting of it.
func config(k *resource, channel string) json.RawMessage {
	input := gqlschema.KymaConfigInput{Version: channel, Components: []*gqlschema.ComponentConfigurationInput{}}
	for _, m := range k.Spec.Modules {
		component := &gqlschema.ComponentConfigurationInput{Component: m.Name}
		for _, setting := range []gqlschema.ConfigEntryInput{{Key: "channel", Value: m.Channel}, {Key: "version", Value: m.Version}} {
			if setting.Value != "" {
				component.Configuration = append(component.Configuration, &setting)
			}
		}
		input.Components = append(input.Components, component)
	}
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err) // the type holds texts and flags only
	}
	return raw
}
