package orchestration

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A compiled pattern says the same as the regexp package, whichever way it was planned.
func TestCompiledPatternAgreesWithRegexp(t *testing.T) {
	t.Parallel()
	atoms := []string{"a", "b", "ab", "-", "1", ".", "[ab]", "[^a]", "a*", "b?", "(ab)+", "a{2}", "b{0,2}", ".*", "^", "$", "|", "(a)", "(?i:a)",
		"\\b", "(?:ab)*", "(a|b)", "()", "(^a)?", "(?m:^a)", "(?m:a$)", "\\z", "\\A", "é", "\\x{fffd}", "(a|)", "(?:^|b)", "(?:a|$)", "(?s:.)"}
	rapid.Check(t, func(t *rapid.T) {
		expression := strings.Join(rapid.SliceOfN(rapid.SampledFrom(atoms), 0, 6).Draw(t, "atoms"), "")
		re, err := regexp.Compile(expression)
		compiled := compilePattern(expression)
		if err != nil {
			require.Error(t, compiled.err)
			return
		}
		require.NoError(t, compiled.err)
		values := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("aAb-1é\n")), 0, 6, -1), 1, 8).Draw(t, "values")
		for _, value := range append(values, "", "\xff", "a\xffb", "\uFFFD") {
			require.Equal(t, re.MatchString(value), compiled.match(value), "%q on %q", expression, value)
		}
	})
}

func FuzzCompilePattern(f *testing.F) {
	for _, seed := range [][2]string{
		{"^ga-1.*$", "ga-12"}, {"europe|eu-", "eu-demo"}, {"CA.*", "CA50125541"}, {"^(ga-blue|ga-green)$", "ga-blue"}, {"(?i)GA", "ga"},
		{"eu-(", "eu-("}, {"a{1001}", "a"}, {"(^a)?b", "b"}, {"", ""}, {"\\x{fffd}", "\xff"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, expression, value string) {
		re, err := regexp.Compile(expression)
		compiled := compilePattern(expression)
		require.Equal(t, err == nil, compiled.err == nil)
		if err == nil {
			require.Equal(t, re.MatchString(value), compiled.match(value))
		}
	})
}
