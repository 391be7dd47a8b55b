package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"

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
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	if _, err := w.Write(escape(text.Bytes())); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// escape writes the characters of a JSON document that could steer a terminal as escapes, which mean the same. They stand in strings only.
func escape(document []byte) []byte {
	steers := func(r rune) bool { return r > unicode.MaxASCII && harmful(r) || r == '\u007f' }
	if bytes.IndexFunc(document, steers) < 0 {
		return document
	}
	var escaped bytes.Buffer
	for _, r := range string(document) {
		if steers(r) && r != unicode.ReplacementChar {
			fmt.Fprintf(&escaped, "\\u%04x", r)
		} else {
			escaped.WriteRune(r)
		}
	}
	return escaped.Bytes()
}
