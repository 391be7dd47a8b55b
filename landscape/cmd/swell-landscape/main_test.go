package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/landscape/internal/control"
	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// asProgram makes the test binary be the program.
const asProgram = "SWELL_LANDSCAPE_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// program is a started simulator.
type program struct {
	*exec.Cmd
	info   control.Info
	stdin  io.WriteCloser
	output *bufio.Reader
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	return startIn(t, os.TempDir(), args...)
}

// shortFolder is a folder whose path leaves room for the one of a socket.
func shortFolder(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("", "sl-") //nolint:usetesting // The names of tests are too long.
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(path)) })
	return path
}

// startIn starts it with a temporary folder of its own.
func startIn(t *testing.T, temporary string, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	args = append([]string{"--dir", t.TempDir(), "--shoots", "3", "--max-lifetime", "2m", "--exit-with-parent"}, args...)
	p := &program{Cmd: exec.Command(self, args...)}
	p.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+temporary)
	p.Stderr = os.Stderr
	stdout, err := p.StdoutPipe()
	require.NoError(t, err)
	p.stdin, err = p.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	p.output = bufio.NewReader(stdout)
	line, err := p.output.ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &p.info))
	return p
}

// ended waits for the program to stop by itself.
func (p *program) ended(t *testing.T) error {
	t.Helper()
	rest, err := io.ReadAll(p.output)
	require.NoError(t, err)
	require.Empty(t, rest, "one line and no more")
	return p.Wait()
}

func TestReadyLineSaysWhereEverythingIs(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.True(t, p.info.Ready)
	require.Contains(t, p.info.Simulator, "simulator")
	require.Equal(t, 3, p.info.Shoots)
	for _, file := range []string{p.info.Kubeconfig, p.info.AdminKubeconfig, p.info.Runtimes, p.info.AuditLog, filepath.Join(p.info.Dir, "landscape.json")} {
		require.FileExists(t, file)
		require.True(t, filepath.IsAbs(file))
	}
	response, err := http.Get(p.info.Control + "/info")
	require.NoError(t, err)
	var info control.Info
	require.NoError(t, json.NewDecoder(response.Body).Decode(&info))
	require.NoError(t, response.Body.Close())
	require.Len(t, info.Fleets, 1)
	require.Equal(t, p.info.IssuerInfo, info.IssuerInfo)
	require.Equal(t, "main", info.IssuerID)
	response, err = http.Get(info.Issuer + "/.well-known/openid-configuration")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, response.Body.Close())
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.ended(t))
}

func TestStopsWithItsInput(t *testing.T) {
	t.Parallel()
	p := start(t, "--exit-with-stdin")
	require.NoError(t, p.stdin.Close())
	require.NoError(t, p.ended(t))
}

func TestStopsAtTheEndOfItsLife(t *testing.T) {
	t.Parallel()
	p := start(t, "--max-lifetime", "3s")
	require.NoError(t, p.ended(t))
}

func TestStopsWithItsParent(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	// A shell starts the simulator and ends when it is ready; what is left of the
	// simulator's output then says when that has ended too.
	script := `"$0" --dir "$1" --shoots 1 --max-lifetime 2m --exit-with-parent & read wait`
	shell := exec.Command("/bin/sh", "-c", script, self, t.TempDir())
	shell.Env = append(os.Environ(), asProgram+"=1")
	stdin, err := shell.StdinPipe()
	require.NoError(t, err)
	stdout, err := shell.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, shell.Start())
	output := bufio.NewReader(stdout)
	line, err := output.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `"ready":true`)
	require.NoError(t, stdin.Close())
	_, err = io.ReadAll(output)
	require.NoError(t, err)
	_ = shell.Wait() // Its status is that of a read at the end of input.
}

// What a simulator keeps in the temporary folder goes with it, and if it is killed,
// with the next one.
func TestNothingStaysInTheTemporaryFolder(t *testing.T) {
	t.Parallel()
	temporary := shortFolder(t)
	inTemporary := func() []string {
		entries, err := os.ReadDir(temporary)
		require.NoError(t, err)
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names
	}
	killed := startIn(t, temporary)
	left := inTemporary()
	require.Len(t, left, 1)
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.ended(t))
	require.Equal(t, left, inTemporary())

	one, other := startIn(t, temporary), startIn(t, temporary)
	alive := inTemporary()
	require.Len(t, alive, 2)
	require.NotContains(t, alive, left[0])
	for _, p := range []*program{one, other} {
		require.NoError(t, p.Process.Signal(syscall.SIGTERM))
		require.NoError(t, p.ended(t))
		require.FileExists(t, p.info.AuditLog, "the files that it was started for stay")
	}
	require.Empty(t, inTemporary())
}

func TestTheFolderGoesWithTheSimulatorWhenThatIsWanted(t *testing.T) {
	t.Parallel()
	temporary := shortFolder(t)
	p := startIn(t, temporary, "--dir", "", "--remove-dir", "--exit-with-stdin")
	require.Equal(t, temporary, filepath.Dir(p.info.Dir), "a folder of its own")
	require.FileExists(t, p.info.Kubeconfig)
	require.NoError(t, p.stdin.Close())
	require.NoError(t, p.ended(t))
	require.NoDirExists(t, p.info.Dir)
}

func TestNoFolderIsMadeForOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	temporary := t.TempDir()
	command := exec.Command(self, "--shoots", "-1")
	command.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+temporary)
	require.Error(t, command.Run())
	entries, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestRefusesPublicAddresses(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, flag := range []string{"--listen", "--control", "--issuer", "--provisioner"} {
		command := exec.Command(self, "--dir", t.TempDir(), "--shoots", "1", flag, "0.0.0.0:0")
		command.Env = append(os.Environ(), asProgram+"=1")
		output, err := command.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), "loopback")
		require.Equal(t, 1, command.ProcessState.ExitCode())
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	plan := filepath.Join(t.TempDir(), "faults.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("gardenlet: {fail: 0.1}\napi: [{action: drop, share: 0.1}]\n"), 0o600))
	o, err := parse([]string{
		"--dir", "relative", "--shoots", "7", "--seed", "9", "--mix", "varied", "--faults", plan, "--fail-share", "0.2",
		"--conflict-share", "0.3", "--latency", "5ms", "--reconcile-time", "1s", "--steps", "0",
	}, io.Discard)
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(o.dir))
	require.Equal(t, time.Second, o.settings.ReconcileTime)
	require.Zero(t, o.settings.Steps)
	require.InDelta(t, 0.2, o.settings.Plan.Gardenlet.Fail, 0, "a flag goes over the file")
	require.EqualValues(t, 9, o.settings.Plan.Seed)
	require.Len(t, o.settings.Plan.API, 3)
	require.Equal(t, faults.Delay, o.settings.Plan.API[2].Action)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"--shoots -1", "--seed x", "--mix odd", "--namespace default", "--fail-share 2", "--faults /does/not/exist", "extra", "--clock-speed -1",
	} {
		_, err := parse(append(strings.Fields(args), "--dir", t.TempDir()), io.Discard)
		require.Error(t, err, args)
	}
	var help strings.Builder
	_, err := parse([]string{"--help"}, &help)
	require.ErrorIs(t, err, errHelp)
	require.Contains(t, help.String(), "simulator")
}
