package dtotest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// UpdateVariable is the environment variable that makes RoundTrip write the golden files instead of comparing with them.
const UpdateVariable = "SWELL_UPDATE_GOLDEN"

// RoundTrip checks the JSON form of a type in both directions: its filled value against testdata/golden/<name>.json, the same with keys
// that no version knows in every object, and its zero value against testdata/golden/<name>.zero.json.
func RoundTrip[T any](t *testing.T, name string) {
	t.Helper()
	filled := Filled[T](t)
	golden := Golden(t, name+".json", filled)
	require.Empty(t, cmp.Diff(filled, decode[T](t, golden)), "reading %s.json", name)
	require.Empty(t, cmp.Diff(filled, decode[T](t, withUnknownKeys(t, golden))), "reading %s.json with unknown keys", name)

	var zero T
	golden = Golden(t, name+".zero.json", zero)
	require.Empty(t, cmp.Diff(zero, decode[T](t, golden)), "reading %s.zero.json", name)
	require.Empty(t, cmp.Diff(zero, decode[T](t, []byte("{}"))), "reading an empty object as %s", name)
}

// Golden checks that a value has the JSON form of the file below testdata/golden, and returns the file.
func Golden(t *testing.T, file string, value any) []byte {
	t.Helper()
	path := filepath.Join("testdata", "golden", file)
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(value))
	if os.Getenv(UpdateVariable) != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, got.Bytes(), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), got.String()), "writing %s; %s=1 renews the golden files", file, UpdateVariable)
	return want
}

func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var value T
	require.NoError(t, json.Unmarshal(data, &value))
	return value
}

// withUnknownKeys adds a text, a number, a list and an object to every object of a document that is not a map.
func withUnknownKeys(t *testing.T, document []byte) []byte {
	t.Helper()
	var value any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&value))
	addUnknownKeys(value)
	extended, err := json.Marshal(value)
	require.NoError(t, err)
	return extended
}

func addUnknownKeys(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			addUnknownKeys(element)
		}
	case map[string]any:
		for _, element := range value {
			addUnknownKeys(element)
		}
		if isMap(value) {
			return
		}
		value["x-text"] = "new"
		value["x-number"] = 1
		value["x-list"] = []any{map[string]any{"state": 1}}
		value["x-object"] = map[string]any{"data": "not a list"}
	}
}

// isMap says whether an object was a map: unlike the keys of structs, those that the filler makes for maps hold a space.
func isMap(object map[string]any) bool {
	for key := range object {
		if strings.Contains(key, " ") {
			return true
		}
	}
	return false
}
