package orchestration

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
)

// maxTargetProblems is how many faults of a TargetSpec one error tells; the rest is counted only.
const maxTargetProblems = 10

// maxPatternSize bounds the memory of all patterns together, some hundred bytes for each instruction: a short request may hold thousands
// of repetitions like "x{1000}".
const maxPatternSize = 500_000

// maxPatternLength is how many bytes a pattern may have. Lists of some dozens of IDs fit; what is longer belongs into several entries.
const maxPatternLength = 4096

// maxQuotedValue is how many bytes of a refused value an error repeats.
const maxQuotedValue = 200

// TargetProblem is one fault of a TargetSpec.
type TargetProblem struct {
	// Field names the faulty entry or field as in the request, e.g. "targets.include[2].region".
	Field string
	// Value is what stands there; empty when the fault is that nothing does.
	Value string
	// Reason says what is wrong with it.
	Reason string
}

// String names the field, the value (quoted and cut to 200 bytes) and the reason.
func (p TargetProblem) String() string {
	if p.Value == "" {
		return p.Field + ": " + p.Reason
	}
	value := p.Value
	if len(value) > maxQuotedValue {
		value = strings.ToValidUTF8(value[:maxQuotedValue], "") + "…"
	}
	return p.Field + ": " + strconv.Quote(value) + ": " + p.Reason
}

// TargetsError says what is wrong with a TargetSpec. It is what Validate, Resolve and Preview return for targets that must not be
// used; reach it with errors.As.
type TargetsError struct {
	// Problems holds every fault, in the order of the entries. It is never empty.
	Problems []TargetProblem
}

// Error tells the first ten faults and how many more there are.
func (e *TargetsError) Error() string {
	var text strings.Builder
	for i, problem := range e.Problems {
		if i == maxTargetProblems {
			fmt.Fprintf(&text, "; and %d more", len(e.Problems)-i)
			break
		}
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(problem.String())
	}
	return text.String()
}

// Validate checks everything about a TargetSpec that can be checked without knowing the fleet. It returns nil or a *TargetsError that
// names every faulty entry.
//
// Faults are: no include entry; an entry of either list without any field; a Target other than "all"; a field that consists of white
// space; a pattern that is not a valid RE2 expression or has more than 4,096 bytes; patterns that are too large together. None of them is read as "all" or passed over, so that a typing mistake never
// makes a selection wider or narrower than it was meant.
func (t TargetSpec) Validate() error {
	_, err := compileTargets(t)
	return err
}

// targetFields lists the fields of a RuntimeTarget with their names in JSON.
func targetFields(t *RuntimeTarget) [8]struct{ name, value string } {
	return [8]struct{ name, value string }{
		{"target", t.Target},
		{"globalAccount", t.GlobalAccount},
		{"subAccount", t.SubAccount},
		{"region", t.Region},
		{"runtimeID", t.RuntimeID},
		{"planName", t.PlanName},
		{"shoot", t.Shoot},
		{"instanceID", t.InstanceID},
	}
}

// targetChecker collects the faults of a TargetSpec and compiles each distinct pattern once.
type targetChecker struct {
	problems []TargetProblem
	patterns map[string]pattern
	// size is the sum of the sizes of the patterns.
	size int
}

// compile checks a pattern and returns what is wrong with it, empty when nothing is.
func (c *targetChecker) compile(expression string) string {
	known, ok := c.patterns[expression]
	if !ok {
		if len(expression) > maxPatternLength {
			return fmt.Sprintf("is longer than %d bytes", maxPatternLength)
		}
		if c.size > maxPatternSize {
			return "is one pattern too many: the patterns before it are too large together"
		}
		known = compilePattern(expression)
		c.size += known.size
		c.patterns[expression] = known
	}
	if known.err == nil {
		return ""
	}
	// An error of the regexp package repeats the expression, which stands in the problem anyway.
	var fault *syntax.Error
	if errors.As(known.err, &fault) {
		return "is not a valid pattern: " + fault.Code.String()
	}
	return "is not a valid pattern: " + known.err.Error()
}

// check adds the faults of one entry.
func (c *targetChecker) check(path string, target *RuntimeTarget) {
	empty := true
	for _, field := range targetFields(target) {
		if field.value == "" {
			continue
		}
		empty = false
		name := path + "." + field.name
		if strings.TrimSpace(field.value) == "" {
			c.add(name, field.value, "is blank")
			continue
		}
		switch field.name {
		case "target":
			if field.value != TargetAll {
				c.add(name, field.value, `is not a known target; the only one is "`+TargetAll+`"`)
			}
		case "globalAccount", "subAccount", "region":
			if fault := c.compile(field.value); fault != "" {
				c.add(name, field.value, fault)
			}
		}
	}
	if empty {
		c.add(path, "", `selects by nothing; give at least one field, or "target": "`+TargetAll+`"`)
	}
}

func (c *targetChecker) add(field, value, reason string) {
	c.problems = append(c.problems, TargetProblem{Field: field, Value: value, Reason: reason})
}

// checkAll checks a whole TargetSpec. The matchers of its patterns are in c.patterns afterwards.
func (c *targetChecker) checkAll(targets TargetSpec) error {
	if len(targets.Include) == 0 {
		c.add("targets.include", "", `is empty; to select every runtime give an entry with "target": "`+TargetAll+`"`)
	}
	for i := range targets.Include {
		c.check("targets.include["+strconv.Itoa(i)+"]", &targets.Include[i])
	}
	for i := range targets.Exclude {
		c.check("targets.exclude["+strconv.Itoa(i)+"]", &targets.Exclude[i])
	}
	if len(c.problems) > 0 {
		return &TargetsError{Problems: c.problems}
	}
	return nil
}
