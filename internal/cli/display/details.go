package display

import (
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
)

// Details are lines of a name and a value, as for a single record.
type Details struct{ rows [][2]string }

// Add adds a line. The value is cleaned, and an empty one becomes a dash.
func (d *Details) Add(name, value string) { d.rows = append(d.rows, [2]string{name, Text(value)}) }

// Print writes the lines: aligned on a terminal, separated by tabs in a pipe.
func (d *Details) Print(c *console.Console) {
	width := 0
	for _, row := range d.rows {
		width = max(width, Width(row[0]))
	}
	columns, _ := c.Size()
	indent := width + 1 + len(gap)
	for _, row := range d.rows {
		if !c.IsTerminal() {
			c.Printf("%s\t%s\n", row[0], row[1])
			continue
		}
		value := Wrap(row[1], max(columns-indent, narrowest))
		c.Printf("%s%s%s\n", Pad(row[0]+":", width+1, false), gap, strings.ReplaceAll(value, "\n", "\n"+strings.Repeat(" ", indent)))
	}
}

// narrowest is the number of columns that a value gets in any case.
const narrowest = 20
