package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
)

// width is a terminal with a number of columns.
type width int

// Size implements console.Screen.
func (w width) Size() (columns, rows int, ok bool) { return int(w), 24, true }

// shown is what a command shows on a terminal of that width. No line of it is wider.
func shown(t *testing.T, address string, columns int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	c := &console.Console{
		In: strings.NewReader(""), Out: &out, Err: &errs, Environ: []string{"SWELL_URL=" + address}, Screen: width(columns),
		Clock: func() time.Time { return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) },
	}
	require.Equal(t, console.ExitOK, cli.Run(t.Context(), c, args), errs.String())
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, display.Width(strings.TrimSuffix(line, "\n")), columns, line)
	}
	return out.String()
}

// Eighty columns hold the list of orchestrations with what succeeded and failed, and IDs that commands accept.
func TestOrchestrationsOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	row := func(id, state, stats string) string {
		return `{"orchestrationID":"` + id + `-0000-4000-8000-000000000001","type":"upgradeCluster","state":"` + state + `","description":"81 runtimes",
			"createdAt":"2030-01-01T11:00:00Z","updatedAt":"2030-01-01T11:30:00Z","parameters":{"version":"1.34.7"},"operationStats":` + stats + `}`
	}
	address, _ := answering(t, map[string]string{"GET/orchestrations": `{"data":[` + row("7530aaaa", "canceled", `{"succeeded":8,"canceled":73}`) + "," +
		row("7531bbbb", "failed", `{"succeeded":1000,"failed":3}`) + `],"count":2,"totalCount":2}`})
	require.Equal(t, ""+
		"ID        TYPE            CREATED  STATE     VERSION       DONE  FAILED\n"+
		"7530aaaa  upgradeCluster  1h ago   canceled  1.34.7        8/81       -\n"+
		"7531bbbb  upgradeCluster  1h ago   failed    1.34.7   1000/1003       3\n"+
		"2 orchestrations\n", shown(t, address, 80, "orchestrations", "--page", "1"))
	require.Contains(t, shown(t, address, 140, "orchestrations", "--page", "1"), "7530aaaa-0000-4000-8000-000000000001  upgradeCluster  1h ago   canceled  1.34.7        8/81       -  81 runtimes\n")
}

// The reason of a failure is read to its end, and its state is told once.
func TestReasonsOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	row := func(n, state, description string) string {
		return `{"operationID":"` + n + `-0000-4000-8000-000000000001","shootName":"c-` + n + `","state":"` + state + `","description":"` + description + `"}`
	}
	address, _ := answering(t, map[string]string{
		"GET/orchestrations/o-1": `{"orchestrationID":"o-1","state":"failed","createdAt":"2030-01-01T11:00:00Z","updatedAt":"2030-01-01T11:30:00Z","operationStats":{"failed":2,"canceled":1,"succeeded":1}}`,
		"GET/orchestrations/o-1/operations": `{"data":[` + row("00000001", "failed", "failed: the quota of the account is used up in the region eu-central-1, and nobody raised it") + "," +
			row("00000002", "canceled", "canceled: orchestration was canceled") + "," + row("00000003", "succeeded", "succeeded") + "," +
			row("00000004", "failed", "failedly") + `],"count":4,"totalCount":4}`,
	})
	require.Equal(t, ""+
		"SHOOT       STATE      TOOK  OPERATION ID  DESCRIPTION\n"+
		"c-00000001  failed        -  00000001      the quota of the account is used up\n"+
		"                                           in the region eu-central-1, and\n"+
		"                                           nobody raised it\n"+
		"c-00000002  canceled      -  00000002      orchestration was canceled\n"+
		"c-00000003  succeeded     -  00000003      -\n"+
		"c-00000004  failed        -  00000004      failedly\n"+
		"4 operations\n", shown(t, address, 80, "orchestrations", "o-1", "operations", "--page", "1"))
	// So are those at the end of the watching.
	got := speaking(t, []string{"SWELL_URL=" + address}, "", "orchestrations", "o-1", "watch")
	require.Equal(t, console.ExitFailed, got.code, got.err)
	require.Regexp(t, `(?m)^c-00000001 +the quota of the account is used up in the region eu-central-1, and nobody raised it$`, got.out)
	require.Contains(t, run(t, address, "orchestrations", "o-1", "operations", "--page", "1").out, "\tcanceled: orchestration was canceled\t", "programs get it as it is")
}

// Eighty columns hold an operation in one line, with an ID that commands accept. -o wide leaves nothing out.
func TestOperationsOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	row := func(n, state, times, description string) string {
		return `{"operationID":"` + n + `-0000-4000-8000-000000000001","shootName":"c-` + n + `-of-a-long","servicePlanName":"aws","state":"` + state + `",` + times + `"description":"` + description + `",
			"maintenanceWindowBegin":"0001-01-01T00:00:00Z","maintenanceWindowEnd":"0001-01-01T00:00:00Z"}`
	}
	address, _ := answering(t, map[string]string{
		"GET/orchestrations/o-1": `{"orchestrationID":"o-1","state":"in progress","createdAt":"2030-01-01T11:00:00Z","updatedAt":"2030-01-01T11:30:00Z"}`,
		"GET/orchestrations/o-1/operations": `{"data":[` + row("00000001", "in progress", `"startedAt":"2030-01-01T11:50:00Z",`, "32%: the control plane is being rolled to 1.34.7, waiting for etcd") + "," +
			row("00000002", "succeeded", `"startedAt":"2030-01-01T11:40:00Z","finishedAt":"2030-01-01T11:41:05Z",`, "has Kubernetes 1.34.7") + `],"count":2,"totalCount":2}`,
	})
	require.Equal(t, ""+
		"SHOOT                 STATE        OPERATION ID  DESCRIPTION\n"+
		"c-00000001-of-a-long  in progress  00000001      32%: the control plane is bein…\n"+
		"c-00000002-of-a-long  succeeded    00000002      has Kubernetes 1.34.7\n"+
		"2 operations\n", shown(t, address, 80, "orchestrations", "o-1", "operations", "--page", "1"))
	require.Equal(t, ""+
		"SHOOT                 STATE        PLAN  WINDOW  STARTED  TOOK  OPERATION ID  DESCRIPTION\n"+
		"c-00000001-of-a-long  in progress  aws   -       10m ago   10m  00000001      32%: the control plane is being rolled to…\n"+
		"c-00000002-of-a-long  succeeded    aws   -       20m ago  1m5s  00000002      has Kubernetes 1.34.7\n"+
		"2 operations\n", shown(t, address, 120, "orchestrations", "o-1", "operations", "--page", "1"))
	var out bytes.Buffer
	c := &console.Console{Out: &out, Err: &out, Environ: []string{"SWELL_URL=" + address}, Screen: width(80), Clock: func() time.Time { return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) }}
	require.Equal(t, console.ExitOK, cli.Run(t.Context(), c, []string{"orchestrations", "o-1", "operations", "--page", "1", "-o", "wide"}))
	require.Contains(t, out.String(), "10m ago   10m  00000001-0000-4000-8000-000000000001  32%: the control plane is being rolled to 1.34.7, waiting for etcd\n")
	require.Equal(t, run(t, address, "orchestrations", "o-1", "operations", "--page", "1").out,
		run(t, address, "orchestrations", "o-1", "operations", "--page", "1", "-o", "wide").out, "a pipe has all of it anyway")
}

// An error is read to its end on a terminal, and a pipe has it as it is.
func TestErrorsOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	address, _ := answering(t, map[string]string{"PUT/orchestrations/0c5e9a1d-7a52-4b19-9b0a-000000000001/cancel": "status 409\n" +
		`{"detail":"the orchestration has ended, and what has ended can neither be canceled nor be started anew by anybody"}`})
	var out, errs bytes.Buffer
	c := &console.Console{Out: &out, Err: &errs, Environ: []string{"SWELL_URL=" + address}, ErrScreen: width(60), Clock: time.Now}
	refused := []string{"orchestrations", "0c5e9a1d-7a52-4b19-9b0a-000000000001", "cancel", "--yes"}
	require.Equal(t, console.ExitRefused, cli.Run(t.Context(), c, refused))
	require.Contains(t, errs.String(), "\n  ")
	for line := range strings.Lines(errs.String()) {
		require.LessOrEqual(t, display.Width(strings.TrimSuffix(line, "\n")), 60, line)
	}
	piped := run(t, address, refused...).err
	require.Len(t, strings.Split(piped, "\n"), 2, piped)
	require.Equal(t, strings.Join(strings.Fields(piped), ""), strings.Join(strings.Fields(errs.String()), ""))
}
