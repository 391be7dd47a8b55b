// Package cli is the command line. Each verb has a package of its own.
package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/swell-fleet/swell/internal/app"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/orchestrations"
	"github.com/swell-fleet/swell/internal/cli/policy"
	"github.com/swell-fleet/swell/internal/cli/runtimes"
	"github.com/swell-fleet/swell/internal/cli/serve"
	"github.com/swell-fleet/swell/internal/cli/taskrun"
	"github.com/swell-fleet/swell/internal/cli/upgrade"
)

// NewRoot returns the program with all its verbs.
func NewRoot(c *console.Console) *cobra.Command {
	var tokenFile string
	root := &cobra.Command{
		Use:   "swell",
		Short: "Upgrade fleets of managed Kyma runtimes",
		Long: `Upgrade fleets of managed Kyma runtimes: which ones, to which version, when, and how many at once.

See also: swell help exit-codes, swell help output, swell help environment, swell help targets.`,
		Example: `  swell upgrade cluster --target 'region=^eu-' --version 1.34.7 --wait
  swell orchestrations
  swell runtimes --state failed`,
		Version:       app.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := noEmptyValues(cmd); err != nil {
				return err
			}
			return settle(c, tokenFile)
		},
	}
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return console.Usagef("%w\nsee '%s --help'", err, cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVar(&c.URL, "url", "", "`URL` of the server [$SWELL_URL] (default "+console.DefaultURL+")")
	flags.StringVar(&tokenFile, "token-file", "", "`FILE` that holds the bearer token; $SWELL_TOKEN holds the token itself")
	root.AddCommand(upgrade.NewCommand(c), orchestrations.NewCommand(c), runtimes.NewCommand(c), taskrun.NewCommand(c), policy.NewCommand(c), serve.NewCommand(c))
	root.AddCommand(topics()...)
	fitHelp(root, c)
	return root
}

// noEmptyValues refuses flags that were given an empty value: mostly a variable of a script that is not set, where leaving the value out would mean
// something else than its author does, such as "at once" or "the newest version". The settings of the server may be empty.
func noEmptyValues(cmd *cobra.Command) error {
	var problems []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && cmd.Name() != "serve" {
			problems = append(problems, fmt.Errorf("--%s: the value is empty; leave the flag out, or give it a value", f.Name))
		}
	})
	if len(problems) == 0 {
		return nil
	}
	return &console.ExitError{Code: console.ExitUsage, Err: errors.Join(problems...)}
}

// settle reads the global flags and variables.
func settle(c *console.Console, tokenFile string) error {
	if c.URL == "" {
		c.URL = c.Getenv("SWELL_URL")
	}
	if c.URL == "" {
		c.URL = console.DefaultURL
	}
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return console.Usagef("the address of the server, %q, does not have the form http://host:port", console.Clean(c.URL))
	}
	c.Token = c.Getenv("SWELL_TOKEN")
	if tokenFile != "" {
		text, err := os.ReadFile(tokenFile)
		if err != nil {
			return console.Usagef("--token-file: %w", err)
		}
		c.Token = strings.TrimSpace(string(text))
	}
	if strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return console.Usagef("the token holds characters that no token has, such as a line break")
	}
	return nil
}

// Run carries the command line out and returns the exit code.
func Run(ctx context.Context, c *console.Console, args []string) int {
	root := NewRoot(c)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return console.ExitOK
	}
	code := console.ExitCode(err)
	if isUsage(err) {
		code = console.ExitUsage
	}
	if exit, ok := errors.AsType[*console.ExitError](err); ok && exit.Err == nil {
		return code
	}
	if _, told := errors.AsType[*console.ExitError](err); code == console.ExitInterrupted && !told {
		c.Notef("swell: interrupted")
		return code
	}
	_, _ = fmt.Fprintln(c.Err, "swell: "+cleanLines(err.Error()))
	if code == console.ExitUnavailable {
		c.Notef("the server is expected at %s; --url or SWELL_URL names another one, 'swell serve' starts one", console.Clean(c.URL))
	}
	return code
}

// isUsage reports whether cobra refused the command line. It has no types for that.
func isUsage(err error) bool {
	text := err.Error()
	for _, prefix := range []string{"unknown command", "accepts ", "requires ", "required flag", "invalid argument"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// cleanLines cleans every line of a message and keeps the lines apart.
func cleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = console.Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}
