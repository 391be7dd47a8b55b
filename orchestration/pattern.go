package orchestration

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// matcher tells whether a value contains a match of a pattern.
type matcher func(value string) bool

// pattern is a compiled unanchored RE2 expression, or what is wrong with it.
type pattern struct {
	match matcher
	err   error
	// size is the number of instructions that the regexp engine has for it, roughly.
	size int
}

// compilePattern compiles an expression.
//
// Most patterns that people write are a literal, a prefix or a choice of these, which a plain comparison answers in a tenth of the
// time. The others are put to the regexp engine for those values only that hold the longest literal that every match has to hold.
func compilePattern(expression string) pattern {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return pattern{err: err}
	}
	tree = tree.Simplify()
	re, err := regexp.Compile(expression)
	if err != nil {
		return pattern{err: err}
	}
	return pattern{match: cheapest(tree, re.MatchString), size: sizeOf(tree)}
}

// sizeOf counts the runes and the nodes of a tree without counted repetitions.
func sizeOf(tree *syntax.Regexp) int {
	size := 1 + len(tree.Rune)
	for _, sub := range tree.Sub {
		size += sizeOf(sub)
	}
	return size
}

// cheapest returns the cheapest matcher for a tree. engine is the regexp package's.
func cheapest(tree *syntax.Regexp, engine matcher) matcher {
	for tree.Op == syntax.OpCapture {
		tree = tree.Sub[0]
	}
	if tree.Op == syntax.OpAlternate {
		return choice(tree.Sub, engine)
	}
	sequence := sequenceOf(tree)
	if match := sequence.comparison(); match != nil {
		return match
	}
	return sequence.guard(engine)
}

// choice returns a matcher of several branches, which is engine unless comparisons answer them all.
func choice(branches []*syntax.Regexp, engine matcher) matcher {
	matchers := make([]matcher, len(branches))
	for i, branch := range branches {
		if matchers[i] = sequenceOf(branch).comparison(); matchers[i] == nil {
			return engine
		}
	}
	return func(value string) bool {
		return slices.ContainsFunc(matchers, func(match matcher) bool { return match(value) })
	}
}

// sequence is an expression taken apart into the parts that follow each other.
type sequence struct {
	// fromBegin and toEnd tell that a match has to begin where the value does and end where it does.
	fromBegin, toEnd bool
	parts            []part
}

// part is a literal, or something else when it has no text.
type part struct {
	text     string
	optional bool
}

func sequenceOf(tree *syntax.Regexp) sequence {
	nodes := flatten(nil, tree)
	var s sequence
	for len(nodes) > 0 && nodes[0].Op == syntax.OpBeginText {
		s.fromBegin, nodes = true, nodes[1:]
	}
	for len(nodes) > 0 && nodes[len(nodes)-1].Op == syntax.OpEndText {
		s.toEnd, nodes = true, nodes[:len(nodes)-1]
	}
	for _, node := range nodes {
		text, isLiteral := literal(node)
		if last := len(s.parts) - 1; isLiteral && last >= 0 && s.parts[last].text != "" {
			s.parts[last].text += text
			continue
		}
		optional := node.Op == syntax.OpStar || node.Op == syntax.OpQuest
		s.parts = append(s.parts, part{text: text, optional: optional})
	}
	// Where a match may begin or end anywhere, what may be missing there need not be looked for.
	for !s.fromBegin && len(s.parts) > 0 && s.parts[0].optional {
		s.parts = s.parts[1:]
	}
	for !s.toEnd && len(s.parts) > 0 && s.parts[len(s.parts)-1].optional {
		s.parts = s.parts[:len(s.parts)-1]
	}
	return s
}

// flatten lists the nodes that follow each other, without groups around them.
func flatten(nodes []*syntax.Regexp, tree *syntax.Regexp) []*syntax.Regexp {
	switch tree.Op {
	case syntax.OpEmptyMatch:
		return nodes
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range tree.Sub {
			nodes = flatten(nodes, sub)
		}
		return nodes
	}
	return append(nodes, tree)
}

// literal returns the text of a node that stands for itself. The engine takes bytes that are no UTF-8 for U+FFFD, comparison does not,
// so a literal with that character is left to the engine.
func literal(node *syntax.Regexp) (string, bool) {
	if node.Op != syntax.OpLiteral || node.Flags&syntax.FoldCase != 0 || slices.Contains(node.Rune, utf8.RuneError) {
		return "", false
	}
	return string(node.Rune), true
}

// comparison returns the matcher of a sequence that is one literal or nothing, nil for any other.
func (s sequence) comparison() matcher {
	text := ""
	switch {
	case len(s.parts) > 1, len(s.parts) == 1 && s.parts[0].text == "":
		return nil
	case len(s.parts) == 1:
		text = s.parts[0].text
	}
	switch {
	case s.fromBegin && s.toEnd:
		return func(value string) bool { return value == text }
	case s.fromBegin:
		return func(value string) bool { return strings.HasPrefix(value, text) }
	case s.toEnd:
		return func(value string) bool { return strings.HasSuffix(value, text) }
	}
	return func(value string) bool { return strings.Contains(value, text) }
}

// guard returns a matcher that asks the engine only where the longest literal of the sequence is found.
func (s sequence) guard(engine matcher) matcher {
	longest := -1
	for i, part := range s.parts {
		if part.text != "" && (longest < 0 || len(part.text) > len(s.parts[longest].text)) {
			longest = i
		}
	}
	if longest < 0 {
		return engine
	}
	text := s.parts[longest].text
	switch {
	case s.fromBegin && longest == 0:
		return func(value string) bool { return strings.HasPrefix(value, text) && engine(value) }
	case s.toEnd && longest == len(s.parts)-1:
		return func(value string) bool { return strings.HasSuffix(value, text) && engine(value) }
	}
	return func(value string) bool { return strings.Contains(value, text) && engine(value) }
}
