package config_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/config"
)

// A password that stands in the wrong place is not repeated by the error about it.
func TestErrorsRepeatNoPassword(t *testing.T) {
	t.Parallel()
	const address = "postgres://swell:hunter2@db.example/swell"
	for _, src := range []config.Sources{
		{File: file(t, "database-url: {"+address+"}\n")},
		{File: file(t, "database-url: {hunter2: x}\n")},
		{File: file(t, "database-url: [hunter2]\n")},
		{File: file(t, address+": x\n")},
		{File: file(t, address+"\n")},
		{File: file(t, "api: {page-size: '"+address+"'}\n")},
		{File: file(t, "api: {"+address+": x}\n")},
		{Environ: []string{"SWELL_" + address + "=x"}},
		{Environ: []string{"SWELL_LISTEN=" + address}},
		{Flags: map[string]string{address: "x"}},
		{Flags: map[string]string{"log-level": address}},
		{Flags: map[string]string{"base-path": address}},
		{Flags: map[string]string{"api-trusted-proxies": address}},
		{Flags: map[string]string{"auth-issuers": "https://u:hunter2@login.example", "auth-audiences": "swell"}},
		{Flags: map[string]string{"auth-issuers": "https://login.example", "auth-audiences": "swell", "auth-client-id": address}},
		{Flags: map[string]string{"auth-issuers": "https://login.example", "auth-audiences": "swell", "auth-scopes": address}},
		{Flags: map[string]string{"executor-upgrade-kyma": "provisioner", "provisioner-url": "ftp://u:hunter2@provisioner.example"}},
		{Flags: map[string]string{"provisioner-url": "x://u:a/b c\"d@hunter2@e", "executor-upgrade-kyma": "provisioner"}},
	} {
		_, err := config.Load(src)
		require.Error(t, err, "%+v", src)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// Whatever somebody writes as a setting, its error is a short line that steers no terminal.
func TestErrorsAreShortLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringN(1000, 3000, -1)).Draw(r, "text")
		_, err := config.Load(config.Sources{Environ: []string{"SWELL_" + text + "=x"}, Flags: with(map[string]string{"log-level": "x" + text, "no " + text: "x"})})
		require.Error(r, err)
		for line := range strings.SplitSeq(err.Error(), "\n") {
			require.Less(r, len([]rune(line)), 2000)
			require.False(r, strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }), "%q", line)
		}
	})
}
