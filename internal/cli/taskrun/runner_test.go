package taskrun

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/orchestration"
)

func threeRuntimes() []orchestration.Runtime {
	var list []orchestration.Runtime
	for _, n := range []string{"1", "2", "3"} {
		list = append(list, orchestration.Runtime{RuntimeID: "rt-" + n, InstanceID: "i-" + n, GlobalAccountID: "ga-" + n, SubAccountID: "sa-" + n, ShootName: "c-" + n})
	}
	return list
}

// execute runs a script of the shell for runtimes.
func execute(ctx context.Context, o *options, script string, runtimes []orchestration.Runtime) (out, errs string, err error) {
	var stdout, stderr bytes.Buffer
	c := &console.Console{Out: &stdout, Err: &stderr, Environ: []string{"PATH=/usr/bin:/bin", "KEPT=yes"}, Clock: time.Now}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	o.command = []string{"sh", "-c", script}
	err = o.execute(ctx, c, logger, runtimes)
	return stdout.String(), stderr.String(), err
}

func TestTheCommandGetsTheRuntime(t *testing.T) {
	t.Parallel()
	out, errs, err := execute(t.Context(), &options{workers: 2},
		`echo "$SWELL_RUNTIME_ID $SWELL_INSTANCE_ID $SWELL_ACCOUNT_ID $SWELL_SUBACCOUNT_ID $SWELL_SHOOT_NAME $KEPT"; printf 'no end' >&2`, threeRuntimes())
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(lines)
	require.Equal(t, []string{
		"c-1 | no end", "c-1 | rt-1 i-1 ga-1 sa-1 c-1 yes", "c-2 | no end", "c-2 | rt-2 i-2 ga-2 sa-2 c-2 yes", "c-3 | no end", "c-3 | rt-3 i-3 ga-3 sa-3 c-3 yes",
	}, lines)
	require.Equal(t, "the command succeeded for 3 runtimes\n", errs)
}

func TestFailuresAreReported(t *testing.T) {
	t.Parallel()
	out, _, err := execute(t.Context(), &options{workers: 3}, `test "$SWELL_SHOOT_NAME" != c-2 || exit 7`, threeRuntimes())
	require.Equal(t, console.ExitFailed, console.ExitCode(err))
	require.EqualError(t, err, "the command failed for 1 of 3 runtimes")
	require.Equal(t, "\nc-2\tfailed\texit status 7\n", out)

	out, _, err = execute(t.Context(), &options{workers: 1, output: console.JSON}, `test "$SWELL_SHOOT_NAME" != c-2 || kill -9 $$`, threeRuntimes())
	require.Equal(t, console.ExitFailed, console.ExitCode(err))
	var results []Result
	require.NoError(t, json.Unmarshal([]byte(out), &results))
	for i := range results {
		require.GreaterOrEqual(t, results[i].Seconds, 0.0)
		results[i].Seconds = 0
	}
	require.Equal(t, []Result{
		{ShootName: "c-1", RuntimeID: "rt-1", InstanceID: "i-1", State: "succeeded"},
		{ShootName: "c-2", RuntimeID: "rt-2", InstanceID: "i-2", State: "failed", ExitCode: -1, Error: "signal: killed"},
		{ShootName: "c-3", RuntimeID: "rt-3", InstanceID: "i-3", State: "succeeded"},
	}, results)
}

func TestRuntimesWithoutAWindowAreToldApart(t *testing.T) {
	t.Parallel()
	runtimes := threeRuntimes()
	runtimes[0].MaintenanceWindowBegin = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	out, _, err := execute(t.Context(), &options{workers: 1, window: true}, "true", runtimes)
	require.EqualError(t, err, "the command failed for 2 of 3 runtimes")
	require.Equal(t, "\nc-2\tcanceled\tthe command was not run\nc-3\tcanceled\tthe command was not run\n", out)
}

// started is closed by the first line that a command writes.
type started struct {
	once sync.Once
	line chan struct{}
}

func (s *started) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.line) })
	return len(p), nil
}

func TestAnInterruptEndsTheRunningCommandsAndStartsNoMore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &started{line: make(chan struct{})}
	var errs bytes.Buffer
	c := &console.Console{Out: out, Err: &errs, Environ: []string{"PATH=/usr/bin:/bin"}, Clock: time.Now}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	o := &options{workers: 1, command: []string{"sh", "-c", "echo begun; exec sleep 600"}}
	ended := make(chan error, 1)
	go func() { ended <- o.execute(ctx, c, logger, threeRuntimes()) }()
	<-out.line
	cancel()
	require.Equal(t, console.ExitInterrupted, console.ExitCode(<-ended))
}

func TestLinesOfSeveralCommandsDoNotMix(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newPrefixer(&out)
	a, b := p.writer("a"), p.writer("b\x1b")
	for _, w := range []struct {
		to   *lineWriter
		text string
	}{{a, "one "}, {b, "two\nthree"}, {a, "four\r\n\n"}, {b, " \x1b[2Jfive"}} {
		n, err := w.to.Write([]byte(w.text))
		require.NoError(t, err)
		require.Len(t, w.text, n)
	}
	a.flush()
	b.flush()
	require.Equal(t, "b\uFFFD | two\na | one four\na | \nb\uFFFD | three \uFFFD[2Jfive\n", out.String())

	out.Reset()
	_, err := a.Write(bytes.Repeat([]byte("x"), longestLine+1))
	require.NoError(t, err)
	require.Equal(t, longestLine+1+len("a | \n"), out.Len())
}
