package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const example = `
seed: 7
gardenlet:
  fail: 0.03
  stuck: 0.01
  error: 0.05
  errorTimes: 2
  times: 1
  codes: [ERR_INFRA_QUOTA_EXCEEDED]
  shoots: {c-1a2b3c4: fail}
api:
  - {action: refuse, after: 5s, for: 20s}
  - {action: status, code: 429, retryAfter: 2s, times: 10}
  - {action: delay, delay: 300ms, verbs: [list]}
  - {action: lose, verbs: [patch], resources: [shoots], dryRun: false, share: 0.5}
  - {action: closeWatches, every: 5s}
`

func TestParse(t *testing.T) {
	t.Parallel()
	plan, err := Parse([]byte(example))
	require.NoError(t, err)
	require.EqualValues(t, 7, plan.Seed)
	require.Equal(t, 2, plan.ErrorTimes())
	require.Len(t, plan.API, 5)
	require.Equal(t, Duration(20*time.Second), plan.API[0].For)
	require.False(t, *plan.API[3].DryRun)

	encoded, err := json.Marshal(plan)
	require.NoError(t, err)
	again, err := Parse(encoded)
	require.NoError(t, err)
	require.Equal(t, plan, again)

	empty, err := Parse(nil)
	require.NoError(t, err)
	require.Equal(t, Plan{}, empty)
	require.Equal(t, 1, empty.ErrorTimes())
}

func TestParseRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for text, word := range map[string]string{
		"fails: 1":                                   "fails",
		"gardenlet: {fail: 2}":                       "gardenlet.fail",
		"gardenlet: {fail: 0.6, stuck: 0.6}":         "together",
		"gardenlet: {times: -1}":                     "negative",
		"gardenlet: {shoots: {c-1: explode}}":        "explode",
		"api: [{action: burn}]":                      "burn",
		"api: [{action: status}]":                    "400 to 599",
		"api: [{action: delay}]":                     "delay",
		"api: [{action: drop, code: 500}]":           "only for action status",
		"api: [{action: drop, share: 1.5}]":          "share",
		"api: [{action: drop, verbs: [smash]}]":      "smash",
		"api: [{action: refuse, for: -1s}]":          "negative",
		"api: [{action: refuse, for: 20}]":           "duration",
		"seed: 1\nseed: 2":                           "seed",
		"api: [{action: delay, delay: 1s, verb: x}]": "verb",
		"[": "read fault plan",
	} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, word, text)
	}
}

func TestOutcomesFollowFromSeedAndName(t *testing.T) {
	t.Parallel()
	plan := Plan{Seed: 3, Gardenlet: Gardenlet{Fail: 0.2, Stuck: 0.1, Error: 0.3}}
	counts := map[Outcome]int{}
	for index := range 10_000 {
		name := fmt.Sprintf("c-%07x", index)
		outcome := plan.Outcome(name, 0)
		require.Equal(t, outcome, plan.Outcome(name, 5))
		counts[outcome]++
	}
	require.InDelta(t, 2000, counts[Fail], 200)
	require.InDelta(t, 1000, counts[Stuck], 150)
	require.InDelta(t, 3000, counts[Recover], 250)
	require.InDelta(t, 4000, counts[Succeed], 250)
}

func TestOutcomeByNameAndTimes(t *testing.T) {
	t.Parallel()
	plan := Plan{Gardenlet: Gardenlet{Fail: 1, Times: 2, Shoots: map[string]Outcome{"good": Succeed, "slow": Recover}}}
	require.Equal(t, Succeed, plan.Outcome("good", 0))
	require.Equal(t, Recover, plan.Outcome("slow", 1))
	require.Equal(t, Fail, plan.Outcome("other", 1))
	require.Equal(t, Succeed, plan.Outcome("other", 2), "later reconciliations are not hit")
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	const base = "/apis/core.gardener.cloud/v1beta1"
	for target, want := range map[string]Request{
		"GET " + base + "/namespaces/garden-x/shoots":                  {Verb: "list", Resource: "shoots"},
		"GET " + base + "/namespaces/garden-x/shoots?watch=true":       {Verb: "watch", Resource: "shoots", Watch: true},
		"GET " + base + "/namespaces/garden-x/shoots/c-1":              {Verb: "get", Resource: "shoots", Name: "c-1"},
		"GET " + base + "/cloudprofiles":                               {Verb: "list", Resource: "cloudprofiles"},
		"GET " + base + "/cloudprofiles/aws":                           {Verb: "get", Resource: "cloudprofiles", Name: "aws"},
		"POST " + base + "/namespaces/garden-x/shoots?dryRun=All":      {Verb: "create", Resource: "shoots", DryRun: true},
		"PUT " + base + "/namespaces/garden-x/shoots/c-1/status":       {Verb: "update", Resource: "shoots/status", Name: "c-1"},
		"PATCH " + base + "/namespaces/garden-x/shoots/c-1?dryRun=All": {Verb: "patch", Resource: "shoots", Name: "c-1", DryRun: true},
		"DELETE " + base + "/namespaces/garden-x/shoots/c-1":           {Verb: "delete", Resource: "shoots", Name: "c-1"},
		"DELETE " + base + "/namespaces/garden-x/shoots":               {Verb: "deletecollection", Resource: "shoots"},
		"GET /readyz": {Verb: "get"},
		"GET /apis":   {Verb: "get"},
		"GET " + base + "/namespaces/garden-x/shoots/c-1?watch=1":        {Verb: "watch", Resource: "shoots", Name: "c-1", Watch: true},
		"GET /apis/security.gardener.cloud/v1alpha1/credentialsbindings": {Verb: "list", Resource: "credentialsbindings"},
	} {
		var method, path string
		_, err := fmt.Sscan(target, &method, &path)
		require.NoError(t, err)
		require.Equal(t, want, Describe(httptest.NewRequest(method, path, http.NoBody)), target)
	}
}

func TestRuleMatchesAndTimes(t *testing.T) {
	t.Parallel()
	dry := true
	rule := Rule{Verbs: []string{"patch"}, Resources: []string{"shoots"}, Names: []string{"c-1"}, DryRun: &dry, After: Duration(time.Second), For: Duration(time.Second)}
	match := Request{Verb: "patch", Resource: "shoots", Name: "c-1", DryRun: true}
	require.True(t, rule.Matches(match))
	for _, change := range []func(*Request){
		func(r *Request) { r.Verb = "update" },
		func(r *Request) { r.Resource = "shoots/status" },
		func(r *Request) { r.Name = "c-2" },
		func(r *Request) { r.DryRun = false },
	} {
		other := match
		change(&other)
		require.False(t, rule.Matches(other))
	}
	require.True(t, Rule{}.Matches(match), "a rule without conditions matches all")
	require.False(t, rule.InForce(999*time.Millisecond))
	require.True(t, rule.InForce(time.Second))
	require.False(t, rule.InForce(2*time.Second))
	require.True(t, Rule{}.InForce(time.Hour))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("api: [{action: status, code: 500}]"))
	f.Add([]byte(`{"gardenlet":{"fail":1e400}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		plan, err := Parse(data)
		if err != nil {
			return
		}
		require.NoError(t, plan.Validate())
		encoded, err := json.Marshal(plan)
		require.NoError(t, err)
		again, err := Parse(encoded)
		require.NoError(t, err)
		require.Equal(t, plan.Outcome("c-1", 0), again.Outcome("c-1", 0))
	})
}

// FuzzDescribe reads all kinds of requests. Whatever they are, a rule can speak
// about them.
func FuzzDescribe(f *testing.F) {
	f.Add("GET", "/apis/core.gardener.cloud/v1beta1/namespaces/garden-x/shoots/c-1/status", "watch=true&dryRun=All")
	f.Add("DELETE", "/apis/core.gardener.cloud/v1beta1/namespaces/garden-x/shoots", "")
	f.Add("PATCH", "/apis/a/b/namespaces/", "dryRun")
	f.Add("POST", "//apis///", "watch=1;x")
	f.Add("", "", "%zz")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		asked := Describe(&http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}})
		rule := Rule{Action: Drop, Verbs: []string{asked.Verb}, DryRun: &asked.DryRun}
		require.NoError(t, rule.validate())
		if asked.Resource != "" {
			rule.Resources = []string{asked.Resource}
		}
		if asked.Name != "" {
			rule.Names = []string{asked.Name}
		}
		require.True(t, rule.Matches(asked))
		require.Equal(t, asked.Verb == "watch", asked.Watch)
	})
}
