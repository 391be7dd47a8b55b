package cli_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/orchestration"
)

// asAdmin is the answer to somebody who may change something.
const asAdmin = `{"user":"ann@example.com","roles":["admin"]}`

// oneRuntime is the preview of an upgrade that nothing is wrong with.
func oneRuntime(p *orchestration.Preview) {
	p.Runtimes = orchestration.PreviewRuntimeList{Data: shoots("c-1"), TotalCount: 1}
}

// Nobody answers a question whose answer the server does not take.
func TestWhoMayNotIsNotAsked(t *testing.T) {
	t.Parallel()
	running := `{"orchestrationID":"o-1","type":"upgradeCluster","state":"in progress","createdAt":"2030-01-01T00:00:00Z","updatedAt":"2030-01-01T00:00:00Z"}`
	for name, test := range map[string]struct{ whoami, says string }{
		"an operator":            {`{"user":"ann@example.com","roles":["operator"]}`, "the role admin is needed for this, and ann@example.com has only operator at http://"},
		"somebody without roles": {`{"user":"ann\u001b[2J","roles":[]}`, "the role admin is needed for this, and ann\uFFFD[2J has no role at http://"},
		"nobody":                 {"status 401\n" + `{"detail":"the token has ended"}`, "the token has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, requests := answering(t, map[string]string{
				"GET/whoami": test.whoami, previewAnswer: foreseen(oneRuntime), upgradeAnswer: accepted, "GET/orchestrations/o-1": running,
			})
			for _, args := range []string{"upgrade cluster --target all", "orchestrations o-1 cancel", "runtimes forget i-1"} {
				got := upgrading(t, address, "y\n", strings.Fields(args)...)
				require.Equal(t, console.ExitRefused, got.code, args)
				require.Contains(t, got.err, test.says, args)
				require.Empty(t, got.out, args)
			}
			for _, line := range requests() {
				require.True(t, strings.HasPrefix(line, http.MethodGet), line)
			}
		})
	}
}

// A question says where and as whom it would be done.
func TestTheQuestionNamesTheServerAndTheUser(t *testing.T) {
	t.Parallel()
	address, _ := answering(t, map[string]string{
		"GET/whoami": asAdmin, previewAnswer: foreseen(oneRuntime), upgradeAnswer: accepted,
		"GET/orchestrations/o-1":        `{"orchestrationID":"o-1","type":"upgradeCluster","state":"in progress","createdAt":"2030-01-01T00:00:00Z","updatedAt":"2030-01-01T00:00:00Z"}`,
		"PUT/orchestrations/o-1/cancel": `{"orchestrationID":"o-1"}`,
	})
	got := upgrading(t, address, "y\n", "upgrade", "cluster", "--target", "all")
	require.Equal(t, console.ExitOK, got.code, got.err)
	require.Equal(t, address+", as ann@example.com", line(got.out, "Server"))

	got = upgrading(t, address, "y\n", "orchestrations", "o-1", "cancel")
	require.Equal(t, console.ExitOK, got.code, got.err)
	require.Equal(t, address+", as ann@example.com", line(got.out, "Server"))
	require.Contains(t, got.out, "Cancel it? [y/N]")

	environment := []string{"SWELL_HOME=" + t.TempDir()}
	got = speaking(t, environment, "", "context", "add", "prod", "--url", address)
	require.Equal(t, console.ExitOK, got.code, got.err)
	got = speaking(t, environment, "n\n", "--context", "prod", "upgrade", "cluster", "--target", "all")
	require.Equal(t, console.ExitCanceled, got.code, got.err)
	require.Equal(t, "prod ("+address+"), as ann@example.com", line(got.out, "Server"))
	// A preview changes nothing, so that it does not matter who asks for it.
	got = speaking(t, environment, "", "--context", "prod", "upgrade", "cluster", "--target", "all", "--preview")
	require.Equal(t, console.ExitOK, got.code, got.err)
	require.Equal(t, "prod ("+address+")", line(got.out, "Server"))
}

// A script starts nothing by mistake: what matches no runtime ends it before anything is started.
func TestAMatchIsRequired(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		preview string
		flags   string
		code    int
		says    string
	}{
		"all targets match":        {foreseen(oneRuntime), "--yes", console.ExitOK, ""},
		"and nothing but previews": {foreseen(oneRuntime), "--preview", console.ExitOK, ""},
		"a target matches nothing": {
			foreseen(func(p *orchestration.Preview) { oneRuntime(p); p.Unmatched = []int{1} }), "--yes",
			console.ExitFailed, "--require-match: no runtime matches shoot=c-77; nothing was started",
		},
		"a dry run of it": {
			foreseen(func(p *orchestration.Preview) { oneRuntime(p); p.Unmatched = []int{0, 1} }), "--dry-run",
			console.ExitFailed, "no runtime matches region=^eu-  or  shoot=c-77",
		},
		"at a terminal": {
			foreseen(func(p *orchestration.Preview) { oneRuntime(p); p.Unmatched = []int{1} }), "",
			console.ExitFailed, "no runtime matches shoot=c-77",
		},
		"in a preview": {
			foreseen(func(p *orchestration.Preview) { oneRuntime(p); p.Unmatched = []int{1} }), "--preview",
			console.ExitFailed, "no runtime matches shoot=c-77",
		},
		"all that matches is left out": {
			foreseen(func(p *orchestration.Preview) { p.LeftOut.TotalCount = 1 }), "--yes",
			console.ExitFailed, "--require-match: the targets select no runtime; nothing was started",
		},
		"an older server": {
			"status 404\n" + `{"detail":"there is no route"}`, "--yes",
			console.ExitFailed, "--require-match cannot be kept, nothing was started: this server has no previews",
		},
		"a server that cannot make one now": {
			"status 500\n" + `{"detail":"a fault"}`, "--yes",
			console.ExitFailed, "--require-match cannot be kept, nothing was started: ",
		},
		"a refusal": {"status 400\n" + `{"detail":"no executor is configured"}`, "--yes", console.ExitRefused, "no executor is configured"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, requests := answering(t, map[string]string{"GET/whoami": asAdmin, previewAnswer: test.preview, upgradeAnswer: accepted})
			args := append(strings.Fields("upgrade cluster --target region=^eu- --target shoot=c-77 --require-match"), strings.Fields(test.flags)...)
			got := upgrading(t, address, "y\n", args...)
			require.Equal(t, test.code, got.code, got.err)
			require.Contains(t, got.err, test.says)
			started := strings.HasPrefix(requests()[len(requests())-1], http.MethodPost+" /upgrade/cluster {")
			require.Equal(t, test.code == console.ExitOK && test.flags != "--preview", started)
		})
	}
}
