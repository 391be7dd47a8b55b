package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
)

// EnvPrefix begins the name of every environment variable of Swell.
const EnvPrefix = "SWELL_"

// foreignEnv are variables with the prefix that are not settings of the server: the command line and the tests read them.
var foreignEnv = []string{"SWELL_CONFIG", "SWELL_URL", "SWELL_CONTEXT", "SWELL_TOKEN", "SWELL_HOME", "SWELL_LANDSCAPE", "SWELL_TEST_POSTGRES"}

// Sources are what settings are read from.
type Sources struct {
	// File is the path of a YAML file; empty means none.
	File string
	// Environ holds variables as "NAME=value", as os.Environ returns them.
	Environ []string
	// Flags holds the flags that were given, by flag name.
	Flags map[string]string
}

// Load reads the settings and checks them. The error joins all problems, one a line.
func Load(src Sources) (Config, error) {
	k := koanf.New(".")
	var problems []error
	if src.File != "" {
		if err := loadFile(k, src.File); err != nil {
			return Config{}, err
		}
	}
	keys := Keys()
	problems = append(problems, overlayEnv(k, keys, src.Environ)...)
	problems = append(problems, overlayFlags(k, keys, src.Flags)...)
	problems = append(problems, unknownKeys(k, keys)...)

	var c Config
	v := reflect.ValueOf(&c).Elem()
	unread := map[string]bool{}
	for _, key := range keys {
		text, err := textOf(k, key)
		if err == nil {
			err = set(v.FieldByIndex(key.index), text)
			if err != nil {
				value := strconv.Quote(shown(text))
				if key.Secret {
					value = "(not shown)"
				}
				err = fmt.Errorf("%s: the value %s is not a valid %s", key.Name, value, key.Type)
			}
		}
		if err != nil {
			problems = append(problems, err)
			unread[key.Name] = true
		}
	}
	// What could not be read has been told already; everything else is checked all the same, so that all problems come together.
	problems = append(problems, c.check(func(key string) bool { return unread[key] })...)
	return c, errors.Join(problems...)
}

// textOf returns the text of a setting: what a source says, or its default.
func textOf(k *koanf.Koanf, key Key) (string, error) {
	value := k.Get(key.Name)
	if value == nil {
		return key.Default, nil
	}
	if list, ok := value.([]any); ok && key.Type == listType {
		if slices.ContainsFunc(list, func(entry any) bool { return !scalar(entry) || strings.Contains(fmt.Sprint(entry), ",") }) {
			return "", fmt.Errorf("%s: an entry is a list, a group, or holds a comma", key.Name)
		}
		return strings.Join(texts(list), ","), nil
	}
	if !scalar(value) {
		return "", fmt.Errorf("%s: want one value of type %s, not a list or a group", key.Name, key.Type)
	}
	return fmt.Sprint(value), nil
}

func loadFile(k *koanf.Koanf, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the configuration file: %w", err)
	}
	if err := k.Load(rawbytes.Provider(text), yaml.Parser()); err != nil {
		return fmt.Errorf("read the configuration file %s: %s", path, shown(err.Error()))
	}
	return nil
}

func overlayEnv(k *koanf.Koanf, keys []Key, environ []string) []error {
	byEnv := make(map[string]Key, len(keys))
	for _, key := range keys {
		byEnv[key.Env] = key
	}
	values := map[string]any{}
	var problems []error
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, EnvPrefix) || slices.Contains(foreignEnv, name) {
			continue
		}
		key, ok := byEnv[name]
		if !ok {
			problems = append(problems, fmt.Errorf("%s: no setting has this environment variable", shown(name)))
			continue
		}
		values[key.Name] = value
	}
	return append(problems, merge(k, values)...)
}

func overlayFlags(k *koanf.Koanf, keys []Key, flags map[string]string) []error {
	byFlag := make(map[string]Key, len(keys))
	for _, key := range keys {
		byFlag[key.Flag] = key
	}
	values := map[string]any{}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		key, ok := byFlag[name]
		if !ok {
			problems = append(problems, fmt.Errorf("--%s: no setting has this flag", shown(name)))
			continue
		}
		values[key.Name] = flags[name]
	}
	return append(problems, merge(k, values)...)
}

func merge(k *koanf.Koanf, values map[string]any) []error {
	if err := k.Load(confmap.Provider(values, "."), nil); err != nil {
		return []error{fmt.Errorf("merge settings: %w", err)}
	}
	return nil
}

// unknownKeys tells names that no setting has. A group in place of a value is told with the setting itself: its names are part of the value.
func unknownKeys(k *koanf.Koanf, keys []Key) []error {
	var problems []error
	for _, name := range k.Keys() {
		known := slices.ContainsFunc(keys, func(key Key) bool {
			return key.Name == name || strings.HasPrefix(name, key.Name+".") || strings.HasPrefix(key.Name, name+".") && k.Get(name) == nil
		})
		if !known {
			problems = append(problems, fmt.Errorf("%s: no setting has this name", shown(name)))
		}
	}
	return problems
}

func scalar(v any) bool {
	if v == nil {
		return true
	}
	switch reflect.TypeOf(v).Kind() {
	case reflect.Map, reflect.Slice, reflect.Struct:
		return false
	default:
		return true
	}
}

func texts(list []any) []string {
	out := make([]string, len(list))
	for i, entry := range list {
		out[i] = fmt.Sprint(entry)
	}
	return out
}

// split takes a list apart. An entry that got lost is an error, because most lists are about who may do what.
func split(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var list []string
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			return nil, errors.New("an entry is empty")
		}
		list = append(list, entry)
	}
	return list, nil
}

func set(v reflect.Value, text string) error {
	switch p := v.Addr().Interface().(type) {
	case *[]string:
		list, err := split(text)
		*p = list
		return err
	case *string:
		*p = text
		return nil
	case *time.Duration:
		d, err := time.ParseDuration(text)
		*p = d
		return err
	case *int:
		n, err := strconv.Atoi(text)
		*p = n
		return err
	case *float64:
		f, err := strconv.ParseFloat(text, 64)
		*p = f
		return err
	case *bool:
		b, err := strconv.ParseBool(text)
		*p = b
		return err
	default:
		return fmt.Errorf("no text form of %s", v.Type())
	}
}
