package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Key describes one setting.
type Key struct {
	// Name is the key in the file, with dots between the levels.
	Name string
	// Env is the environment variable, Flag the name of the flag without dashes.
	Env  string
	Flag string
	// Usage says what the setting does, Default what it is when nothing sets it.
	Usage   string
	Default string
	// Secret is true for values that are never shown.
	Secret bool
	// Type names the form of the value: string, int, float, bool, duration or list.
	Type string

	index []int
}

// Keys lists every setting in the order of the struct.
func Keys() []Key { return collect(reflect.TypeFor[Config](), "", nil) }

func collect(t reflect.Type, prefix string, index []int) []Key {
	var keys []Key
	for i := range t.NumField() {
		f := t.Field(i)
		name := prefix + f.Tag.Get("key")
		at := append(append([]int(nil), index...), i)
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, collect(f.Type, name+".", at)...)
			continue
		}
		dashed := strings.ReplaceAll(name, ".", "-")
		keys = append(keys, Key{
			Name:    name,
			Env:     EnvPrefix + strings.ToUpper(strings.ReplaceAll(dashed, "-", "_")),
			Flag:    dashed,
			Usage:   f.Tag.Get("usage"),
			Default: f.Tag.Get("default"),
			Secret:  f.Tag.Get("secret") == "true",
			Type:    typeName(f.Type),
			index:   at,
		})
	}
	return keys
}

// listType is the Key.Type of settings that hold several values: a list in the file, text separated by commas everywhere.
const listType = "list"

func typeName(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "duration"
	}
	if t == reflect.TypeFor[[]string]() {
		return listType
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Int:
		return "int"
	case reflect.Float64:
		return "float"
	case reflect.Bool:
		return "bool"
	default:
		panic(fmt.Sprintf("config: a setting of type %s has no text form", t))
	}
}
