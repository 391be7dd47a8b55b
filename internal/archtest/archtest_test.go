package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the folder of the product's go.mod.
var root = filepath.Join("..", "..")

func TestThePackagesKeepToTheTable(t *testing.T) {
	t.Parallel()
	sources, err := readTree(root)
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	require.Empty(t, check(table, sources), "internal/archtest/table.go says who may import what")
}

func TestContributingShowsTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), layerTable(table), "copy the table from here into CONTRIBUTING.md")
}

// layerTable prints the layers as a Markdown table.
func layerTable(r rules) string {
	var b strings.Builder
	b.WriteString("| layer | packages |\n|---|---|\n")
	for _, l := range r.layers {
		b.WriteString("| " + l.name + " | ")
		for i, p := range l.packages {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("`" + string(p) + "`")
		}
		b.WriteString(" |\n")
	}
	return b.String()
}
