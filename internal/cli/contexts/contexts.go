// Package contexts gives servers names: it adds, chooses, lists and removes contexts.
package contexts

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// NewCommand returns "swell context".
func NewCommand(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "context",
		Aliases: []string{"contexts"},
		Short:   "Give servers names, and choose the one that commands talk to",
		Long: `Give servers names, and choose the one that commands talk to.

A context is a server under a name, with the certificates and the login that go with it. Which server a command talks to is said by --url or
--context, else by SWELL_URL or SWELL_CONTEXT, else by the current context, else it is ` + console.DefaultURL + `.`,
		Example: `  swell context add prod --url https://swell.example.com
  swell context use prod
  swell login
  swell --context dev runtimes`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{console.Local: ""},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return console.Usagef("%q is nothing that can be done with contexts; known are add, use, list, remove", args[0])
			}
			return console.Usagef("say what to do: swell context add, use, list or remove")
		},
	}
	cmd.AddCommand(addCommand(c), useCommand(c), listCommand(c), removeCommand(c))
	return cmd
}

func addCommand(c *console.Console) *cobra.Command {
	var one home.Context
	var login home.Login
	cmd := &cobra.Command{
		Use:   "add NAME --url URL",
		Short: "Add a context; the first one becomes the current one",
		Long: `Add a context; the first one becomes the current one.

How to log in need not be said where the server tells it. Files are remembered by their full path.`,
		Example: `  swell context add prod --url https://swell.example.com
  swell context add lab --url https://10.0.0.7:8443 --ca-file lab-ca.pem
  swell context add old --url https://old.example.com \
    --issuer https://login.example.com --client-id swell`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			one.Name = args[0]
			if login.Issuer != "" || login.ClientID != "" || login.Scopes != nil {
				one.Login = &login
			}
			return add(cmd, c, one)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	// It stands for the global flag of the same name, which says where a command goes; here nothing is sent.
	flags.StringVar(&one.URL, "url", "", "`URL` of the server")
	flags.StringVar(&one.CAFile, "ca-file", "", "`FILE` with certificates of authorities that are trusted besides those of the machine")
	flags.StringVar(&one.ClientCert, "client-cert", "", "`FILE` with the certificate that the server asks its clients for")
	flags.StringVar(&one.ClientKey, "client-key", "", "`FILE` with the key of that certificate")
	flags.StringVar(&login.Issuer, "issuer", "", "`URL` of the identity provider (default: what the server says)")
	flags.StringVar(&login.ClientID, "client-id", "", "`ID` of this program at the provider (default: what the server says)")
	console.ListFlag(flags, &login.Scopes, "scopes", "", "`SCOPES` to ask the provider for (default: what the server or the provider says)")
	// A flag that was just added can be marked.
	_ = cmd.MarkFlagRequired("url")
	return cmd
}

func add(cmd *cobra.Command, c *console.Console, one home.Context) error {
	for _, path := range []*string{&one.CAFile, &one.ClientCert, &one.ClientKey} {
		if *path == "" {
			continue
		}
		full, err := filepath.Abs(*path)
		if err != nil {
			return console.Usagef("find %q: %w", *path, err)
		}
		*path = full
	}
	err := one.Check()
	if err == nil {
		// What cannot be used is better found now than by the next command.
		c.Context = one
		err = c.CheckFiles()
	}
	if err != nil {
		return console.Usagef("%w", err)
	}
	current := ""
	err = c.Home.ChangeContexts(cmd.Context(), func(contexts *home.Contexts) error {
		if _, taken := contexts.Find(one.Name); taken {
			return console.Usagef("there is a context %q already; 'swell context remove %s' removes it", one.Name, one.Name)
		}
		contexts.Put(one)
		current = contexts.Current
		return nil
	})
	if err != nil {
		return err
	}
	if current == one.Name {
		c.Printf("Context %s was added and is the current one.\n", one.Name)
	} else {
		c.Printf("Context %s was added. To make it the current one: swell context use %s\n", one.Name, one.Name)
	}
	return nil
}

func useCommand(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:               "use NAME",
		Short:             "Make a context the current one",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			var one home.Context
			err := c.Home.ChangeContexts(cmd.Context(), func(contexts *home.Contexts) (err error) {
				if one, err = contexts.Get(args[0]); err != nil {
					return console.Usagef("%w", err)
				}
				contexts.Current = one.Name
				return nil
			})
			if err != nil {
				return err
			}
			c.Printf("Commands now talk to %s.\n", display.Text(one.URL))
			for _, variable := range []string{console.URLVariable, console.ContextVariable} {
				if c.Getenv(variable) != "" {
					c.Notef("%s is set and wins over it", variable)
				}
			}
			return nil
		},
	}
}

// listed is a context as programs read it.
type listed struct {
	home.Context

	Current bool `json:"current"`
	// LoggedIn is true when tokens of its login are kept that the user logged in to this server with; whether they are still good shows when they are used.
	LoggedIn bool `json:"loggedIn"`
}

func listCommand(c *console.Console) *cobra.Command {
	var output console.Format
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List all contexts",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			contexts, err := c.Home.Contexts()
			if err != nil {
				return err
			}
			rows := make([]listed, len(contexts.List))
			for i, one := range contexts.List {
				rows[i] = listed{Context: one, Current: one.Name == contexts.Current}
				if one.Login != nil {
					kept, ok, err := tokens.Load(c.Home, *one.Login)
					if err != nil {
						return err
					}
					rows[i].LoggedIn = ok && kept.For(one.URL)
				}
			}
			if output == console.JSON {
				return c.PrintJSON(rows)
			}
			return printList(c, rows)
		},
	}
	console.OutputFlag(cmd, &output)
	return cmd
}

func printList(c *console.Console, rows []listed) error {
	if len(rows) == 0 {
		c.Notef("there is no context; 'swell context add NAME --url URL' adds one")
		return nil
	}
	table := display.NewTable(c, display.Column{Title: "CURRENT"}, display.Column{Title: "NAME"}, display.Column{Title: "URL"},
		display.Column{Title: "LOGIN"}, display.Column{Title: "ISSUER", Drop: 1})
	for _, row := range rows {
		current, state, issuer := "", "", ""
		if row.Current {
			current = "*"
		}
		if row.Login != nil {
			state, issuer = "logged out", row.Login.Issuer
		}
		if row.LoggedIn {
			state = "logged in"
		}
		table.Row(current, row.Name, row.URL, state, issuer)
	}
	return table.Print()
}

func removeCommand(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME",
		Aliases:           []string{"rm"},
		Short:             "Remove a context, and log out of its server",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			var gone home.Context
			var rest []home.Context
			current := false
			err := c.Home.ChangeContexts(cmd.Context(), func(contexts *home.Contexts) (err error) {
				if gone, err = contexts.Get(args[0]); err != nil {
					return console.Usagef("%w", err)
				}
				current = contexts.Current == gone.Name
				contexts.Remove(gone.Name)
				rest = contexts.List
				return nil
			})
			if err != nil {
				return err
			}
			c.Printf("Context %s was removed.\n", gone.Name)
			if current && len(rest) > 0 {
				c.Notef("It was the current one; 'swell context use' makes another one current, and until then commands ask for --context or --url.")
			}
			return c.Leave(cmd.Context(), gone, rest)
		},
	}
}

// complete completes the name of a context.
func complete(c *console.Console) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		contexts, err := c.Home.Contexts()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return contexts.Names(), cobra.ShellCompDirectiveNoFileComp
	}
}
