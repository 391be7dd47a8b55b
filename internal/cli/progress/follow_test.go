package progress

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/orchestration"
)

// upgrade is a server with one orchestration of n operations: each takes ten seconds, two run at a time.
type upgrade struct {
	n     int
	begun time.Time
	// end is the state in which it ends.
	end string
	// down says at which age of the orchestration the server does not answer, and with what error.
	down func(age time.Duration) error
	// hang makes the requests wait until their context ends.
	hang func(age time.Duration) bool

	// frozen makes that no operation ends.
	frozen bool
}

const (
	upgradeTime = 10 * time.Second
	upgradeSize = 2
)

type upgradeClient struct {
	*upgrade

	ctx context.Context
}

func (u upgradeClient) answer() error {
	age := time.Since(u.begun)
	if u.hang != nil && u.hang(age) {
		<-u.ctx.Done()
		return u.ctx.Err()
	}
	if u.down != nil {
		return u.down(age)
	}
	return nil
}

func (u upgradeClient) done() int {
	if u.frozen {
		return 0
	}
	return min(u.n, upgradeSize*int(time.Since(u.begun)/upgradeTime))
}

func (u upgradeClient) GetOrchestration(id string) (orchestration.StatusResponse, error) {
	if err := u.answer(); err != nil {
		return orchestration.StatusResponse{}, err
	}
	done := u.done()
	running := min(upgradeSize, u.n-done)
	o := orchestration.StatusResponse{
		OrchestrationID: id, Type: orchestration.UpgradeClusterOrchestration, State: orchestration.InProgress,
		CreatedAt: u.begun, UpdatedAt: u.begun.Add(time.Duration(done/upgradeSize) * upgradeTime),
		Parameters:     orchestration.Parameters{Version: "1.34.7"},
		OperationStats: map[string]int{"succeeded": done, "in progress": running, "pending": u.n - done - running},
	}
	if done == u.n {
		o.State = u.end
		if u.end == orchestration.Failed {
			o.OperationStats = map[string]int{"succeeded": done - 1, "failed": 1}
		}
	}
	return o, nil
}

func (u upgradeClient) ListOperations(_ string, params orchestration.ListParameters) (orchestration.OperationResponseList, error) {
	if err := u.answer(); err != nil {
		return orchestration.OperationResponseList{}, err
	}
	if params.PageSize > 10 {
		return orchestration.OperationResponseList{}, &orchestration.Error{Status: http.StatusBadRequest, Reason: "page_size"}
	}
	done := u.done()
	var list orchestration.OperationResponseList
	for i := done; i < u.n; i++ {
		name := "c-" + string(rune('a'+i))
		started := u.begun.Add(time.Duration(done/upgradeSize) * upgradeTime)
		running := i < done+upgradeSize
		switch {
		case running && params.States[0] == orchestration.InProgress:
			list.Data = append(list.Data, orchestration.OperationResponse{
				ShootName: name, State: orchestration.InProgress, StartedAt: &started, Description: "reconcile processing, 40 %: nodes\nare rolled",
			})
		case !running && params.States[0] == orchestration.Pending && len(list.Data) < params.PageSize:
			list.Data = append(list.Data, orchestration.OperationResponse{ShootName: name, State: orchestration.Pending, WaitReason: orchestration.WaitWorkerLimit})
		}
	}
	return list, nil
}

// watch follows an upgrade and returns what it wrote, its error and the exit code.
func watch(ctx context.Context, u *upgrade, out *bytes.Buffer, screen console.Screen) (orchestration.StatusResponse, error) {
	if u.end == "" {
		u.end = orchestration.Succeeded
	}
	u.begun = time.Now()
	f := &follower{
		console: &console.Console{Out: out, Err: out, Clock: time.Now, URL: "http://swell", Globals: []string{"--url", "http://swell"}, Screen: screen},
		options: Options{ID: "o-1", Out: out, Redraw: screen != nil},
		source:  source{id: "o-1", connect: func(ctx context.Context) client { return upgradeClient{u, ctx} }},
	}
	return f.run(ctx)
}

// plainLines are the lines without their times.
func plainLines(out string) []string {
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for i, l := range lines {
		if at, text, ok := strings.Cut(l, "  "); ok {
			if _, err := time.Parse(time.RFC3339, at); err == nil {
				lines[i] = text
			}
		}
	}
	return lines
}

func TestLinesAreWrittenWhenSomethingChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		status, err := watch(t.Context(), &upgrade{n: 6}, &out, nil)
		require.NoError(t, err)
		require.Equal(t, orchestration.Succeeded, status.State)
		require.Equal(t, []string{
			"Upgrade of clusters to 1.34.7, orchestration o-1",
			"in progress, 0% of 6 done: 2 in progress, 4 pending",
			"in progress, 33% of 6 done: 2 succeeded, 2 in progress, 2 pending",
			"in progress, 66% of 6 done: 4 succeeded, 2 in progress",
			"succeeded, 100% of 6 done: 6 succeeded",
		}, plainLines(out.String()))
	})
}

func TestAQuietRunShowsThatItIsAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
		defer cancel()
		var out bytes.Buffer
		u := &upgrade{n: 1, frozen: true}
		_, err := watch(ctx, u, &out, nil)
		require.Equal(t, console.ExitInterrupted, console.ExitCode(err))
		require.Equal(t, 3, strings.Count(out.String(), "in progress, 0% of 1 done"))
	})
}

func TestTheOutcomeIsTheExitCode(t *testing.T) {
	t.Parallel()
	for state, code := range map[string]int{
		orchestration.Succeeded: console.ExitOK, orchestration.Failed: console.ExitFailed, orchestration.Canceled: console.ExitCanceled,
	} {
		err := Outcome(orchestration.StatusResponse{State: state})
		if code == console.ExitOK {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, code, console.ExitCode(err))
	}
}

func TestAServerThatIsRestartedIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		u := &upgrade{n: 4, down: func(age time.Duration) error {
			switch {
			case age > 5*time.Second && age < 8*time.Second:
				return errors.New("connection refused")
			case age > 8*time.Second && age < 12*time.Second:
				return &orchestration.Error{Status: http.StatusServiceUnavailable}
			default:
				return nil
			}
		}}
		_, err := watch(t.Context(), u, &out, nil)
		require.NoError(t, err)
		require.Contains(t, out.String(), "no answer from http://swell since ")
		require.Contains(t, out.String(), "(status 503)")
		require.Contains(t, out.String(), "the server answers again\n")
		require.Contains(t, out.String(), "succeeded, 100% of 4 done: 4 succeeded\n")
	})
}

func TestAServerThatDoesNotAnswerIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		u := &upgrade{n: 4, hang: func(age time.Duration) bool { return age < 10*time.Second }}
		_, err := watch(t.Context(), u, &out, nil)
		require.NoError(t, err)
		require.Contains(t, out.String(), "no answer from http://swell since ")
		require.Contains(t, out.String(), "succeeded, 100% of 4 done")
	})
}

func TestARefusalEndsTheView(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			refused := &orchestration.Error{Status: status}
			u := &upgrade{n: 4, down: func(time.Duration) error { return refused }}
			_, err := watch(t.Context(), u, &out, nil)
			require.ErrorIs(t, err, refused)
			require.Equal(t, console.ExitRefused, console.ExitCode(err))
		})
	}
}

func TestAnInterruptEndsTheViewAndSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	for name, u := range map[string]*upgrade{
		"while the server answers":      {n: 100},
		"while the server hangs":        {n: 100, hang: func(age time.Duration) bool { return age > 2*time.Second }},
		"while the server is away":      {n: 100, down: func(time.Duration) error { return errors.New("refused") }},
		"before the first answer comes": {n: 100, hang: func(time.Duration) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
				defer cancel()
				var out bytes.Buffer
				_, err := watch(ctx, u, &out, nil)
				require.Equal(t, console.ExitInterrupted, console.ExitCode(err))
				require.Contains(t, out.String(), "the orchestration goes on")
				require.Contains(t, out.String(), "swell --url http://swell orchestrations o-1 watch")
			})
		})
	}
}

func TestTheViewIsRedrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		terminal := newEmulator(80, 24)
		u := &upgrade{n: 20, end: orchestration.Failed}
		f := &follower{
			console: &console.Console{Out: terminal, Err: terminal, Clock: time.Now, URL: "http://swell", Screen: terminal},
			options: Options{ID: "o-1", Redraw: true},
			source:  source{id: "o-1", connect: func(ctx context.Context) client { return upgradeClient{u, ctx} }},
		}
		u.begun = time.Now()
		done := make(chan error, 1)
		go func() {
			_, err := f.run(t.Context())
			done <- err
		}()
		time.Sleep(25*time.Second + time.Millisecond)
		synctest.Wait()
		require.Equal(t, strings.Join([]string{
			"Upgrade of clusters to 1.34.7  o-1",
			"█████████▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  4/20  20%  25s  about 1m left",
			"4 succeeded, 2 in progress, 14 pending",
			"",
			"running",
			"  c-e      5s  reconcile processing, 40 %: nodes are rolled",
			"  c-f      5s  reconcile processing, 40 %: nodes are rolled",
			"",
			"waiting  (10 of 14 looked at)",
			"  10 for a free worker",
		}, "\n"), terminal.text())
		require.True(t, terminal.cursorHidden())

		terminal.resize(40)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Contains(t, terminal.text(), "  c-e      6s  reconcile processing, 4…")

		terminal.height(7)
		time.Sleep(time.Second)
		synctest.Wait()
		require.NotContains(t, terminal.text(), "c-f")
		require.LessOrEqual(t, strings.Count(terminal.text(), "\n")+1, 6)
		terminal.height(24)
		terminal.resize(60)

		require.NoError(t, <-done)
		require.Equal(t, strings.Join([]string{
			"Upgrade of clusters to 1.34.7  o-1",
			"██████████████████████████  19/20  95%  failed  after 1m40s",
			"19 succeeded, 1 failed",
		}, "\n"), terminal.text())
		require.False(t, terminal.cursorHidden())
		require.Empty(t, terminal.wrong())
	})
}
