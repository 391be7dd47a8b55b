package selector

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/orchestration"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]orchestration.RuntimeTarget{
		"all":                                {Target: "all"},
		" all ":                              {Target: "all"},
		"all,region=^eu-":                    {Target: "all", Region: "^eu-"},
		"region=^eu-,all":                    {Target: "all", Region: "^eu-"},
		"account=all":                        {GlobalAccount: "all"},
		"account=a=b":                        {GlobalAccount: "a=b"},
		"account==":                          {GlobalAccount: "="},
		"account=ga-[0-9]{1,3}":              {GlobalAccount: "ga-[0-9]{1,3}"},
		"account=ga-[0-9]{1,3},plan=aws":     {GlobalAccount: "ga-[0-9]{1,3}", PlanName: "aws"},
		"account=[a,b],region=(x,y)":         {GlobalAccount: "[a,b]", Region: "(x,y)"},
		`account=a\,b`:                       {GlobalAccount: `a\,b`},
		`account=\[a,region=b`:               {GlobalAccount: `\[a`, Region: "b"},
		`account="a,b",region="c"`:           {GlobalAccount: "a,b", Region: "c"},
		`account="a\.b""c"`:                  {GlobalAccount: `a\.b"c`},
		`plan="a\b""c,d"`:                    {PlanName: `a\b"c,d`},
		`plan= "a" , shoot = " b "`:          {PlanName: "a", Shoot: " b "},
		`account=a"b`:                        {GlobalAccount: `a"b`},
		"runtime-id=r,shoot=c,instance-id=i": {RuntimeID: "r", Shoot: "c", InstanceID: "i"},
		"subaccount=s , region = r":          {SubAccount: "s", Region: "r"},
		"shoot=c-1{,region=x":                {Shoot: "c-1{", Region: "x"},
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                        "is empty",
		"  ":                      "is empty",
		"everything":              `"everything" is neither "all" nor KEY=VALUE`,
		"All":                     "neither",
		"all,all":                 "twice",
		"account=":                "account has no value",
		"account= ":               "account has no value",
		`account=""`:              "account has no value",
		"account=a,":              "ends with a comma",
		"account=a,,region=b":     "neither",
		"account=a,account=b":     "account=a|b",
		"shoot=a,shoot=b":         "once for each",
		"account=a,b":             "double quotes",
		"account=a,regoin=b":      `key "regoin" is not known`,
		"Account=a":               `key "Account" is not known`,
		"runtimeID=a":             "runtime-id",
		"=a":                      `key "" is not known`,
		`account="a`:              "closing quote",
		`account="a"b`:            "follows the closing quote",
		`account="a",b`:           `"b" is neither`,
		"target=all":              `key "target" is not known`,
		`region=x,"account"=y`:    "neither",
		"account=ga-1 region=eu,": "ends with a comma",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, says, text)
	}
}

func TestSpecNamesFlagAndValue(t *testing.T) {
	t.Parallel()
	spec, err := Spec([]string{"shoot=c-canary", "all"}, []string{"plan=trial"})
	require.NoError(t, err)
	require.Equal(t, orchestration.TargetSpec{
		Include: []orchestration.RuntimeTarget{{Shoot: "c-canary"}, {Target: "all"}},
		Exclude: []orchestration.RuntimeTarget{{PlanName: "trial"}},
	}, spec)

	for says, lists := range map[string][2][]string{
		"--target is missing":           {nil, {"all"}},
		`--target "account=(": `:        {{"all", "account=("}, nil},
		`--target-exclude "region=*": `: {{"all"}, {"region=*"}},
		`--target-exclude "": is empty`: {{"all"}, {""}},
	} {
		_, err := Spec(lists[0], lists[1])
		require.ErrorContains(t, err, says)
	}
}

// Whatever a target holds, it is read from the text that it is written as.
func TestFormatIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var target orchestration.RuntimeTarget
		text := rapid.StringOf(rapid.SampledFrom([]rune(`ab=,"\{}[]() é`)))
		for _, f := range fields {
			if value := text.Draw(t, f.key); strings.TrimSpace(value) != "" {
				*f.value(&target) = value
			}
		}
		if rapid.Bool().Draw(t, "all") || target == (orchestration.RuntimeTarget{}) {
			target.Target = "all"
		}
		got, err := Parse(Format(target))
		if err != nil {
			t.Fatalf("%q: %v", Format(target), err)
		}
		if got != target {
			t.Fatalf("%q: got %+v, wanted %+v", Format(target), got, target)
		}
	})
}

// What is understood at all is kept whole: written again and read again it stays the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"all", "account=ga-[0-9]{1,3},region=eu", `account="a,b\"c"`, `plan="\\"`, "shoot=c,all", `account=\`, `account="\`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := Parse(text)
		if err != nil {
			return
		}
		require.NotEqual(t, orchestration.RuntimeTarget{}, target)
		again, err := Parse(Format(target))
		require.NoError(t, err, Format(target))
		require.Equal(t, target, again, Format(target))
	})
}
