package cli

import (
	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/selector"
)

// topics are helps that belong to no command of their own.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{
			Use:   "exit-codes",
			Short: "What the exit codes of the program mean",
			Long: `What the exit codes of the program mean:

  0    all went well; an orchestration that was waited for succeeded
  1    something went wrong; an orchestration that was waited for failed;
       a retry found nothing to retry; an upgrade selects no runtime where a
       person would be asked, or does not keep --require-match
  2    the command line or the settings were not understood; nothing was sent
  3    an orchestration that was waited for was canceled,
       or a question was not answered with yes
  4    the server did not answer, or is not able to at the moment
       (status 429, 502, 503, 504)
  5    the server refused who asked or what was asked (any other status 4xx; of
       several runtimes to be forgotten, at least one), or there is no login
       any more
  130  a signal ended the command; an orchestration that was watched goes on

With cancel --wait, being canceled is the wanted end: exit code 0.`,
		},
		{
			Use:   "output",
			Short: "What commands write, for people and for programs",
			Long: `What commands write, for people and for programs:

On a terminal, tables are fitted to its width, times are local, and what is not set is a dash.
In a pipe, rows are fields separated by tabs without a heading, nothing is cut, and times are RFC 3339 in UTC.
With -o json, the output is the document of the REST API, indented; the progress of --wait goes to the error
stream. Messages for people always go to the error stream.`,
		},
		{
			Use:   "environment",
			Short: "Variables that the program reads",
			Long: `Variables that the program reads:

  SWELL_URL        address of the server
  SWELL_CONTEXT    name of the context that names the server; --url and
                   --context win over both, and they over the current context
  SWELL_TOKEN      bearer token (an OIDC ID token); --token-file wins over it,
                   and it over a login
  SWELL_HOME       folder of contexts and tokens (default: swell in the folder
                   of configuration files, such as ~/.config)
  BROWSER          program that swell login shows the login page with
  SWELL_*          every setting of the server: see swell serve --help
  NO_COLOR         anything but empty: no colors
  TERM=dumb        plain lines instead of a view that is redrawn
  TZ               the zone in which times are shown on a terminal`,
		},
		{
			Use:   "targets",
			Short: "How runtimes are selected",
			Long:  "How runtimes are selected:\n\n" + selector.Help,
		},
	}
}
