package archtest

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pattern names a package by its path below the module's root. With "/..." at the end it also names all packages below.
type pattern string

// matches reports whether the pattern names the package at the given path.
func (p pattern) matches(path string) bool {
	tree, whole := strings.CutSuffix(string(p), "/...")
	if path == tree {
		return true
	}
	return whole && strings.HasPrefix(path, tree+"/")
}

// matchesAny reports whether one of the patterns names the package at the given path.
func matchesAny(patterns []pattern, path string) bool {
	for _, p := range patterns {
		if p.matches(path) {
			return true
		}
	}
	return false
}

// source is one package as it lies in the tree, with its direct imports. Paths of the product's own packages are below
// the module's root, all others are as written.
type source struct {
	path        string
	imports     []string
	testImports []string
}

// readTree reads the direct imports of every package below root, whatever build tags its files carry. It leaves out
// testdata, folders that the go command ignores, and nested modules.
func readTree(root string) ([]source, error) {
	var sources []source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			return nil
		}
		if path != root {
			name := entry.Name()
			if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return filepath.SkipDir
			}
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil {
				return filepath.SkipDir
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("look for a nested module: %w", err)
			}
		}
		found, ok, err := readPackage(root, path)
		if ok {
			sources = append(sources, found)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read imports: %w", err)
	}
	return sources, nil
}

// readPackage reads the imports of the Go files in one folder and reports whether it has any.
func readPackage(root, folder string) (source, bool, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		return source{}, false, err
	}
	relative, err := filepath.Rel(root, folder)
	if err != nil {
		return source{}, false, err
	}
	found := source{path: filepath.ToSlash(relative)}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return source{}, false, err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return source{}, false, err
			}
			if strings.HasSuffix(file, "_test.go") {
				found.testImports = append(found.testImports, imported)
			} else {
				found.imports = append(found.imports, imported)
			}
		}
	}
	return found, true, nil
}

// ownPath returns the path below the module's root when the import is of the product's own module path.
func ownPath(imported string) (string, bool) {
	if imported == modulePath {
		return ".", true
	}
	return strings.CutPrefix(imported, modulePath+"/")
}
