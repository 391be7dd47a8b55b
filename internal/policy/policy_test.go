package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/internal/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return v
}

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(text))
	require.NoError(t, err)
	return p
}

// TestCase_W7: a policy with values that are not understood, and a window of 24 hours. The Shoot's own window is 05:00 to 06:00; it is a Wednesday.
func TestCase_W7(t *testing.T) {
	t.Parallel()
	shoot := policy.Runtime{Plan: "aws", Begin: "050000+0000", End: "060000+0000"}
	noon := at(t, "2024-05-15T12:00:00Z")

	t.Run("a: full day names in any case are understood", func(t *testing.T) {
		t.Parallel()
		for _, day := range []string{"saturday", "Saturday", "SAT", "sat"} {
			x := parse(t, `{"default":{"days":["`+day+`"]}}`).Explain(shoot, noon)
			require.Equal(t, at(t, "2024-05-18T05:00:00Z"), x.Next.Begin, day)
			require.Equal(t, at(t, "2024-05-18T06:00:00Z"), x.Next.End, day)
		}
	})
	t.Run("a: other words stop the loading", func(t *testing.T) {
		t.Parallel()
		for _, day := range []string{"samstag", "", "Satur", "6", " sat"} {
			_, err := policy.Parse([]byte(`{"default":{"days":["` + day + `"]}}`))
			require.ErrorContains(t, err, "default.days[0]", day)
			require.ErrorContains(t, err, `"`+day+`"`, day)
		}
	})
	t.Run("b and c: times that are not understood stop the loading", func(t *testing.T) {
		t.Parallel()
		for _, times := range [][2]string{{"220000+0000", "240000+0000"}, {"22:00:00Z", "02:00:00Z"}, {"220000", "020000"}, {"220000+2400", "020000+0000"}, {"220000+0000", ""}, {"", "020000+0000"}} {
			_, err := policy.Parse([]byte(`{"default":{"timeBegin":"` + times[0] + `","timeEnd":"` + times[1] + `"}}`))
			require.ErrorContains(t, err, "default", times)
		}
		_, err := policy.Parse([]byte(`{"default":{"timeBegin":"220000+0000","timeEnd":"240000+0000"}}`))
		require.ErrorContains(t, err, "default.timeEnd")
		require.ErrorContains(t, err, "240000+0000")
	})
	t.Run("d: equal begin and end are 24 hours", func(t *testing.T) {
		t.Parallel()
		p := parse(t, `{"rules":[{"match":{"plan":"trial|free"},"days":["Mon","Tue","Wed","Thu","Fri","Sat","Sun"],"timeBegin":"010000+0000","timeEnd":"010000+0000"}]}`)
		x := p.Explain(policy.Runtime{Plan: "trial", Begin: shoot.Begin, End: shoot.End}, at(t, "2024-05-15T00:30:00Z"))
		require.Equal(t, at(t, "2024-05-14T01:00:00Z"), x.Next.Begin)
		require.Equal(t, at(t, "2024-05-15T01:00:00Z"), x.Next.End)
		require.Equal(t, "rules[0]", x.Decision.Rule)
	})
	t.Run("without a policy the Shoot's own window holds", func(t *testing.T) {
		t.Parallel()
		x := (*policy.Policy)(nil).Explain(shoot, noon)
		require.Equal(t, at(t, "2024-05-16T05:00:00Z"), x.Next.Begin)
	})
}

func TestTheFirstRuleThatMatchesDecides(t *testing.T) {
	t.Parallel()
	p := parse(t, `
rules:
- name: trials
  match: {plan: "^(trial|free)$"}
  timeBegin: "010000+0000"
  timeEnd: "030000+0000"
- match: {region: "^eu-", globalAccount: "^ga-blue$"}
  days: [Sat, Sunday]
- match: {platformRegion: "cf-eu10"}
  days: [Mon]
default:
  days: [Wed]
`)
	own := policy.Runtime{Plan: "aws", Region: "us-1", Begin: "050000+0000", End: "060000+0000"}
	with := func(change func(*policy.Runtime)) policy.Decision {
		r := own
		change(&r)
		return p.Decide(r)
	}
	require.Equal(t, policy.Decision{Begin: "010000+0000", End: "030000+0000", Rule: "rules[0] (trials)"},
		with(func(r *policy.Runtime) { r.Plan, r.Region, r.GlobalAccountID = "trial", "eu-1", "ga-blue" }))
	require.Equal(t, policy.Decision{Begin: "050000+0000", End: "060000+0000", Days: []string{"Sat", "Sunday"}, Rule: "rules[1]"},
		with(func(r *policy.Runtime) { r.Region, r.GlobalAccountID = "eu-1", "ga-blue" }))
	require.Equal(t, "default", with(func(r *policy.Runtime) { r.Region, r.GlobalAccountID = "eu-1", "ga-blue2" }).Rule)
	require.Equal(t, "default", with(func(r *policy.Runtime) { r.Region = "eu-1" }).Rule, "an absent account matches no pattern")
	require.Equal(t, "rules[2]", with(func(r *policy.Runtime) { r.PlatformRegion = "cf-eu10" }).Rule)
	require.Equal(t, "default", with(func(*policy.Runtime) {}).Rule)
}

func TestWhatIsNotUnderstoodStopsTheLoading(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		`{"rules":[{"match":{"plan":"("},"days":["Mon"]}]}`:                           "rules[0].match.plan",
		`{"rules":[{"match":{"plan":""},"days":["Mon"]}]}`:                            "the pattern is empty",
		`{"rules":[{"match":{"Plan":"x"},"days":["Mon"]}]}`:                           "rules[0].match.Plan",
		`{"rules":[{"match":{},"days":["Mon"]}]}`:                                     "rules[0].match",
		`{"rules":[{"days":["Mon"]}]}`:                                                "rules[0].match",
		`{"rules":[{"match":{"plan":"x"}}]}`:                                          "gives no days",
		`{"default":{}}`:                                                              "gives no days",
		`{"defaults":{"days":["Mon"]}}`:                                               "defaults",
		`{"default":{"day":["Mon"]}}`:                                                 "day",
		"default: {timeBegin: 010000, timeEnd: 020000}":                               "not a text",
		"default: {days: [Mon]}\n---\nrules: [{match: {plan: trial}, days: [Tue]}]\n": "one document",
		`{"default":{"days":["Mon"]}} {"rules":["x"]}`:                                "maintenance policy",
		`{"default":{"days":["Mon"],"Days":["Tue"]}}`:                                 "Days",
		`{"default":{"days":["Mon"]},"Default":{"days":["Tue"]}}`:                     "Default",
		"": "empty", "null": "empty", "# nothing\n": "empty", "{}": "empty",
		`{"default":{"notOn":"2026-02-30"}}`:                                    "default.notOn[0]",
		`{"notOn":["2027-01-06..2026-12-20"]}`:                                  "notOn[0]",
		`{"default":{"days":["Mon"]},"default":{"days":["Tue"]}}`:               "default",
		`{"rules":[{"match":{"plan":"x"},"days":["Mon","Noday","Tue","Nay"]}]}`: "rules[0].days[3]",
	} {
		_, err := policy.Parse([]byte(text))
		require.ErrorContains(t, err, part, text)
	}
}

func TestBlackoutDatesMoveTheWindow(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"notOn":"2026-12-20..2027-01-06","default":{"timeBegin":"220000-0500","timeEnd":"020000-0500"}}`)
	x := p.Explain(policy.Runtime{}, at(t, "2026-12-20T12:00:00Z"))
	require.Equal(t, at(t, "2027-01-08T03:00:00Z"), x.Next.Begin, "the evening of the 7th at -05:00")
	own := p.Decide(policy.Runtime{Begin: "1", End: "2"})
	require.Equal(t, []string{"2026-12-20..2027-01-06"}, own.NotOn)
	require.Equal(t, []string{"2026-12-20..2027-01-06"}, parse(t, `{"notOn":"2026-12-20..2027-01-06"}`).Decide(policy.Runtime{Begin: "050000+0000", End: "060000+0000"}).NotOn,
		"dates for all hold for the Shoot's own windows too")
}

func TestLintNamesWhatIsHardlyMeant(t *testing.T) {
	t.Parallel()
	p := parse(t, `
rules:
- match: {plan: "аws"}
  timeBegin: "010000+0000"
  timeEnd: "011500+0000"
- match: {plan: "aws"}
  days: [Mon]
- match: {plan: "^aws$"}
  days: [Tue]
- match: {plan: "azure"}
  days: [Tue]
  notOn: 2020-01-01
`)
	var all []string
	for _, w := range p.Lint([]policy.Runtime{{Plan: "aws"}}, at(t, "2026-11-30T00:00:00Z")) {
		all = append(all, w.String())
	}
	text := strings.Join(all, "\n")
	for _, part := range []string{
		`rules[0].match.plan: the pattern "аws" holds U+0430`,
		"rules[0]: the window 010000+0000 to 011500+0000 is open for 15m0s only",
		"rules[0]: it does not match the only runtime",
		"rules[2]: it matches 1 runtime, and earlier rules decide for it",
		"rules[3]: it does not match the only runtime",
		"rules[3].notOn[0]: 2020-01-01 is over",
	} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "rules[1]")
	two := p.Lint([]policy.Runtime{{Plan: "aws"}, {Plan: "aws"}}, at(t, "2026-11-30T00:00:00Z"))
	require.Contains(t, two, policy.Warning{Where: "rules[2]", Message: "it matches 2 runtimes, and earlier rules decide for all of them"})
	require.Contains(t, two, policy.Warning{Where: "rules[3]", Message: "it matches none of the 2 runtimes"})
	require.Empty(t, (*policy.Policy)(nil).Lint(nil, time.Time{}))
}

func FuzzParse(f *testing.F) {
	f.Add(`{"default":{"days":["saturday"],"timeBegin":"220000+0000","timeEnd":"020000+0000","notOn":["2026-12-20..2027-01-06"]}}`)
	f.Add("rules:\n- match: {plan: trial}\n  days: [Mon]\n")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := policy.Parse([]byte(text))
		if err != nil {
			return
		}
		r := policy.Runtime{Plan: "trial", Begin: "050000+0000", End: "060000+0000"}
		x := p.Explain(r, time.Unix(1715774400, 0))
		if x.Problem == "" && !x.Next.End.After(time.Unix(1715774400, 0)) {
			t.Fatalf("the window %v of %s is over", x.Next, x.Decision)
		}
		p.Lint([]policy.Runtime{r}, time.Unix(1715774400, 0))
	})
}
