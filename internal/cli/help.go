package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
)

// The widths between which help texts are fitted to the terminal: longer lines are hard to read.
const (
	narrowestHelp = 60
	widestHelp    = 100
)

// fitHelp breaks the help of all commands to the width of the terminal.
func fitHelp(root *cobra.Command, c *console.Console) {
	columns, _ := c.Size()
	width := min(max(columns, narrowestHelp), widestHelp)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", width)))
	var fit func(*cobra.Command)
	fit = func(cmd *cobra.Command) {
		cmd.Long = display.Wrap(cmd.Long, width)
		for _, child := range cmd.Commands() {
			fit(child)
		}
	}
	fit(root)
}
