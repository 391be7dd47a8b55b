// Package selector reads targets as they are written on a command line: "all", or fields such as "account=ga-1,region=^eu-".
package selector

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/swell-fleet/swell/orchestration"
)

// Help explains the form of a target for help texts.
const Help = `A target is "all", or fields that all have to match, separated by commas:

  account=PATTERN  subaccount=PATTERN  region=PATTERN    RE2 patterns
  plan=NAME  shoot=NAME  runtime-id=ID  instance-id=ID   exact values

A pattern may match anywhere in the value; ^ and $ anchor it. Give the flag several times for runtimes that match one or the other. A
comma inside {}, [], () or double quotes belongs to the pattern:

  --target 'account=ga-[0-9]{1,3},region="eu-1,2"'`

// field is one key that a target may have.
type field struct {
	key     string
	pattern bool
	value   func(*orchestration.RuntimeTarget) *string
}

// fields lists the keys in the order in which they are told.
var fields = []field{
	{"account", true, func(t *orchestration.RuntimeTarget) *string { return &t.GlobalAccount }},
	{"subaccount", true, func(t *orchestration.RuntimeTarget) *string { return &t.SubAccount }},
	{"region", true, func(t *orchestration.RuntimeTarget) *string { return &t.Region }},
	{"runtime-id", false, func(t *orchestration.RuntimeTarget) *string { return &t.RuntimeID }},
	{"plan", false, func(t *orchestration.RuntimeTarget) *string { return &t.PlanName }},
	{"shoot", false, func(t *orchestration.RuntimeTarget) *string { return &t.Shoot }},
	{"instance-id", false, func(t *orchestration.RuntimeTarget) *string { return &t.InstanceID }},
}

// Keys lists the keys that a target may have.
func Keys() []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	return keys
}

// Parse reads one target. Nothing of the text is dropped: what is not understood is an error.
func Parse(text string) (orchestration.RuntimeTarget, error) {
	var target orchestration.RuntimeTarget
	rest := strings.TrimSpace(text)
	if rest == "" {
		return target, errors.New(`is empty; write "all" to select every runtime`)
	}
	for {
		after, err := parseField(&target, rest)
		if err != nil {
			return orchestration.RuntimeTarget{}, err
		}
		if after == "" {
			return target, nil
		}
		rest = strings.TrimSpace(after[1:])
		if rest == "" {
			return orchestration.RuntimeTarget{}, errors.New("ends with a comma")
		}
	}
}

// parseField reads the first field of a text and returns what follows it, beginning with its comma.
func parseField(target *orchestration.RuntimeTarget, text string) (string, error) {
	if word, after := cutWord(text); word == orchestration.TargetAll {
		if target.Target != "" {
			return "", errors.New(`says "all" twice`)
		}
		target.Target = orchestration.TargetAll
		return after, nil
	}
	key, value, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(key, ",\"") {
		part, _ := cutWord(text)
		return "", fmt.Errorf("%q is neither \"all\" nor KEY=VALUE with one of the keys %s; %s", part, strings.Join(Keys(), ", "), quoting)
	}
	key = strings.TrimSpace(key)
	i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
	if i < 0 {
		return "", fmt.Errorf("key %q is not known; known are %s; %s", key, strings.Join(Keys(), ", "), quoting)
	}
	f := fields[i]
	value, after, err := cutValue(value, f.pattern)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	place := f.value(target)
	switch {
	case strings.TrimSpace(value) == "":
		return "", fmt.Errorf("%s has no value", key)
	case *place != "" && f.pattern:
		return "", fmt.Errorf("%s is given twice; one pattern can match both as in '%s=%s|%s'", key, key, *place, value)
	case *place != "":
		return "", fmt.Errorf("%s is given twice; use the flag once for each", key)
	}
	*place = value
	return after, nil
}

// quoting is what most likely helps where a comma was not meant to separate.
const quoting = `a comma that belongs to a pattern needs double quotes around the value, as in 'account="a,b"', and one of several values is matched by 'a|b'`

func cutWord(text string) (word, after string) {
	if i := strings.IndexByte(text, ','); i >= 0 {
		return strings.TrimSpace(text[:i]), text[i:]
	}
	return strings.TrimSpace(text), ""
}

// cutValue splits a text after the value that it begins with.
func cutValue(text string, pattern bool) (value, after string, err error) {
	if trimmed := strings.TrimLeft(text, " "); strings.HasPrefix(trimmed, `"`) {
		value, after, ok := cutQuoted(trimmed)
		if !ok {
			return "", "", errors.New(`the closing quote is missing; a quote inside quotes is written twice, as in "a""b"`)
		}
		if after = strings.TrimLeft(after, " "); after != "" && after[0] != ',' {
			return "", "", fmt.Errorf("%q follows the closing quote", after)
		}
		return value, after, nil
	}
	if !pattern {
		value, after = cutWord(text)
		return value, after, nil
	}
	end := endOfPattern(text)
	return strings.TrimSpace(text[:end]), text[end:], nil
}

// cutQuoted splits a text that begins with a quote after the quote that closes it. Two quotes inside stand for one; all else is kept as it is,
// so that the backslashes of a pattern need no care.
func cutQuoted(text string) (value, after string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '"':
			b.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == '"':
			b.WriteByte('"')
			i++
		default:
			return b.String(), text[i+1:], true
		}
	}
	return "", "", false
}

// endOfPattern returns the place of the first comma that is not inside brackets and not escaped, or the length.
func endOfPattern(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// Spec reads the targets of a request and checks them as the server does. The error names the flag and the value.
func Spec(include, exclude []string) (orchestration.TargetSpec, error) {
	var spec orchestration.TargetSpec
	for _, list := range []struct {
		flag  string
		texts []string
		into  *[]orchestration.RuntimeTarget
	}{{IncludeFlag, include, &spec.Include}, {ExcludeFlag, exclude, &spec.Exclude}} {
		for _, text := range list.texts {
			target, err := Parse(text)
			if err != nil {
				return orchestration.TargetSpec{}, fmt.Errorf("--%s %q: %w", list.flag, text, err)
			}
			only := orchestration.TargetSpec{Include: []orchestration.RuntimeTarget{target}}
			if err := only.Validate(); err != nil {
				return orchestration.TargetSpec{}, fmt.Errorf("--%s %q: %w", list.flag, text, err)
			}
			*list.into = append(*list.into, target)
		}
	}
	if len(spec.Include) == 0 {
		return orchestration.TargetSpec{}, fmt.Errorf("--%s is missing; to select every runtime say --%s all", IncludeFlag, IncludeFlag)
	}
	return spec, nil
}

// The names of the flags that hold targets.
const (
	IncludeFlag = "target"
	ExcludeFlag = "target-exclude"
)

// Format writes a target in the form that Parse reads.
func Format(t orchestration.RuntimeTarget) string {
	var parts []string
	if t.Target != "" {
		parts = append(parts, t.Target)
	}
	for _, f := range fields {
		value := *f.value(&t)
		if value == "" {
			continue
		}
		if needsQuotes(value, f.pattern) {
			value = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
		}
		parts = append(parts, f.key+"="+value)
	}
	return strings.Join(parts, ",")
}

// needsQuotes reports whether a value would be read differently without quotes.
func needsQuotes(value string, pattern bool) bool {
	const end = ",all"
	read, after, err := cutValue(value+end, pattern)
	return err != nil || after != end || read != value || strings.HasSuffix(value, `\`)
}

// FormatList writes targets of which one has to match on one line.
func FormatList(list []orchestration.RuntimeTarget) string {
	texts := make([]string, len(list))
	for i, t := range list {
		texts[i] = Format(t)
	}
	return strings.Join(texts, "  or  ")
}
