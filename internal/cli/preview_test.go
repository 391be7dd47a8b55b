package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/orchestration"
)

// upgrading carries out a command line on a terminal, where a person says something to its question.
func upgrading(t *testing.T, address, says string, args ...string) result {
	t.Helper()
	return speaking(t, []string{"SWELL_URL=" + address}, says, args...)
}

// speaking is upgrading in surroundings of its own.
func speaking(t *testing.T, environment []string, says string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	c := &console.Console{
		In: strings.NewReader(says), Out: &out, Err: &errs, Environ: environment, Screen: roomy{}, Person: true,
		Clock: func() time.Time { return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) },
	}
	c.Home = home.Of(c.Getenv)
	code := cli.Run(t.Context(), c, args)
	return result{code, out.String(), errs.String()}
}

// roomy is a terminal on which nothing has to be cut.
type roomy struct{}

// Size implements console.Screen.
func (roomy) Size() (columns, rows int, ok bool) { return 200, 50, true }

// foreseen is a preview of some runtimes.
func foreseen(change func(p *orchestration.Preview)) string {
	p := orchestration.Preview{Revision: "a", At: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	p.Parameters.Targets.Include = []orchestration.RuntimeTarget{{Region: "^eu-"}, {Shoot: "c-77"}}
	change(&p)
	text, _ := json.Marshal(p)
	return string(text)
}

func shoots(names ...string) []orchestration.PreviewRuntime {
	rows := make([]orchestration.PreviewRuntime, len(names))
	for i, name := range names {
		rows[i].ShootName = name
	}
	return rows
}

// line returns the line of a summary that begins with a name, without it.
func line(out, name string) string {
	for text := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(text, name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

const (
	previewAnswer = "POST/upgrade/cluster/preview"
	upgradeAnswer = "POST/upgrade/cluster"
	accepted      = "status 202\n" + `{"orchestrationID":"o-1"}`
)

// Before the question a person sees what a yes would do.
func TestTheSummarySaysWhatIsSelected(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) *time.Time {
		when := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC).Add(d)
		return &when
	}
	local := func(d time.Duration) string { return at(d).Local().Format("2006-01-02 15:04 MST") }
	for name, test := range map[string]struct {
		preview func(p *orchestration.Preview)
		want    map[string]string
	}{
		"one runtime": {
			func(p *orchestration.Preview) {
				p.Runtimes = orchestration.PreviewRuntimeList{Data: shoots("c-1"), TotalCount: 1}
			},
			map[string]string{"Selected": "1 runtime: c-1", "Left out": "", "No match": "", "Skipped": "", "Windows": ""},
		},
		"many, and some are left out": {
			func(p *orchestration.Preview) {
				p.Runtimes = orchestration.PreviewRuntimeList{Data: shoots("c-1", "c-2\x1b[2J", "c-3", "c-4", "c-5"), TotalCount: 1203}
				p.LeftOut.TotalCount = 1020
				p.LeftOutReasons = map[orchestration.LeftOutReason]int{"suspended": 1000, "excluded": 7, "no_runtime_id": 7, "deprovisioned": 3, "new\x1b": 2, "z": 1}
				p.Unmatched = []int{1, 9, -1}
			},
			map[string]string{
				"Selected": "1,203 runtimes: c-1, c-2�[2J, c-3, c-4, c-5 and 1,198 more",
				"Left out": "1,020: 1,000 suspended, 7 excluded, 7 no runtime id, 3 deprovisioned, 3 for other reasons", "No match": "shoot=c-77",
			},
		},
		"in windows to come": {
			func(p *orchestration.Preview) {
				p.Runtimes = orchestration.PreviewRuntimeList{Data: shoots("c-1", "c-2", "c-3"), TotalCount: 3}
				p.FirstWindowBegin, p.LastWindowBegin, p.Skipped = at(time.Hour), at(30*time.Hour), 1
			},
			map[string]string{
				"Windows": "the first begins " + local(time.Hour) + " (in 1h), the last begins " + local(30*time.Hour) + " (in 1d6h)",
				"Skipped": "1 runtime without a maintenance window that can be used",
			},
		},
		"in windows that are open": {
			func(p *orchestration.Preview) {
				p.Runtimes = orchestration.PreviewRuntimeList{Data: shoots("c-1"), TotalCount: 1}
				p.FirstWindowBegin, p.LastWindowBegin = at(-time.Hour), at(-time.Hour)
			},
			map[string]string{"Windows": "each began " + local(-time.Hour) + " (1h ago) and is open"},
		},
		"none yet, but it starts later": {
			func(p *orchestration.Preview) { p.StartsAt = at(time.Hour) },
			map[string]string{"Selected": "no runtime; this is how it is now, the targets are looked up when the upgrade starts"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, requests := answering(t, map[string]string{previewAnswer: foreseen(test.preview), upgradeAnswer: accepted})
			got := upgrading(t, address, "n\n", "upgrade", "cluster", "--target", "region=^eu-", "--target", "shoot=c-77")
			require.Equal(t, console.ExitCanceled, got.code, got.err)
			for title, text := range test.want {
				require.Equal(t, text, line(got.out, title), "%s in\n%s", title, got.out)
			}
			require.Equal(t, "region=^eu- or shoot=c-77", line(got.out, "Targets"))
			require.Len(t, requests(), 2, "after a no nothing is started")
			require.Equal(t, "GET /whoami", requests()[0])
			require.Contains(t, requests()[1], "POST /upgrade/cluster/preview?page=1&page_size=5 ")
			require.NotContains(t, got.out, "\x1b")

			got = upgrading(t, address, "y\n", "upgrade", "cluster", "--target", "region=^eu-")
			require.Equal(t, console.ExitOK, got.code, got.err)
			require.Contains(t, got.out, "Orchestration o-1 was accepted")
		})
	}
}

// Nobody is asked whether nothing should be done.
func TestNothingToUpgradeIsSaidPlainly(t *testing.T) {
	t.Parallel()
	address, requests := answering(t, map[string]string{previewAnswer: foreseen(func(p *orchestration.Preview) {
		p.Unmatched, p.LeftOut.TotalCount, p.LeftOutReasons = []int{0}, 1, map[orchestration.LeftOutReason]int{"suspended": 1}
	}), upgradeAnswer: accepted})
	got := upgrading(t, address, "y\n", "upgrade", "cluster", "--target", "region=^eu-")
	require.Equal(t, console.ExitFailed, got.code)
	require.Equal(t, "no runtime", line(got.out, "Selected"))
	require.Equal(t, "1 suspended", line(got.out, "Left out"))
	require.NotContains(t, got.out, "[y/N]")
	require.Contains(t, got.err, "there is no runtime to upgrade; nothing was started")
	require.Len(t, requests(), 2)
}

// A server that cannot tell may upgrade nevertheless; what it refuses to preview it would refuse to start.
func TestServersThatCannotTell(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer string
		says   string
		code   int
	}{
		"an older server":          {"status 404\n" + `{"detail":"there is no route"}`, "this server cannot tell which runtimes these are", console.ExitOK},
		"a server of another kind": {"status 405\n", "this server cannot tell which runtimes these are", console.ExitOK},
		"a server in trouble":      {"status 500\n" + `{"detail":"a fault"}`, "the server cannot tell now which runtimes these are: a fault", console.ExitOK},
		"a refusal":                {"status 400\n" + `{"detail":"no executor is configured"}`, "", console.ExitRefused},
		"somebody without a role":  {"status 403\n" + `{"detail":"this needs the role operator"}`, "", console.ExitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, requests := answering(t, map[string]string{previewAnswer: test.answer, upgradeAnswer: accepted})
			got := upgrading(t, address, "y\n", "upgrade", "cluster", "--target", "all")
			require.Equal(t, test.code, got.code, got.err)
			require.Equal(t, test.says, line(got.out, "Selected"))
			require.Equal(t, test.code == console.ExitOK, strings.HasPrefix(requests()[len(requests())-1], http.MethodPost+" /upgrade/cluster {"))
		})
	}
}

// On a terminal the preview has the summary on top, and the version that the server chose.
func TestThePreviewOnATerminal(t *testing.T) {
	t.Parallel()
	address, requests := answering(t, map[string]string{"POST/upgrade/kyma/preview": foreseen(func(p *orchestration.Preview) {
		p.Type, p.Parameters.Version = orchestration.UpgradeKymaOrchestration, "regular"
		p.Runtimes = orchestration.PreviewRuntimeList{Data: shoots("c-1", "c-2\x1b[2J"), TotalCount: 2}
		p.Runtimes.Data[1].BusyWith = "o-\x1b"
	})})
	got := upgrading(t, address, "", "upgrade", "kyma", "--target", "all", "--preview", "--dry-run")
	require.Equal(t, console.ExitOK, got.code, got.err)
	require.Equal(t, "Kyma to regular, which the server chose", line(got.out, "Upgrade"))
	require.Equal(t, "yes, no runtime is changed", line(got.out, "Dry run"))
	require.Equal(t, "2 runtimes: c-1, c-2�[2J", line(got.out, "Selected"))
	require.Regexp(t, `(?m)^SHOOT +WHAT +WINDOW +HAS`, got.out)
	require.Contains(t, got.out, "waits for orchestration o-�, which is changing it")
	require.NotContains(t, got.out, "\x1b")
	require.NotContains(t, got.out, "[y/N]")
	require.Len(t, requests(), 1)
}
