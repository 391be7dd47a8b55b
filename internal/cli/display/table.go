package display

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
)

// Column is a column of a table.
type Column struct {
	// Title is the heading.
	Title string
	// Right sets numbers flush right.
	Right bool
	// Shrink is the number of columns down to which the cells may be cut on a narrow terminal; 0 means that they are never cut.
	Shrink int
	// Drop tells in which order a narrow terminal leaves columns out: the highest number first, before anything is cut; 0 means never.
	Drop int
}

// gap stands between two columns.
const gap = "  "

// Table collects rows. On a terminal it is fitted to the width and has a heading; in a pipe the cells are whole and separated by tabs.
type Table struct {
	console *console.Console
	columns []Column
	rows    [][]string
}

// NewTable returns an empty table.
func NewTable(c *console.Console, columns ...Column) *Table {
	return &Table{console: c, columns: columns}
}

// Row adds a row. The cells are cleaned, and empty ones become a dash.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(t.columns))
	for i := range row {
		row[i] = Dash
		if i < len(cells) {
			row[i] = Text(cells[i])
		}
	}
	t.rows = append(t.rows, row)
}

// Continue adds a row that belongs to the one before: on a terminal its first cells are not repeated.
func (t *Table) Continue(repeated int, cells ...string) {
	t.Row(cells...)
	if t.console.IsTerminal() {
		row := t.rows[len(t.rows)-1]
		for i := range min(repeated, len(row)) {
			row[i] = ""
		}
	}
}

// Print writes the table.
func (t *Table) Print() error {
	w := bufio.NewWriter(t.console.Out)
	if !t.console.IsTerminal() {
		for _, row := range t.rows {
			_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
		}
		return flush(w)
	}
	width, _ := t.console.Size()
	for _, line := range t.lines(width) {
		_, _ = fmt.Fprintln(w, line)
	}
	return flush(w)
}

func flush(w *bufio.Writer) error {
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// lines lays the table out in a number of columns of the terminal.
func (t *Table) lines(width int) []string {
	widths := t.fit(width)
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.Title
	}
	lines := make([]string, 0, len(t.rows)+1)
	for _, row := range append([][]string{titles}, t.rows...) {
		var cells []string
		for i, cell := range row {
			if widths[i] > 0 {
				cells = append(cells, Pad(Cut(cell, widths[i]), widths[i], t.columns[i].Right))
			}
		}
		lines = append(lines, Cut(strings.TrimRight(strings.Join(cells, gap), " "), width))
	}
	return lines
}

// fit returns how wide each column is; 0 for one that is left out.
func (t *Table) fit(width int) []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = Width(c.Title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], Width(row[i]))
		}
	}
	for {
		over := total(widths) - width
		if over <= 0 {
			return widths
		}
		if !t.drop(widths) && !t.shrink(widths, over) {
			return widths
		}
	}
}

func total(widths []int) int {
	sum := -len(gap)
	for _, w := range widths {
		if w > 0 {
			sum += w + len(gap)
		}
	}
	return sum
}

// shrink takes columns from the cell that has the most to spare, as far as needed to make it even with the next.
func (t *Table) shrink(widths []int, over int) bool {
	widest, spare := -1, 0
	for i, c := range t.columns {
		if s := widths[i] - max(c.Shrink, Width(c.Title)); c.Shrink > 0 && widths[i] > 0 && s > spare {
			widest, spare = i, s
		}
	}
	if widest < 0 {
		return false
	}
	widths[widest] -= min(over, max(1, spare/2))
	return true
}

// drop leaves the column out that is missed least.
func (t *Table) drop(widths []int) bool {
	least := -1
	for i, c := range t.columns {
		if c.Drop > 0 && widths[i] > 0 && (least < 0 || c.Drop > t.columns[least].Drop) {
			least = i
		}
	}
	if least < 0 {
		return false
	}
	widths[least] = 0
	return true
}

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
