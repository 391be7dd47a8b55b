package policy

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// stringOnly is a text. A number is refused: YAML reads 010000 as one, and whoever writes it without quotes means something else.
type stringOnly string

// UnmarshalYAML reads a text.
func (s *stringOnly) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" {
		return fmt.Errorf("line %d: %q is not a text; put it in quotes", node.Line, node.Value)
	}
	*s = stringOnly(node.Value)
	return nil
}

// texts is one text or a list of them.
type texts []string

// UnmarshalYAML reads one text or a list. Dates need no quotes.
func (t *texts) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	entries := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode {
		entries = node.Content
	}
	*t = texts{}
	for _, entry := range entries {
		if tag := entry.ShortTag(); entry.Kind != yaml.ScalarNode || (tag != "!!str" && tag != "!!timestamp") {
			return fmt.Errorf("line %d: %q is not a text; put it in quotes", entry.Line, entry.Value)
		}
		*t = append(*t, entry.Value)
	}
	return nil
}
