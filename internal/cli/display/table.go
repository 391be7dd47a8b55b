package display

import (
	"bufio"
	"fmt"
	"slices"
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
	// Wrap makes the last column one whose cells are never cut: they are broken into lines of at least that many columns, and where there is no room
	// for that they stand below their row. 0 means that they are not.
	Wrap int
	// Last sets the column last on a terminal, where long texts are read best. In a pipe it keeps its place.
	Last bool
	// Brief is the number of characters to which a narrow terminal may shorten IDs that commands accept shortened, before it leaves anything out; more
	// where that is needed to tell them apart. 0 means that they stay whole.
	Brief int
}

// gap stands between two columns.
const gap = "  "

// Table collects rows. On a terminal it is fitted to the width and has a heading; in a pipe the cells are whole and separated by tabs.
type Table struct {
	console *console.Console
	columns []Column
	// places says where each cell of a row stands.
	places []int
	rows   [][]string
	// brief holds the rows whose wrapped cell is cut instead.
	brief map[int]bool
	wide  bool
}

// endless is a width that no table reaches.
const endless = 1 << 20

// NewTable returns an empty table.
func NewTable(c *console.Console, columns ...Column) *Table {
	t := &Table{console: c, columns: make([]Column, 0, len(columns)), places: make([]int, len(columns)), brief: map[int]bool{}}
	for _, last := range []bool{false, true} {
		for i, column := range columns {
			if (column.Last && c.IsTerminal()) == last {
				t.places[i] = len(t.columns)
				t.columns = append(t.columns, column)
			}
		}
	}
	return t
}

// Row adds a row. The cells are cleaned, and empty ones become a dash.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(t.columns))
	for i, place := range t.places {
		row[place] = Dash
		if i < len(cells) {
			row[place] = Text(cells[i])
		}
	}
	t.rows = append(t.rows, row)
}

// Brief adds a row of one line: the cell of a column that is wrapped is cut where it would need more.
func (t *Table) Brief(cells ...string) {
	t.brief[len(t.rows)] = true
	t.Row(cells...)
}

// Wide lets the table be as wide as it is, whatever the width of the terminal.
func (t *Table) Wide() { t.wide = true }

// width is how wide the table may be.
func (t *Table) width() int {
	if t.wide {
		return endless
	}
	columns, _ := t.console.Size()
	return columns
}

// Continue adds a row that belongs to the one before: on a terminal its first cells are not repeated.
func (t *Table) Continue(repeated int, cells ...string) {
	t.Row(cells...)
	if t.console.IsTerminal() {
		row := t.rows[len(t.rows)-1]
		for _, place := range t.places[:min(repeated, len(row))] {
			row[place] = ""
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
	for _, line := range t.lines(t.width()) {
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

// Layout lays the table out for the terminal, set in by some columns. It returns the heading and the lines of each row, for callers that write
// something else between the rows.
func (t *Table) Layout(indent int) (heading string, rows [][]string) {
	width := t.width()
	blocks := t.blocks(max(1, width-indent))
	for _, block := range blocks {
		for i := range block {
			block[i] = Cut(strings.Repeat(" ", indent)+block[i], width)
		}
	}
	return blocks[0][0], blocks[1:]
}

// lines lays the table out in a number of columns of the terminal.
func (t *Table) lines(width int) []string { return slices.Concat(t.blocks(width)...) }

// blocks returns the heading and the lines of each row.
func (t *Table) blocks(width int) [][]string {
	t.abridge(width)
	widths := t.fit(width)
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.Title
	}
	blocks := make([][]string, 0, len(t.rows)+1)
	blocks = append(blocks, []string{t.line(titles, widths, width)})
	for i, row := range t.rows {
		blocks = append(blocks, t.block(row, widths, width, t.brief[i]))
	}
	return blocks
}

// block returns the lines of a row: one, and more where its last cell is wrapped.
func (t *Table) block(row []string, widths []int, width int, brief bool) []string {
	last := len(row) - 1
	switch {
	case t.columns[last].Wrap == 0, brief && widths[last] > 0:
		return []string{t.line(row, widths, width)}
	case widths[last] == 0:
		lines := []string{t.line(row, widths, width)}
		if row[last] == Dash || row[last] == "" {
			return lines
		}
		pieces := broken(row[last], max(1, width-below))
		if brief && len(pieces) > 1 {
			pieces = []string{Cut(row[last], max(1, width-below))}
		}
		for _, text := range pieces {
			lines = append(lines, Cut(strings.Repeat(" ", below)+text, width))
		}
		return lines
	}
	var lines []string
	cells := slices.Clone(row)
	for _, text := range broken(row[last], widths[last]) {
		cells[last] = text
		lines = append(lines, t.line(cells, widths, width))
		for i := range last {
			cells[i] = ""
		}
	}
	return lines
}

// below is how far a cell that stands below its row is set in.
const below = 4

// line returns one line of the table.
func (t *Table) line(cells []string, widths []int, width int) string {
	var parts []string
	for i, cell := range cells {
		if widths[i] > 0 {
			parts = append(parts, Pad(Cut(cell, widths[i]), widths[i], t.columns[i].Right))
		}
	}
	return Cut(strings.TrimRight(strings.Join(parts, gap), " "), width)
}

// broken breaks a text into lines of a number of columns, at least one; words that are longer are broken too.
func broken(text string, columns int) []string {
	var lines []string
	for line := range strings.SplitSeq(Wrap(text, columns), "\n") {
		lines = append(lines, console.Pieces(line, columns)...)
	}
	return lines
}

// abridge shortens IDs on a terminal that is too narrow for all of the table.
func (t *Table) abridge(width int) {
	for i, c := range t.columns {
		if c.Brief == 0 || total(t.least()) <= width {
			continue
		}
		length := distinct(t.rows, i, c.Brief)
		for _, row := range t.rows {
			row[i] = beginning(row[i], length)
		}
	}
}

// distinct returns how many characters, at least some, tell the different cells of a column apart.
func distinct(rows [][]string, column, least int) int {
	for length := least; ; length++ {
		longest, whole := 0, map[string]string{}
		apart := true
		for _, row := range rows {
			cell := row[column]
			longest = max(longest, len([]rune(cell)))
			short := beginning(cell, length)
			if other, met := whole[short]; met && other != cell {
				apart = false
			}
			whole[short] = cell
		}
		if apart || length >= longest {
			return length
		}
	}
}

// beginning returns the first characters of a text.
func beginning(text string, length int) string {
	runes := []rune(text)
	return string(runes[:min(length, len(runes))])
}

// fit returns how wide each column is; 0 for one that is left out, and for one whose cells stand below their rows.
func (t *Table) fit(width int) []int {
	natural := t.natural()
	last := len(natural) - 1
	if t.columns[last].Wrap == 0 {
		widths, _ := t.squeeze(natural, width)
		return widths
	}
	narrow := t.least()
	if widths, ok := t.squeeze(narrow, width); ok {
		widths[last] = min(natural[last], widths[last]+width-total(widths))
		return widths
	}
	narrow[last] = 0
	widths, _ := t.squeeze(narrow, width)
	return widths
}

// natural returns how wide each column would be with all the room it wants.
func (t *Table) natural() []int {
	natural := make([]int, len(t.columns))
	for i, c := range t.columns {
		natural[i] = Width(c.Title)
		for _, row := range t.rows {
			natural[i] = max(natural[i], Width(row[i]))
		}
	}
	return natural
}

// least is natural with no more room for the cells that are wrapped than they need.
func (t *Table) least() []int {
	least := t.natural()
	last := len(least) - 1
	if wrap := t.columns[last].Wrap; wrap > 0 {
		least[last] = min(least[last], max(wrap, Width(t.columns[last].Title)))
	}
	return least
}

// squeeze leaves out and shrinks columns until they fit, and reports whether they do.
func (t *Table) squeeze(natural []int, width int) (widths []int, ok bool) {
	widths = slices.Clone(natural)
	for {
		over := total(widths) - width
		if over <= 0 {
			return widths, true
		}
		if !t.drop(widths) && !t.shrink(widths, over) {
			return widths, false
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
