package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// base is the least that makes a configuration complete.
var base = map[string]string{"gardener-namespace": "garden-demo"}

func with(extra map[string]string) map[string]string {
	m := map[string]string{}
	for k, v := range base {
		m[k] = v
	}
	for k, v := range extra {
		m[k] = v
	}
	return m
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "swell.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLaterSourcesWin(t *testing.T) {
	t.Parallel()
	path := file(t, "listen: 127.0.0.1:1\ndata-dir: from-file\ngardener:\n  namespace: garden-file\n  qps: 7\napi: {page-size: 11}\n")
	c, err := config.Load(config.Sources{
		File:    path,
		Environ: []string{"PATH=/bin", "SWELL_DATA_DIR=from-env", "SWELL_GARDENER_NAMESPACE=garden-env", "SWELL_TOKEN=not-a-setting"},
		Flags:   map[string]string{"gardener-namespace": "garden-flag"},
	})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:1", c.Listen)
	require.Equal(t, "from-env", c.DataDir)
	require.Equal(t, "garden-flag", c.Gardener.Namespace)
	require.InDelta(t, 7.0, c.Gardener.QPS, 0)
	require.Equal(t, 11, c.API.PageSize)
	require.Equal(t, 3*time.Hour, c.Engine.OperationTimeLimit)
}

func TestAllProblemsAreReportedTogether(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Sources{
		File:    file(t, "listn: x\ngardener:\n  namespace: [a, b]\n"),
		Environ: []string{"SWELL_LISTNE=x"},
		Flags:   map[string]string{"api-page-size": "many", "no-such": "1", "log-format": "xml"},
	})
	require.Error(t, err)
	for _, part := range []string{"log.format: \"xml\"", "listn: no setting", "SWELL_LISTNE: no setting", "--no-such: no setting", `api.page-size: the value "many" is not a valid int`, "gardener.namespace: want one value"} {
		require.ErrorContains(t, err, part)
	}
}

func TestValuesAreChecked(t *testing.T) {
	t.Parallel()
	for flag, value := range map[string]string{
		"listen":                      "0.0.0.0:8080",
		"base-path":                   "/a/../b",
		"log-level":                   "loud",
		"log-format":                  "xml",
		"api-page-size":               "0",
		"api-max-page-size":           "-1",
		"engine-max-workers":          "0",
		"engine-sweep-interval":       "1m",
		"engine-operation-time-limit": "-1s",
		"engine-retention":            "-1h",
		"executor-upgrade-cluster":    "magic",
		"gardener-qps":                "NaN",
		"gardener-burst":              "0",
		"shutdown-timeout":            "0s",
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(config.Sources{Flags: with(map[string]string{flag: value})})
			require.Error(t, err)
			key := keyOfFlag(t, flag)
			require.True(t, strings.HasPrefix(err.Error(), key+": "), "%q does not begin with the key %q", err, key)
		})
	}
}

func keyOfFlag(t *testing.T, flag string) string {
	t.Helper()
	for _, k := range config.Keys() {
		if k.Flag == flag {
			return k.Name
		}
	}
	t.Fatalf("no key has the flag %s", flag)
	return ""
}

func TestAPublicAddressNeedsAuthentication(t *testing.T) {
	t.Parallel()
	for listen, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:80": true, "[::1]:80": true, "127.8.8.8:1": true, "[::ffff:127.0.0.1]:1": true,
		":8080": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "localhost.example:1": false, "example": false,
	} {
		_, err := config.Load(config.Sources{Flags: with(map[string]string{"listen": listen})})
		require.Equal(t, ok, err == nil, "listen %s: %v", listen, err)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{Flags: with(map[string]string{"database-url": "postgres://swell:hunter2@db/swell"})})
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, c.Dump(&out))
	require.NotContains(t, out.String(), "hunter2")
	require.Contains(t, out.String(), "database-url: (set)\n")

	_, err = config.Load(config.Sources{Flags: with(map[string]string{"database-url": "mysql://swell:hunter2@db/swell"})})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestEveryKeyHasHelpAndUniqueNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range config.Keys() {
		require.NotEmpty(t, k.Usage, k.Name)
		require.False(t, seen[k.Env], k.Env)
		require.False(t, seen[k.Flag], k.Flag)
		seen[k.Env], seen[k.Flag] = true, true
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("listen: 127.0.0.1:1\n")
	f.Add("gardener: null\n")
	f.Add("gardener: {namespace: 3, qps: .nan}\n")
	f.Add("a: &a [*a]\n")
	f.Add("api.page-size: 1e3\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Load(config.Sources{File: file(t, text)})
		if err == nil && c.Gardener.Namespace == "" {
			t.Fatal("an incomplete configuration was accepted")
		}
	})
}
