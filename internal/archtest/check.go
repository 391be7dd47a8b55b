package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// checker compares packages with the rules, collects what is wrong and remembers which rules were of use.
type checker struct {
	rules    rules
	present  map[string]bool
	used     map[string]bool
	problems []string
}

// check returns one line for each way in which the packages leave the rules, sorted.
func check(r rules, sources []source) []string {
	c := &checker{rules: r, present: map[string]bool{}, used: map[string]bool{}}
	for _, s := range sources {
		c.present[s.path] = true
	}
	for _, s := range sources {
		c.checkPackage(s)
	}
	c.checkStale()
	slices.Sort(c.problems)
	return slices.Compact(c.problems)
}

func (c *checker) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *checker) checkPackage(s source) {
	if c.levels(s.path) != 1 {
		c.problem("package %s is in %d layers, want 1: add it to the table", s.path, c.levels(s.path))
		return
	}
	for _, imported := range s.imports {
		to, own := ownPath(imported)
		switch {
		case own && !c.present[to]:
			c.problem("package %s imports %s, which is not a package of this module", s.path, to)
		case own:
			c.checkImport(s.path, to)
		default:
			c.checkGrant(s.path, imported, false)
		}
	}
	for _, imported := range s.testImports {
		to, own := ownPath(imported)
		switch {
		case own && !c.present[to]:
			c.problem("a test of %s imports %s, which is not a package of this module", s.path, to)
		case own:
			if c.isApart(s.path, to) && !matchesAny(c.rules.testOnly, to) {
				c.problem("a test of %s imports %s: these never import each other", s.path, to)
			}
		default:
			c.checkGrant(s.path, imported, true)
		}
	}
}

// checkImport judges an import between two packages of the product outside of tests.
func (c *checker) checkImport(from, to string) {
	if matchesAny(c.rules.testOnly, to) && !matchesAny(c.rules.testOnly, from) {
		c.problem("package %s imports %s, which is for tests only", from, to)
		return
	}
	if c.isApart(from, to) {
		c.problem("package %s imports %s: these never import each other", from, to)
		return
	}
	for importer, allowed := range c.rules.imports {
		if importer.matches(from) && !matchesAny(allowed, to) && !importer.matches(to) {
			c.problem("package %s imports %s: it may import %v only", from, to, allowed)
			return
		}
	}
	for imported, allowed := range c.rules.importers {
		if !imported.matches(to) || imported.matches(from) {
			continue
		}
		if !matchesAny(allowed, from) {
			c.problem("package %s imports %s: only %v may", from, to, allowed)
			return
		}
		c.used["importers "+string(imported)] = true
	}
	upper, upperPattern := c.level(from)
	lower, lowerPattern := c.level(to)
	if upper < lower || (upper == lower && upperPattern == lowerPattern) || matchesAny(c.rules.testOnly, from) {
		return
	}
	if upper == lower {
		for _, e := range c.rules.beside {
			if e.from.matches(from) && e.to.matches(to) {
				c.used[fmt.Sprintf("beside %s %s", e.from, e.to)] = true
				return
			}
		}
	}
	c.problem("package %s (%s) imports %s (%s): imports go down only", from, c.rules.layers[upper].name, to, c.rules.layers[lower].name)
}

// checkGrant judges an import from outside the module.
func (c *checker) checkGrant(from, imported string, inTest bool) {
	if inTest && longestPrefix(c.rules.testGrants, imported) != "" {
		c.used["test grant "+longestPrefix(c.rules.testGrants, imported)] = true
		return
	}
	paths := make([]string, 0, len(c.rules.grants))
	for _, g := range c.rules.grants {
		paths = append(paths, g.path)
	}
	path := longestPrefix(paths, imported)
	if path == "" {
		if !inStandardLibrary(imported) {
			c.problem("package %s imports %s, which has no owner: add it to the table", from, imported)
		}
		return
	}
	owners := c.rules.grants[slices.Index(paths, path)].packages
	for _, owner := range owners {
		if owner.matches(from) {
			c.used[fmt.Sprintf("grant %s %s", path, owner)] = true
			return
		}
	}
	c.problem("package %s imports %s: only %v may", from, imported, owners)
}

// checkStale reports rules that nothing uses.
func (c *checker) checkStale() {
	for _, l := range c.rules.layers {
		for _, p := range l.packages {
			if !c.exists(p) {
				c.problem("stale rule: layer %s names %s, which is no package", l.name, p)
			}
		}
	}
	for _, p := range c.rules.testOnly {
		if !c.exists(p) {
			c.problem("stale rule: %s is for tests only, but is no package", p)
		}
	}
	for _, e := range c.rules.beside {
		c.wantUsed("beside %s %s", e.from, e.to)
	}
	for p := range c.rules.importers {
		c.wantUsed("importers %s", p)
	}
	for _, path := range c.rules.testGrants {
		c.wantUsed("test grant %s", path)
	}
	for _, g := range c.rules.grants {
		for _, p := range g.packages {
			c.wantUsed("grant %s %s", g.path, p)
		}
	}
}

func (c *checker) wantUsed(format string, args ...any) {
	if rule := fmt.Sprintf(format, args...); !c.used[rule] {
		c.problem("stale rule: nothing uses %q", rule)
	}
}

func (c *checker) exists(p pattern) bool {
	for path := range c.present {
		if p.matches(path) {
			return true
		}
	}
	return false
}

// isApart reports whether both packages lie in one tree whose packages never import each other.
func (c *checker) isApart(from, to string) bool {
	for _, tree := range c.rules.apart {
		if from != to && tree.matches(from) && tree.matches(to) {
			return true
		}
	}
	return false
}

// levels counts the rows of the table that name the package.
func (c *checker) levels(path string) int {
	count := 0
	for _, l := range c.rules.layers {
		for _, p := range l.packages {
			if p.matches(path) {
				count++
			}
		}
	}
	return count
}

// level returns the number of the package's layer, counted from the top, and the pattern that names it there.
func (c *checker) level(path string) (int, pattern) {
	for i, l := range c.rules.layers {
		for _, p := range l.packages {
			if p.matches(path) {
				return i, p
			}
		}
	}
	return len(c.rules.layers), ""
}

// longestPrefix returns the longest of the paths that is the imported path or a folder above it, "" when there is none.
func longestPrefix(paths []string, imported string) string {
	longest := ""
	for _, path := range paths {
		if (imported == path || strings.HasPrefix(imported, path+"/")) && len(path) > len(longest) {
			longest = path
		}
	}
	return longest
}

// inStandardLibrary reports whether the first element of the path has no dot, as in no module from outside.
func inStandardLibrary(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
