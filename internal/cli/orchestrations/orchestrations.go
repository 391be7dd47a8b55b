// Package orchestrations lists orchestrations, shows one of them with all that belongs to it, and cancels, retries and watches it.
package orchestrations

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/history"
	"github.com/swell-fleet/swell/internal/cli/progress"
)

// options are the flags of all actions.
type options struct {
	states     []string
	page       int
	pageSize   int
	operations []string
	now        bool
	yes        bool
	wait       bool
	level      history.Level
	follow     bool
	output     console.Format
}

// call is one use of the command.
type call struct {
	options

	ctx     context.Context
	console *console.Console
	id      string
	// operation is the ID of an operation, where one was given.
	operation string
	// changes is true when something is done to the orchestration.
	changes bool
}

// action is what can be done with one orchestration.
type action struct {
	names []string
	// flags are those that it knows besides the output.
	flags []string
	// operation is true when the ID of an operation may follow.
	operation bool
	// changes is true when it does something to the orchestration.
	changes bool
	// before refuses what cannot be meant, ahead of any request; nil when there is nothing to refuse.
	before func(*call) error
	run    func(*call) error
}

// The names of the flags.
const (
	stateFlag     = "state"
	pageFlag      = "page"
	pageSizeFlag  = "page-size"
	operationFlag = "operation"
	nowFlag       = "now"
	yesFlag       = "yes"
	waitFlag      = "wait"
	levelFlag     = "level"
	followFlag    = "follow"
)

// The actions without an ID and without a word after it.
var (
	listAll = action{flags: []string{stateFlag, pageFlag, pageSizeFlag}, before: (*call).checkPage, run: (*call).list}
	showOne = action{run: (*call).show}
)

// actions are the words that may follow the ID.
var actions = []action{
	{names: []string{"operations", "operation", "ops", "op"}, flags: []string{stateFlag, pageFlag, pageSizeFlag, operationFlag}, operation: true, before: (*call).checkOperations, run: (*call).listOperations},
	{names: []string{"events"}, flags: []string{pageFlag, pageSizeFlag, operationFlag, levelFlag, followFlag}, operation: true, before: (*call).checkEvents, run: (*call).listEvents},
	{names: []string{"leftout"}, flags: []string{pageFlag, pageSizeFlag}, before: (*call).checkPage, run: (*call).listLeftOut},
	{names: []string{"watch"}, run: (*call).watch},
	{names: []string{"cancel"}, flags: []string{yesFlag, waitFlag}, changes: true, before: (*call).checkPerson, run: (*call).cancel},
	{names: []string{"retry"}, flags: []string{operationFlag, nowFlag, waitFlag}, changes: true, run: (*call).retry},
}

// NewCommand returns "swell orchestrations".
func NewCommand(c *console.Console) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "orchestrations [ID [ACTION [OPERATION-ID]]]",
		// The words that the predecessor's users have in their fingers.
		Aliases: []string{"orchestration", "o"},
		Short:   "List orchestrations; show, watch, cancel or retry one",
		Long: `List orchestrations; show, watch, cancel or retry one.

  swell orchestrations                 list (--state, --page, --page-size)
  swell orchestrations ID              one of them, with its parameters
  swell orchestrations ID operations   its operations (flags as for list)
  swell orchestrations ID operations OPERATION-ID
                                       one operation, with its configuration
  swell orchestrations ID events [OPERATION-ID]
                                       what happened, and who asked for it
                                       (--level, --page, --follow)
  swell orchestrations ID leftout      what its targets match and it leaves out
  swell orchestrations ID watch        its progress until it has ended
  swell orchestrations ID cancel       start nothing more (--yes, --wait)
  swell orchestrations ID retry        try again what failed or was canceled
                                       (--operation, --now, --wait)

Lists are newest first. IDs may be shortened to their first characters, at least four, as many as tell an orchestration apart from the newest
1,000, and an operation from the newest 10,000 of its orchestration. After a cancel, what is in progress runs to its end.

With --follow, the newest events are shown, then new ones as they come until the orchestration has ended.

The exit code of watch and --wait tells the outcome: 0 succeeded, 1 failed, 3 canceled, 130 when the watching was interrupted (the
orchestration goes on).`,
		Example: `  swell orchestrations --state "in progress"
  swell orchestrations 6f1c9a2e operations --state failed
  swell orchestrations 6f1c9a2e events --level error
  swell orchestrations 6f1c9a2e operations 20b7
  swell orchestrations 6f1c9a2e retry --now --wait`,
		Args: cobra.MaximumNArgs(3),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	console.ListFlag(flags, &o.states, stateFlag, "", "only in this `STATE`: pending, in progress, canceling, canceled, succeeded, failed")
	flags.IntVar(&o.page, pageFlag, 0, "only the page with this `NUMBER`, from 1 on")
	flags.IntVar(&o.pageSize, pageSizeFlag, 0, "how many `ROWS` a page has; alone, of the first page")
	console.ListFlag(flags, &o.operations, operationFlag, "", "`ID` of an operation to retry or show, or whose events are shown; may be repeated for retry")
	flags.BoolVar(&o.now, nowFlag, false, "retry without waiting for the maintenance windows")
	flags.BoolVarP(&o.yes, yesFlag, "y", false, "do not ask before canceling; needed where there is no terminal to ask at")
	flags.BoolVarP(&o.wait, waitFlag, "w", false, "after cancel or retry, show the progress until the orchestration has ended")
	flags.Var(&o.level, levelFlag, "only events of this `LEVEL`: info or error; all is the default")
	// The completion of a flag that was just added cannot fail.
	_ = cmd.RegisterFlagCompletionFunc(levelFlag, cobra.FixedCompletions(history.Levels, cobra.ShellCompDirectiveNoFileComp))
	flags.BoolVarP(&o.follow, followFlag, "f", false, "show new events as they come, until the orchestration has ended")
	console.ListOutputFlag(cmd, &o.output)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		act, one, err := choose(args)
		if err != nil {
			return err
		}
		if err := act.check(cmd.Flags(), args); err != nil {
			return err
		}
		one.ctx, one.console, one.options, one.changes = cmd.Context(), c, *o, act.changes
		if act.before != nil {
			if err := act.before(&one); err != nil {
				return err
			}
		}
		if err := one.completeIDs(); err != nil {
			return err
		}
		return act.run(&one)
	}
	return cmd
}

// choose finds the action that the arguments name.
func choose(args []string) (action, call, error) {
	switch len(args) {
	case 0:
		return listAll, call{}, nil
	case 1:
		return showOne, call{id: args[0]}, checkID(args[0])
	}
	i := slices.IndexFunc(actions, func(a action) bool { return slices.Contains(a.names, args[1]) })
	if i < 0 {
		var words []string
		for _, a := range actions {
			words = append(words, a.names[0])
		}
		return action{}, call{}, console.Usagef("%q is nothing that can be done with an orchestration; known are %s", args[1], strings.Join(words, ", "))
	}
	one := call{id: args[0]}
	if len(args) == 3 {
		if !actions[i].operation {
			return action{}, call{}, console.Usagef("%q is one argument too many for %s", args[2], args[1])
		}
		if one.operation = args[2]; strings.TrimSpace(one.operation) == "" {
			return action{}, call{}, console.Usagef("the ID of the operation is empty")
		}
	}
	return actions[i], one, checkID(args[0])
}

// checkID refuses an ID that names nothing, such as an empty variable of a script.
func checkID(id string) error {
	if strings.TrimSpace(id) == "" {
		return console.Usagef("the ID of the orchestration is empty")
	}
	return nil
}

// check refuses flags that the action would pass over.
func (a action) check(flags *pflag.FlagSet, args []string) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		local := []string{stateFlag, pageFlag, pageSizeFlag, operationFlag, nowFlag, yesFlag, waitFlag, levelFlag, followFlag}
		if err == nil && slices.Contains(local, f.Name) && !slices.Contains(a.flags, f.Name) {
			what := "a list of orchestrations"
			switch len(args) {
			case 0:
			case 1:
				what = "showing one orchestration"
			default:
				what = args[1]
			}
			err = console.Usagef("--%s does not apply to %s", f.Name, what)
		}
	})
	return err
}

// watch shows the progress.
func (c *call) watch() error { return progress.Wait(c.ctx, c.console, c.id, c.output) }
