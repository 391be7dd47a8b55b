package issuer

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzGroups(f *testing.F) {
	for _, seed := range []string{`null`, `"one"`, `[]`, `["one","two"]`, `[null]`, `{}`, `7`, `"\u0000"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var groups Groups
		if json.Unmarshal(data, &groups) != nil {
			return
		}
		text, err := json.Marshal(groups)
		require.NoError(t, err)
		var again Groups
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, groups.claim(), again.claim())
	})
}
