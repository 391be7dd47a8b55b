// Package serve runs the server.
package serve

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/swell-fleet/swell/internal/app"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/config"
)

// NewCommand returns "swell serve".
func NewCommand(c *console.Console) *cobra.Command {
	var file string
	var dump bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server: the REST API and the engine behind it",
		Long: `Run the server: the REST API and the engine that carries upgrades out.

Settings come from a YAML file (--config), from environment variables and from flags; a later source wins.
Without authentication the server listens on a loopback address only.`,
		Example: `  swell serve --gardener-kubeconfig garden.yaml --gardener-namespace garden-kyma
  SWELL_DATABASE_URL=postgres://swell@db/swell swell serve --config swell.yaml`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{console.Local: ""},
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "config", "", "YAML file with settings [$SWELL_CONFIG]")
	flags.BoolVar(&dump, "print-config", false, "print all settings as they are in force, secrets blanked, and end")
	for _, key := range config.Keys() {
		flags.Var(&text{kind: key.Type, value: key.Default}, key.Flag, fmt.Sprintf("%s [$%s]", key.Usage, key.Env))
		if key.Type == "bool" {
			flags.Lookup(key.Flag).NoOptDefVal = "true"
		}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if file == "" {
			file = c.Getenv("SWELL_CONFIG")
		}
		given := map[string]string{}
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if _, ok := f.Value.(*text); ok {
				given[f.Name] = f.Value.String()
			}
		})
		settings, err := config.Load(config.Sources{File: file, Environ: c.Environ, Flags: given})
		if dump {
			// Also settings that cannot be used are shown: that is when they are looked at.
			if err := settings.Dump(c.Out); err != nil {
				return err
			}
		}
		if err != nil {
			return &console.ExitError{Code: console.ExitUsage, Err: fmt.Errorf("the settings cannot be used:\n%w", err)}
		}
		if dump {
			return nil
		}
		err = app.Run(cmd.Context(), settings, c.Err)
		if errors.Is(err, app.ErrStopped) {
			return nil
		}
		return err
	}
	return cmd
}

// text is a setting given as a flag; it is read together with the other sources.
type text struct{ kind, value string }

// String returns the text.
func (t *text) String() string { return t.value }

// Set keeps the text.
func (t *text) Set(s string) error {
	t.value = s
	return nil
}

// Type names the form of the value for the help.
func (t *text) Type() string { return t.kind }
