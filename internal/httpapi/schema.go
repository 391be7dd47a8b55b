package httpapi

import (
	"reflect"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// direction says whether a schema describes what is read or what is written.
type direction string

const (
	// request schemas require nothing: what is absent or zero is not set. Unknown keys are refused.
	request direction = "request"
	// response schemas require every key that is always written.
	response direction = "response"
)

// schemas collects the schemas of named types.
type schemas struct {
	all object
}

func newSchemas() *schemas { return &schemas{all: object{}} }

// wordLists are the values of the types that have a fixed set of them. What sources of runtimes write is not held against such a set.
var wordLists = map[reflect.Type][]string{
	reflect.TypeFor[orchestration.Type]():         words(orchestrationTypes),
	reflect.TypeFor[orchestration.StrategyType](): {string(orchestration.ParallelStrategy)},
	reflect.TypeFor[orchestration.ScheduleType](): {string(orchestration.Immediate), string(orchestration.MaintenanceWindow)},
	reflect.TypeFor[orchestration.WaitReason](): words([]orchestration.WaitReason{
		orchestration.WaitWorkerLimit, orchestration.WaitWindow, orchestration.WaitRuntimeBusy, orchestration.WaitNotBefore,
		orchestration.WaitBackendUnavailable,
	}),
	reflect.TypeFor[runtime.State](): words(fleet.RuntimeStates),
}

// fieldWords are the values of fields that are plain text in the published types and have a fixed set of them nevertheless.
var fieldWords = map[reflect.Type]map[string][]string{
	reflect.TypeFor[orchestration.Event](): {"level": words(eventLevels)},
}

// of returns the schema of a value's type.
func (s *schemas) of(value any, d direction) object { return s.schema(reflect.TypeOf(value), d) }

func (s *schemas) schema(t reflect.Type, d direction) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[LenientBool]():
		return object{"type": []any{"boolean", "string"}, "enum": []any{true, false, "true", "false", ""}}
	case reflect.TypeFor[TextList]():
		return object{"type": []any{"array", "string"}, "items": object{"type": "string"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.schema(t.Elem(), d)
	case reflect.Struct:
		return s.reference(t, d)
	case reflect.Slice:
		return object{"type": "array", "items": s.schema(t.Elem(), d)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.schema(t.Elem(), d)}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	default:
		schema := object{"type": "string"}
		// Requests take the empty word too, and the older ones.
		if list, ok := wordLists[t]; ok && d == response {
			schema["enum"] = list
		}
		return schema
	}
}

// reference puts the schema of a struct among the named ones and points to it. What is read and what is written differ in what is required,
// so a type that is both has two schemas.
func (s *schemas) reference(t reflect.Type, d direction) object {
	name := t.Name()
	if d == request && !strings.HasSuffix(name, "Body") {
		name += "Request"
	}
	if _, ok := s.all[name]; !ok {
		schema := object{"type": "object"}
		s.all[name] = schema
		properties, required := object{}, []string{}
		s.fields(t, d, properties, &required)
		schema["properties"] = properties
		if d == request {
			schema["additionalProperties"] = false
		} else if len(required) > 0 {
			schema["required"] = required
		}
	}
	return object{"$ref": "#/components/schemas/" + name}
}

func (s *schemas) fields(t reflect.Type, d direction, properties object, required *[]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			s.fields(field.Type, d, properties, required)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		property := s.schema(field.Type, d)
		if list, ok := fieldWords[t][name]; ok && d == response {
			property["enum"] = list
		}
		if d == request {
			property = orNull(property)
		}
		if about := field.Tag.Get("doc"); about != "" {
			property["description"] = about
		}
		properties[name] = property
		// encoding/json never leaves out a struct that is no pointer.
		if !strings.Contains(options, "omitempty") || field.Type.Kind() == reflect.Struct {
			*required = append(*required, name)
		}
	}
}

// orNull lets null stand for a value: in a request it means that the key was not given.
func orNull(schema object) object {
	switch types := schema["type"].(type) {
	case nil:
		return object{"anyOf": []any{schema, object{"type": "null"}}}
	case []any:
		schema["type"] = append(types, "null")
	default:
		schema["type"] = []any{types, "null"}
	}
	if words, ok := schema["enum"].([]any); ok {
		schema["enum"] = append(words, nil)
	}
	return schema
}
