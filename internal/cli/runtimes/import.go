package runtimes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// newImport returns "swell runtimes import".
func newImport(c *console.Console) *cobra.Command {
	var output console.Format
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Tell the server about runtimes",
		Long: `Tell the server about runtimes.

The file holds the document that GET /runtimes answers with, so the runtimes of one server can be carried to another;
"-" reads it from the standard input. Known runtimes are updated by their instance ID, none is removed, and importing
the same file again changes nothing. Large files are sent in parts.`,
		Example: `  swell runtimes import runtimes.json
  swell --url https://old.example runtimes --state all --ops all -o json |
    swell runtimes import -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImport(cmd.Context(), c, args[0], output)
		},
	}
	console.OutputFlag(cmd, &output)
	return cmd
}

func runImport(ctx context.Context, c *console.Console, file string, output console.Format) error {
	page, err := readPage(c, file)
	if err != nil {
		return err
	}
	result, err := console.Call(c, func() (orchestration.ImportResponse, error) { return c.Orchestrations(ctx).ImportRuntimes(page) })
	if err != nil {
		return err
	}
	if output == console.JSON {
		return c.PrintJSON(result)
	}
	c.Printf("%s imported, %s updated, %s unchanged\n", display.Number(result.Imported), display.Number(result.Updated), display.Number(result.Unchanged))
	return nil
}

// readPage reads a document of runtimes.
func readPage(c *console.Console, file string) (runtime.RuntimesPage, error) {
	input := c.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return runtime.RuntimesPage{}, console.Usagef("read runtimes: %w", err)
		}
		defer func() { _ = f.Close() }()
		if about, err := f.Stat(); err == nil && about.IsDir() {
			return runtime.RuntimesPage{}, console.Usagef("read runtimes: %s is a folder", source(file))
		}
		input = f
	}
	text, err := io.ReadAll(input)
	if err != nil {
		return runtime.RuntimesPage{}, fmt.Errorf("read runtimes from %s: %w", source(file), err)
	}
	page, unknown, err := decodePage(text)
	if err != nil {
		return runtime.RuntimesPage{}, fmt.Errorf("read runtimes from %s: %w", source(file), err)
	}
	if unknown != "" {
		c.Notef("the document has fields that this version does not know, which are left out (%s)", console.Clean(unknown))
	}
	return page, nil
}

// decodePage reads one document. Something else than it, such as an error page or a part of a document, must not pass for no runtimes.
// Brokers of other versions have fields that are not known here; what is said of the first of them is returned.
func decodePage(text []byte) (page runtime.RuntimesPage, unknown string, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return page, "", errors.New("it is empty")
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return page, "", fmt.Errorf("it is no document of runtimes: %w", err)
	}
	if err := checkPage(page); err != nil {
		return page, "", err
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(new(runtime.RuntimesPage)); err != nil {
		unknown = strings.TrimPrefix(err.Error(), "json: ")
	}
	return page, unknown, nil
}

// checkPage refuses documents that are not whole.
func checkPage(page runtime.RuntimesPage) error {
	switch {
	case page.Data == nil:
		return errors.New(`it is no document of runtimes: "data" is missing`)
	case page.Count != len(page.Data) && page.Count != 0:
		return fmt.Errorf("it is not whole: it says %s and holds %d", display.Count(page.Count, "runtime"), len(page.Data))
	case page.TotalCount > len(page.Data):
		return fmt.Errorf("it is one page of several: it holds %d of %d runtimes; list them without --page and --page-size", len(page.Data), page.TotalCount)
	}
	return nil
}
