package console

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// list is a flag that holds values separated by commas and may be repeated. A blank value is refused: most often it is a variable of a script
// that is not set, and dropping it would widen what the command is about.
type list struct{ values *[]string }

// ListFlag adds such a flag.
func ListFlag(flags *pflag.FlagSet, into *[]string, name, shorthand, usage string) {
	flags.VarP(&list{into}, name, shorthand, usage)
}

// Set implements pflag.Value.
func (l *list) Set(text string) error {
	for value := range strings.SplitSeq(text, ",") {
		if value = strings.TrimSpace(value); value == "" {
			return errors.New("it holds an empty value")
		}
		*l.values = append(*l.values, value)
	}
	return nil
}

// String implements pflag.Value.
func (l *list) String() string {
	if l.values == nil {
		return ""
	}
	return strings.Join(*l.values, ",")
}

// Type implements pflag.Value.
func (l *list) Type() string { return "strings" }
