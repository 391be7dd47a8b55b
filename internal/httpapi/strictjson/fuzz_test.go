package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/httpapi/strictjson"
	"github.com/swell-fleet/swell/orchestration"
)

// FuzzUnmarshal feeds any bytes. Whatever is accepted must be accepted by encoding/json too, with the same result: being strict may refuse more, but never
// read something else.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"targets":{"include":[{"target":"all"}]}}`,
		`{"version":"","targets":{"include":null},"strategy":{"type":"","parallel":{"workers":0}}}`,
		`{"version":"1.33.4","targets":{"include":[{"globalAccount":"ga-.*","region":"eu-"}],"exclude":[{"runtimeID":"rt-1"}]},"dryRun":true}`,
		`{"strategy":{"type":"parallel","schedule":"maintenanceWindow","parallel":{"workers":2},"scheduleTime":"2030-01-02T22:00:00+01:00"}}`,
		`{"targets":{"include":[{}]}}`, `{"targets":{"include":[{"runtime":"rt-1"}]}}`, `{"Targets":{"include":[{"target":"all"}]}}`,
		`{"dryRun":true,"dryRun":false}`, `{"version":"\ud83d\ude00"}`, `{"version":"\ud83d"}`, `{"version":"\u0000"}`, "{\"version\":\"\xff\"}",
		`{} {}`, `[`, `{"a":`, strings.Repeat(`[`, 40), strings.Repeat(`{"targets":`, 40), `{"strategy":{"parallel":{"workers":1e3}}}`,
		`{"strategy":{"scheduleTime":""}}`, `{"strategy":{"scheduleTime":null},"kyma":{},"kubernetes":null}`, `{"\u0076ersion":"x"}`, `{"verſion":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict orchestration.Parameters
		err := strictjson.Unmarshal(data, &strict)
		if err != nil {
			var refused *strictjson.Error
			require.ErrorAs(t, err, &refused)
			require.NotEmpty(t, refused.Message)
			return
		}
		var lenient orchestration.Parameters
		err = json.Unmarshal(data, &lenient)
		if err != nil {
			require.ErrorContains(t, err, `parsing time ""`, "only an empty time is understood by one and not by the other")
			return
		}
		want, err := json.Marshal(lenient)
		require.NoError(t, err)
		got, err := json.Marshal(strict)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}
