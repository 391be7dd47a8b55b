package fleet_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
)

func TestTimesAreReadStrictly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2030-01-02T22:00:00Z":             "2030-01-02T22:00:00Z",
		"2030-01-02T22:00:00+05:30":        "2030-01-02T16:30:00Z",
		"2030-01-02T22:00:00.125-23:59":    "2030-01-03T21:59:00.125Z",
		"0001-01-01T00:00:00Z":             "0001-01-01T00:00:00Z",
		"2030-01-02T22:00:00+24:00":        "",
		"2030-01-02T22:00:00-24:00":        "",
		"2030-01-02T22:00:00+23:60":        "",
		"2030-01-02T22:00:00,5Z":           "",
		"2030-01-02t22:00:00z":             "",
		"2030-01-02 22:00:00Z":             "",
		"2030-01-02":                       "",
		"2030-02-30T00:00:00Z":             "",
		"0000-01-01T00:00:00+23:00":        "",
		"9999-12-31T23:59:59-01:00":        "",
		"":                                 "",
		"2030-01-02T22:00:00Z\n":           "",
		"2030-01-02T22:00:00.1234567891+1": "",
	} {
		at, ok := fleet.ParseTime(text)
		require.Equal(t, want != "", ok, text)
		if ok {
			require.Equal(t, want, at.UTC().Format(time.RFC3339Nano), text)
		}
	}
}

// FuzzParseTime: what is read can be written as JSON again.
func FuzzParseTime(f *testing.F) {
	f.Add("2030-01-02T22:00:00+05:30")
	f.Add("0000-01-01T00:00:00+23:59")
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := fleet.ParseTime(text)
		if !ok {
			return
		}
		if _, err := json.Marshal(at.UTC()); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
