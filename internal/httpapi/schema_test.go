package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// apiDocument is the OpenAPI document as far as answers are held against it.
type apiDocument struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct {
				Schema map[string]any `json:"schema"`
			} `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]map[string]any `json:"schemas"`
	} `json:"components"`
}

func readDocument(t *testing.T, f *fixture) apiDocument {
	t.Helper()
	var document apiDocument
	require.NoError(t, json.Unmarshal([]byte(f.get("/openapi.json").text), &document))
	return document
}

// conforms checks an answer against the schema that the document has for it.
func (d apiDocument) conforms(t *testing.T, pattern, method string, r reply) {
	t.Helper()
	media, _, _ := strings.Cut(r.header.Get("Content-Type"), ";")
	content, ok := d.Paths[pattern][strings.ToLower(method)].Responses[strconv.Itoa(r.status)].Content[media]
	require.True(t, ok, "%s %s: the document has no %s of status %d", method, pattern, media, r.status)
	if content.Schema == nil {
		return
	}
	var value any
	require.NoError(t, json.Unmarshal([]byte(r.text), &value))
	require.NoError(t, d.check(content.Schema, value, "answer"))
}

// check holds a value against the few keywords of JSON Schema that the document uses. A key that the schema does not name is a fault too.
func (d apiDocument) check(schema map[string]any, value any, path string) error {
	for keyword := range schema {
		if !slices.Contains([]string{
			"$ref", "type", "format", "description", "enum", "items", "properties", "required", "additionalProperties", "anyOf",
		}, keyword) {
			return fmt.Errorf("%s: this test does not know the keyword %s", path, keyword)
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		return d.check(d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")], value, path)
	}
	if words, ok := schema["enum"].([]any); ok && !slices.Contains(words, value) {
		return fmt.Errorf("%s: %v is none of %v", path, value, words)
	}
	wrong := fmt.Errorf("%s: %v is no %v", path, value, schema["type"])
	switch schema["type"] {
	case "string":
		if _, ok := value.(string); !ok {
			return wrong
		}
	case "integer":
		if n, ok := value.(float64); !ok || n != float64(int64(n)) {
			return wrong
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			return wrong
		}
	case "array":
		list, ok := value.([]any)
		if !ok {
			return wrong
		}
		for i, item := range list {
			if err := d.check(schema["items"].(map[string]any), item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case "object":
		object, ok := value.(map[string]any)
		if !ok {
			return wrong
		}
		return d.checkObject(schema, object, path)
	default:
		return wrong
	}
	return nil
}

func (d apiDocument) checkObject(schema, object map[string]any, path string) error {
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := object[name.(string)]; !ok {
			return fmt.Errorf("%s.%v is missing", path, name)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	more, _ := schema["additionalProperties"].(map[string]any)
	for name, value := range object {
		property, ok := properties[name].(map[string]any)
		if !ok {
			property = more
		}
		if property == nil {
			return fmt.Errorf("%s.%s is not in the schema", path, name)
		}
		if err := d.check(property, value, path+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// A check that finds nothing would make every answer conform.
func TestTheSchemaCheckFindsFaults(t *testing.T) {
	t.Parallel()
	var d apiDocument
	var schema map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"string","enum":["x"]}}}}`), &schema))
	for text, fine := range map[string]bool{
		`{"a":1}`: true, `{"a":1,"b":["x"]}`: true, `{}`: false, `{"a":1.5}`: false, `{"a":"1"}`: false, `{"a":null}`: false, `{"a":1,"c":1}`: false,
		`{"a":1,"b":null}`: false, `{"a":1,"b":["y"]}`: false, `[]`: false,
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(text), &value))
		require.Equal(t, fine, d.check(schema, value, "x") == nil, text)
	}
}
