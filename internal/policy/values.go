package policy

import (
	"encoding/json"
	"fmt"
)

// stringOnly is a text. A number is refused: YAML reads 010000 as one, and the zero in front would be lost.
type stringOnly string

// UnmarshalJSON reads a text.
func (s *stringOnly) UnmarshalJSON(raw []byte) error {
	var text string
	if len(raw) == 0 || raw[0] != '"' {
		return fmt.Errorf("%s is not a text; put it in quotes", raw)
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	*s = stringOnly(text)
	return nil
}

// texts is one text or a list of them.
type texts []string

// UnmarshalJSON reads one text or a list.
func (t *texts) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		var list []stringOnly
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, text := range list {
			*t = append(*t, string(text))
		}
		return nil
	}
	var one stringOnly
	if err := json.Unmarshal(raw, &one); err != nil {
		return err
	}
	*t = texts{string(one)}
	return nil
}
