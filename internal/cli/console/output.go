package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
)

// Format is the form of a command's output.
type Format string

// The forms of output.
const (
	// Table is for people: columns on a terminal, fields separated by tabs in a pipe.
	Table Format = "table"
	// Wide is Table with all columns whole, whatever the width of the terminal.
	Wide Format = "wide"
	// JSON is for programs.
	JSON Format = "json"
)

// formatFlag is a flag that holds a form of output.
type formatFlag struct {
	format *Format
	known  []string
}

// String implements pflag.Value.
func (f *formatFlag) String() string {
	if f.format == nil {
		return ""
	}
	return string(*f.format)
}

// Set implements pflag.Value.
func (f *formatFlag) Set(text string) error {
	if !slices.Contains(f.known, text) {
		return fmt.Errorf("%q is no form of output here; known are %s", text, oneOf(f.known, "and"))
	}
	*f.format = Format(text)
	return nil
}

// Type implements pflag.Value.
func (f *formatFlag) Type() string { return "format" }

// oneOf lists words, the last two with a word between them.
func oneOf(words []string, between string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + between + " " + words[last]
}

// OutputFlag adds --output to a command: a table or JSON.
func OutputFlag(cmd *cobra.Command, f *Format) { outputFlag(cmd, f, Table, JSON) }

// ListOutputFlag adds --output to a command that shows lists, which can be wide.
func ListOutputFlag(cmd *cobra.Command, f *Format) { outputFlag(cmd, f, Table, Wide, JSON) }

func outputFlag(cmd *cobra.Command, f *Format, forms ...Format) {
	*f = Table
	known := make([]string, len(forms))
	for i, form := range forms {
		known[i] = string(form)
	}
	cmd.Flags().VarP(&formatFlag{f, known}, "output", "o", "`FORMAT` of the output: "+oneOf(known, "or"))
	// The completion of a flag that was just added cannot fail.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

// PrintJSON writes a value as indented JSON. Unlike in HTML, < and > stay as they are.
func (c *Console) PrintJSON(value any) error {
	return WriteJSON(c.Out, value)
}

// WriteJSON writes a value as indented JSON to w.
func WriteJSON(w io.Writer, value any) error { return writeJSON(w, value, "  ") }

// WriteJSONLine writes a value as JSON on one line to w.
func WriteJSONLine(w io.Writer, value any) error { return writeJSON(w, value, "") }

func writeJSON(w io.Writer, value any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	if _, err := w.Write(EscapeJSON(text.Bytes())); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// EscapeJSON writes the characters of a JSON document that could steer a terminal as escapes, which mean the same. They stand in strings only.
func EscapeJSON(document []byte) []byte {
	steers := func(r rune) bool { return r > unicode.MaxASCII && harmful(r) || r == '\u007f' }
	if bytes.IndexFunc(document, steers) < 0 {
		return document
	}
	var escaped bytes.Buffer
	for _, r := range string(document) {
		if !steers(r) || r == unicode.ReplacementChar {
			escaped.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&escaped, "\\u%04x", unit)
		}
	}
	return escaped.Bytes()
}
