package runtime

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a server sends, reading it ends without a panic, and what was read can be written and read again.
func FuzzRuntimesPage(f *testing.F) {
	seed, err := json.Marshal(RuntimesPage{Data: fleet(2), Count: 2, TotalCount: 2})
	require.NoError(f, err)
	f.Add(seed)
	for _, text := range []string{
		`{}`, `{"data":null}`, `{"data":[null]}`, `{"data":[{"status":{"state":"hibernated","createdAt":"0001-01-01T00:00:00Z"}}]}`,
		`{"data":[{"status":{"update":{"data":null},"suspension":{},"provisioning":{"createdAt":"2024-05-15T10:00:00+05:30"}}}]}`,
		`{"data":[{"kymaConfig":{"components":[null]},"clusterConfig":{"providerSpecificConfig":{}}}]}`,
		`{"data":[{"status":{"createdAt":"9999-12-31T23:59:59-14:00"}}]}`, `{"data":[{"avsInternalEvaluationID":9223372036854775808}]}`,
		`{"data":[{"instanceID":"\ud800"}],"count":-1}`, `[`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var page RuntimesPage
		if json.Unmarshal(body, &page) != nil {
			return
		}
		for i := range page.Data {
			if last := page.Data[i].LastOperation(); last.Type == "" {
				require.Zero(t, last)
			}
		}
		written, err := json.Marshal(page)
		if err != nil {
			// Times are the only values that can be read and not written, when their zone moves them out of the years that JSON knows.
			require.ErrorContains(t, err, "Time.MarshalJSON")
			return
		}
		var again RuntimesPage
		require.NoError(t, json.Unmarshal(written, &again))
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
	})
}
