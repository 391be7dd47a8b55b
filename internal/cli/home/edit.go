package home

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// yamlIndent is how far what belongs to a key is set in.
const yamlIndent = 2

// edited returns the text of the contexts after a change. Comments and the order of the text before are kept; where that cannot be done the text is
// written anew.
func edited(before []byte, after *Contexts) ([]byte, error) {
	text, err := editedNodes(before, after)
	if err == nil {
		// What is kept of the text before may mean something else now, as an alias does whose anchor is gone.
		if got, err := parseContexts(text); err == nil && reflect.DeepEqual(got, readBack(after)) {
			return text, nil
		}
	}
	return encoded(after)
}

func editedNodes(before []byte, after *Contexts) ([]byte, error) {
	var wanted, document yaml.Node
	if err := wanted.Encode(after); err != nil {
		return nil, fmt.Errorf("encode the contexts: %w", err)
	}
	// Nothing to decode is an error, too: there is nothing but comments then.
	if err := yaml.Unmarshal(before, &document); err != nil {
		return nil, fmt.Errorf("read the text before: %w", err)
	}
	if len(document.Content) == 0 {
		text, err := encoded(after)
		if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
			before = append(slices.Clone(before), '\n')
		}
		return slices.Concat(before, text), err
	}
	merge(document.Content[0], &wanted)
	return encoded(&document)
}

// encoded returns a value as a document.
func encoded(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(yamlIndent)
	if err := errors.Join(encoder.Encode(value), encoder.Close()); err != nil {
		return nil, fmt.Errorf("encode the contexts: %w", err)
	}
	return text.Bytes(), nil
}

// readBack is how contexts look that were written and read.
func readBack(c *Contexts) Contexts {
	text, err := encoded(c)
	if err != nil {
		return *c
	}
	read, err := parseContexts(text)
	if err != nil {
		return *c
	}
	return read
}

// merge makes a node mean what another one does, and leaves as it is what means that already.
func merge(node, wanted *yaml.Node) {
	switch {
	case same(node, wanted):
	case node.Kind == yaml.MappingNode && wanted.Kind == yaml.MappingNode:
		mergeMapping(node, wanted)
	case node.Kind == yaml.SequenceNode && wanted.Kind == yaml.SequenceNode:
		mergeSequence(node, wanted)
	default:
		replaced := *wanted
		replaced.HeadComment, replaced.LineComment, replaced.FootComment = node.HeadComment, node.LineComment, node.FootComment
		*node = replaced
	}
}

// same reports whether two nodes mean the same.
func same(a, b *yaml.Node) bool {
	var left, right any
	return a.Decode(&left) == nil && b.Decode(&right) == nil && reflect.DeepEqual(left, right)
}

// mergeMapping goes through the keys: those that are there are merged, new ones are added, and those that are not wanted taken away. What stands above a key
// that goes belongs to the file as much as to the key, and stays above the next.
func mergeMapping(node, wanted *yaml.Node) {
	kept := make([]*yaml.Node, 0, len(wanted.Content))
	above := ""
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at := keyIndex(wanted, key.Value)
		if at < 0 {
			above = join(above, key.HeadComment)
			continue
		}
		key.HeadComment = join(above, key.HeadComment)
		above = ""
		merge(value, wanted.Content[at+1])
		if value.Kind != yaml.ScalarNode && value.Style&yaml.FlowStyle == 0 && value.LineComment != "" {
			// A value that takes lines of its own now has none of its own beside the key.
			key.LineComment, value.LineComment = join(key.LineComment, value.LineComment), ""
		}
		kept = append(kept, key, value)
	}
	node.FootComment = join(above, node.FootComment)
	for i := 0; i+1 < len(wanted.Content); i += 2 {
		if keyIndex(node, wanted.Content[i].Value) < 0 {
			kept = append(kept, wanted.Content[i], wanted.Content[i+1])
		}
	}
	node.Content = kept
}

// mergeSequence goes through the items by what they are called. An item that goes takes its comments along.
func mergeSequence(node, wanted *yaml.Node) {
	if len(node.Content) == 0 {
		node.Style = wanted.Style
	}
	items := make([]*yaml.Node, 0, len(wanted.Content))
	for _, item := range wanted.Content {
		at := slices.IndexFunc(node.Content, func(old *yaml.Node) bool { return name(old) == name(item) })
		if at >= 0 {
			merge(node.Content[at], item)
			item = node.Content[at]
		}
		items = append(items, item)
	}
	node.Content = items
}

// keyIndex returns the place of a key in a mapping, -1 when it is not there.
func keyIndex(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// name is what an item of a sequence is called: the name of a context, or the item itself.
func name(item *yaml.Node) string {
	if item.Kind == yaml.AliasNode {
		item = item.Alias
	}
	if item.Kind != yaml.MappingNode {
		return item.Value
	}
	if at := keyIndex(item, "name"); at >= 0 {
		return item.Content[at+1].Value
	}
	return ""
}

// join puts comments below each other.
func join(above, below string) string {
	if above == "" || below == "" {
		return above + below
	}
	return above + "\n" + below
}
