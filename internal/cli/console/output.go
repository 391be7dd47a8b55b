package console

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Format is the form of a command's output.
type Format string

// The forms of output.
const (
	// Table is for people: columns on a terminal, fields separated by tabs in a pipe.
	Table Format = "table"
	// JSON is for programs.
	JSON Format = "json"
)

// String implements pflag.Value.
func (f *Format) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *Format) Set(text string) error {
	switch format := Format(text); format {
	case Table, JSON:
		*f = format
		return nil
	default:
		return fmt.Errorf("%q is no form of output; known are table and json", text)
	}
}

// Type implements pflag.Value.
func (f *Format) Type() string { return "format" }

// OutputFlag adds --output to a command.
func OutputFlag(cmd *cobra.Command, f *Format) {
	*f = Table
	cmd.Flags().VarP(f, "output", "o", "`FORMAT` of the output: table or json")
	// The completion of a flag that was just added cannot fail.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{string(Table), string(JSON)}, cobra.ShellCompDirectiveNoFileComp))
}

// PrintJSON writes a value as indented JSON. Unlike in HTML, < and > stay as they are.
func (c *Console) PrintJSON(value any) error {
	return WriteJSON(c.Out, value)
}

// WriteJSON writes a value as indented JSON to w.
func WriteJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
