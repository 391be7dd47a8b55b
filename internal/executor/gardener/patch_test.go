package gardener

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A list is sent whole, so whatever the pools hold has to come back: fields that this program does not know and numbers that a float would round.
func TestPoolsWithImage(t *testing.T) {
	t.Parallel()
	pool := func(image string) string {
		return `{"name":"a","future":{"x":[1,{"y":null}],"big":9007199254740993},"machine":{"type":"m5.large","architecture":"amd64"` + image + `},"minimum":1,"maxSurge":"10%"}`
	}
	for name, test := range map[string]struct {
		has, want string
		image     image
	}{
		"version":                         {`,"image":{"name":"gl","version":"1.0.0","providerConfig":{"k":1}}`, `,"image":{"name":"gl","version":"2.0.0","providerConfig":{"k":1}}`, image{"gl", "2.0.0"}},
		"version alone":                   {`,"image":{"name":"gl","version":"1.0.0"}`, `,"image":{"name":"gl","version":"2.0.0"}`, image{"", "2.0.0"}},
		"name alone, the same":            {`,"image":{"name":"gl","version":"1.0.0"}`, `,"image":{"name":"gl","version":"1.0.0"}`, image{"gl", ""}},
		"another name":                    {`,"image":{"name":"gl","version":"1.0.0","providerConfig":{"k":1}}`, `,"image":{"name":"suse"}`, image{"suse", ""}},
		"another name and version":        {`,"image":{"name":"gl","version":"1.0.0"}`, `,"image":{"name":"suse","version":"2.0.0"}`, image{"suse", "2.0.0"}},
		"none before":                     {``, `,"image":{"name":"gl","version":"2.0.0"}`, image{"gl", "2.0.0"}},
		"none before, version alone":      {``, `,"image":{"version":"2.0.0"}`, image{"", "2.0.0"}},
		"something else in its place":     {`,"image":"gl"`, `,"image":{"name":"gl"}`, image{"gl", ""}},
		"null, as an old client wrote it": {`,"image":null`, `,"image":{"name":"gl"}`, image{"gl", ""}},
	} {
		pools, err := withImage([]byte(`{"spec":{"provider":{"workers":[`+pool(test.has)+`,{"name":"b"}]}}}`), test.image)
		require.NoError(t, err, name)
		require.Len(t, pools, 2)
		text, err := json.Marshal(pools[0])
		require.NoError(t, err)
		require.JSONEq(t, pool(test.want), string(text), name)
		require.Contains(t, string(text), "9007199254740993", name)
	}
	_, err := withImage([]byte(`{"spec":{"provider":{"workers":{}}}}`), image{"gl", ""})
	require.ErrorContains(t, err, "read the worker pools")
	pools, err := withImage([]byte(`{}`), image{"gl", ""})
	require.NoError(t, err)
	require.Empty(t, pools)
}

func FuzzWithImage(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"spec":{"provider":{"workers":[null,{"machine":null},{"machine":[]},{"machine":{"image":{"name":"gl"}}}]}}}`, `[`, `{"spec":{"provider":{"workers":[1]}}}`,
	} {
		f.Add([]byte(seed), "gl", "1.0.0")
	}
	f.Fuzz(func(t *testing.T, raw []byte, name, version string) {
		if name == "" && version == "" {
			return
		}
		pools, err := withImage(raw, image{name, version})
		if err != nil {
			return
		}
		for _, pool := range pools {
			fields, ok := pool.(map[string]any)
			require.True(t, ok)
			machine, ok := fields["machine"].(map[string]any)
			require.True(t, ok)
			got, ok := machine["image"].(map[string]any)
			require.True(t, ok)
			if name != "" {
				require.Equal(t, name, got["name"])
			}
			if version != "" {
				require.Equal(t, version, got["version"])
			}
		}
	})
}
