package archtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is a table with one rule of every kind.
func small() rules {
	return rules{
		layers: []layer{
			{"top", []pattern{"cmd/swell"}},
			{"adapters", []pattern{"internal/web/...", "internal/auth", "internal/executor/a", "internal/executor/b", "internal/executor/suite"}},
			{"domain", []pattern{"internal/fleet", "internal/secret"}},
		},
		beside:     []edge{{"internal/web/...", "internal/auth"}},
		importers:  map[pattern][]pattern{"internal/secret": {"internal/auth"}},
		imports:    map[pattern][]pattern{"cmd/swell": {"internal/web/..."}},
		apart:      []pattern{"internal/executor/..."},
		testOnly:   []pattern{"internal/executor/suite"},
		grants:     []grant{{"example.org/db", []pattern{"internal/fleet"}}, {"net/http", []pattern{"internal/web/..."}}},
		testGrants: []string{"example.org/assert"},
	}
}

// whole returns packages that use every rule of small and leave none.
func whole() []source {
	own := modulePath + "/"
	return []source{
		{path: "cmd/swell", imports: []string{own + "internal/web"}},
		{path: "internal/web", imports: []string{own + "internal/auth", own + "internal/web/pages", own + "internal/fleet", "net/http"}},
		{path: "internal/web/pages"},
		{path: "internal/auth", imports: []string{own + "internal/secret"}},
		{path: "internal/executor/a", testImports: []string{own + "internal/executor/suite", own + "internal/web"}},
		{path: "internal/executor/b"},
		{path: "internal/executor/suite"},
		{path: "internal/fleet", imports: []string{"example.org/db/driver", "errors"}, testImports: []string{"example.org/assert"}},
		{path: "internal/secret"},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	own := modulePath + "/"
	// with adds imports to one of the packages that whole returns.
	with := func(path string, imports ...string) []source {
		sources := whole()
		for i := range sources {
			if sources[i].path == path {
				sources[i].imports = append(sources[i].imports, imports...)
			}
		}
		return sources
	}
	cases := map[string]struct {
		change  func(*rules)
		sources []source
		want    []string
	}{
		"nothing wrong": {sources: whole()},
		"upwards": {
			sources: with("internal/fleet", own+"internal/auth"),
			want:    []string{"package internal/fleet (domain) imports internal/auth (adapters): imports go down only"},
		},
		"sideways": {
			sources: with("internal/auth", own+"internal/web"),
			want:    []string{"package internal/auth (adapters) imports internal/web (adapters): imports go down only"},
		},
		"more than a package may import": {
			sources: with("cmd/swell", own+"internal/fleet"),
			want:    []string{"package cmd/swell imports internal/fleet: it may import [internal/web/...] only"},
		},
		"a package with named importers": {
			sources: with("internal/web", own+"internal/secret"),
			want:    []string{"package internal/web imports internal/secret: only [internal/auth] may"},
		},
		"packages that stay apart": {
			sources: with("internal/executor/a", own+"internal/executor/b"),
			want:    []string{"package internal/executor/a imports internal/executor/b: these never import each other"},
		},
		"packages that stay apart, in a test": {
			sources: append(whole(), source{path: "internal/executor/b", testImports: []string{own + "internal/executor/a"}}),
			want:    []string{"a test of internal/executor/b imports internal/executor/a: these never import each other"},
		},
		"a package for tests": {
			sources: with("internal/web", own+"internal/executor/suite"),
			want:    []string{"package internal/web imports internal/executor/suite, which is for tests only"},
		},
		"another module of the repository": {
			sources: with("internal/web", own+"landscape"),
			want:    []string{"package internal/web imports landscape, which is not a package of this module"},
		},
		"another module of the repository, in a test": {
			sources: append(whole(), source{path: "internal/auth", testImports: []string{own + "landscape"}}),
			want:    []string{"a test of internal/auth imports landscape, which is not a package of this module"},
		},
		"someone else's module": {
			sources: with("internal/web", "example.org/db/driver"),
			want:    []string{"package internal/web imports example.org/db/driver: only [internal/fleet] may"},
		},
		"someone else's package of the standard library": {
			sources: with("internal/fleet", "net/http"),
			want:    []string{"package internal/fleet imports net/http: only [internal/web/...] may"},
		},
		"a module without owner": {
			sources: with("internal/web", "example.org/dbx"),
			want:    []string{"package internal/web imports example.org/dbx, which has no owner: add it to the table"},
		},
		"a package in no layer": {
			sources: append(whole(), source{path: "internal/util"}),
			want:    []string{"package internal/util is in 0 layers, want 1: add it to the table"},
		},
		"a package in two layers": {
			change:  func(r *rules) { r.layers[2].packages = append(r.layers[2].packages, "internal/auth") },
			sources: whole(),
			want:    []string{"package internal/auth is in 2 layers, want 1: add it to the table", `stale rule: nothing uses "importers internal/secret"`},
		},
		"a layer's package that is gone": {
			change:  func(r *rules) { r.layers[2].packages = append(r.layers[2].packages, "internal/gone") },
			sources: whole(),
			want:    []string{"stale rule: layer domain names internal/gone, which is no package"},
		},
		"permissions that nothing uses": {
			change: func(r *rules) {
				r.grants = append(r.grants, grant{"example.org/unused", []pattern{"internal/web/..."}})
				r.testGrants = append(r.testGrants, "example.org/never")
				r.beside = append(r.beside, edge{"internal/auth", "internal/executor/a"})
				r.testOnly = append(r.testOnly, "internal/kit")
			},
			sources: whole(),
			want: []string{
				"stale rule: internal/kit is for tests only, but is no package",
				`stale rule: nothing uses "beside internal/auth internal/executor/a"`,
				`stale rule: nothing uses "grant example.org/unused internal/web/..."`,
				`stale rule: nothing uses "test grant example.org/never"`,
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := small()
			if c.change != nil {
				c.change(&r)
			}
			require.Equal(t, c.want, check(r, c.sources))
		})
	}
}

func TestReadTree(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("go.mod", "module example.org/x\n")
	write("a/a.go", "package a\nimport \"errors\"\n")
	write("a/a_test.go", "package a_test\nimport t \"testing\"\n")
	write("a/tagged.go", "//go:build windows\n\npackage a\nimport _ \"os\"\n")
	write("a/testdata/b/b.go", "package b\n")
	write(".cache/c.go", "package c\n")
	write("nested/go.mod", "module example.org/nested\n")
	write("nested/d.go", "package d\n")
	write("docs/readme.md", "no package\n")

	sources, err := readTree(root)
	require.NoError(t, err)
	require.Equal(t, []source{{path: "a", imports: []string{"errors", "os"}, testImports: []string{"testing"}}}, sources)

	write("broken/e.go", "no go at all\n")
	_, err = readTree(root)
	require.ErrorContains(t, err, "read imports")
}
