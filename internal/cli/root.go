// Package cli is the command line. Each verb has a package of its own.
package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/swell-fleet/swell/internal/apiclient"
	"github.com/swell-fleet/swell/internal/app"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/contexts"
	"github.com/swell-fleet/swell/internal/cli/login"
	"github.com/swell-fleet/swell/internal/cli/orchestrations"
	"github.com/swell-fleet/swell/internal/cli/policy"
	"github.com/swell-fleet/swell/internal/cli/runtimes"
	"github.com/swell-fleet/swell/internal/cli/serve"
	"github.com/swell-fleet/swell/internal/cli/taskrun"
	"github.com/swell-fleet/swell/internal/cli/tokens"
	"github.com/swell-fleet/swell/internal/cli/upgrade"
	"github.com/swell-fleet/swell/orchestration"
)

// NewRoot returns the program with all its verbs.
func NewRoot(c *console.Console) *cobra.Command {
	var who access
	c.Connect = func(ctx context.Context) error { return who.settle(ctx, c) }
	root := &cobra.Command{
		Use:   "swell",
		Short: "Upgrade fleets of managed Kyma runtimes",
		Long: `Upgrade fleets of managed Kyma runtimes: which ones, to which version, when, and how many at once.

See also: swell help exit-codes, swell help output, swell help environment, swell help targets.`,
		Example: `  swell login --url https://swell.example.com
  swell upgrade cluster --target 'region=^eu-' --version 1.34.7 --wait
  swell orchestrations
  swell runtimes --state failed`,
		Version:       app.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := noEmptyValues(cmd); err != nil {
				return err
			}
			if local(cmd) {
				return nil
			}
			return c.Connect(cmd.Context())
		},
	}
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return console.Usagef("%w\nsee '%s --help'", err, cmd.CommandPath())
	})
	who.addFlags(root, c)
	root.AddCommand(upgrade.NewCommand(c), orchestrations.NewCommand(c), runtimes.NewCommand(c), taskrun.NewCommand(c), policy.NewCommand(c),
		login.NewCommand(c), login.NewLogoutCommand(c), login.NewWhoAmICommand(c), contexts.NewCommand(c), serve.NewCommand(c))
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

// own are the commands that cobra adds: they tell about the program itself.
var own = []string{"help", "completion", cobra.ShellCompRequestCmd}

// local reports whether a command works without a server, and has to even when the contexts are broken.
func local(cmd *cobra.Command) bool {
	for ; cmd != nil; cmd = cmd.Parent() {
		if _, ok := cmd.Annotations[console.Local]; ok || slices.Contains(own, cmd.Name()) {
			return true
		}
	}
	return false
}

// Run carries the command line out and returns the exit code.
func Run(ctx context.Context, c *console.Console, args []string) int {
	c.Guard()
	root := NewRoot(c)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if outputErr := c.OutputError(); err == nil && outputErr != nil {
		err = fmt.Errorf("write the output: %w", outputErr)
	}
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
	c.Complain(err)
	// A command that works without a server meant none.
	if c.URL != "" {
		advise(c, err, code)
	}
	return code
}

// advise says what a user can do about an error of a request to the server.
func advise(c *console.Console, err error, code int) {
	if _, elsewhere := errors.AsType[*tokens.ProviderError](err); code == console.ExitUnavailable && !elsewhere && trust(err) == "" {
		c.Notef("the server is expected at %s; --url or SWELL_URL names another one, 'swell serve' starts one", console.Clean(c.URL))
	}
	if hint := trust(err); hint != "" {
		c.Notef("%s", hint)
	}
	if refused, ok := errors.AsType[*orchestration.Error](err); ok {
		switch {
		case refused.Status == http.StatusUnauthorized:
			c.Notef("%s", unknown(c))
		case console.Redirected(refused.Status):
			c.Notef("the answer came from %s; if the server is where that points, give that address with --url", console.Clean(c.URL))
		}
	}
}

// trust says what to do when one of the two sides does not trust the certificate of the other.
func trust(err error) string {
	if apiclient.Distrusted(err) {
		return "the server asks for a client certificate, or does not accept this one; 'swell context add' takes --client-cert and --client-key"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "this machine does not trust the certificate; 'swell context add' takes --ca-file with the authority that made it"
	}
	return ""
}

// unknown says what to do when the server does not know who asks.
func unknown(c *console.Console) string {
	switch source := c.Source.(type) {
	case tokens.Given:
		return "it was shown the token of " + source.Origin
	case tokens.File:
		return "it was shown the token of " + tokenFileFlag
	default:
		return "log in with '" + c.Command("login") + "', or give a token with " + console.TokenVariable + " or --token-file"
	}
}

// isUsage reports whether cobra refused the command line. It has no types for that.
func isUsage(err error) bool {
	text := err.Error()
	for _, prefix := range []string{"unknown command", "accepts ", "requires ", "required flag", "invalid argument", "if any flags in the group"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}
