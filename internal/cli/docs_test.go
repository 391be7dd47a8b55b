package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli"
	"github.com/swell-fleet/swell/internal/cli/console"
)

// Every command, every flag of an upgrade and every exit code stands in docs/cli.md.
func TestTheDocumentationIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	require.NoError(t, err)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			if child.IsAdditionalHelpTopicCommand() || child.Name() == "help" || child.Parent().Name() == "completion" {
				continue
			}
			require.Contains(t, string(text), child.CommandPath())
			for _, alias := range child.Aliases {
				if alias != child.Name()+"s" {
					require.Contains(t, string(text), "`"+alias+"`")
				}
			}
			require.NotEmpty(t, child.Short)
			walk(child)
		}
	}
	root := cli.NewRoot(&console.Console{})
	root.InitDefaultCompletionCmd()
	walk(root)
	for _, code := range []int{
		console.ExitOK, console.ExitFailed, console.ExitUsage, console.ExitCanceled, console.ExitUnavailable, console.ExitRefused, console.ExitInterrupted,
	} {
		require.Contains(t, string(text), fmt.Sprintf("| %d | ", code))
	}
}

// No line of a text or an example is wider than a usual terminal.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	root := cli.NewRoot(&console.Console{Screen: narrow{}})
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for line := range strings.SplitSeq(cmd.Long+"\n"+cmd.Example, "\n") {
			require.LessOrEqual(t, len(line), 80, "%s: %s", cmd.CommandPath(), line)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(root)
}

// narrow is a terminal of the usual width.
type narrow struct{}

// Size implements console.Screen.
func (narrow) Size() (columns, rows int, ok bool) { return 80, 24, true }
