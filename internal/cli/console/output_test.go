package console_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/cli/console"
)

func TestJSONSteersNoTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, console.WriteJSON(&out, map[string]string{"é<b>": "a\u009b2J\u202e\x1b\u007f\uFFFD"}))
	//nolint:testifylint // the very bytes are what this is about
	require.Equal(t, "{\n  \"é<b>\": \"a\\u009b2J\\u202e\\u001b\\u007f\uFFFD\"\n}\n", out.String())
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "document")
		var out bytes.Buffer
		require.NoError(t, console.WriteJSON(&out, want))
		got := map[string]string{}
		require.NoError(t, json.Unmarshal(out.Bytes(), &got))
		require.Equal(t, want, got, "it means the same")
	})
}
