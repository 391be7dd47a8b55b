package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/await"
)

var program struct {
	sync.Mutex
	dir string
	err error
}

// Program builds the program once for each test program and returns its path.
func Program(t testing.TB) string {
	t.Helper()
	program.Lock()
	defer program.Unlock()
	if program.dir == "" && program.err == nil {
		program.dir, program.err = build()
	}
	require.NoError(t, program.err)
	return filepath.Join(program.dir, "swell")
}

func build() (string, error) {
	dir, err := os.MkdirTemp("", "swell-program-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the program: %w", err)
	}
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "swell"), "github.com/swell-fleet/swell/cmd/swell").CombinedOutput()
	if err != nil {
		return "", errors.Join(fmt.Errorf("build the program: %w: %s", err, out), os.RemoveAll(dir))
	}
	return dir, nil
}

// RemoveProgram removes what Program built. TestMain calls it at the end.
func RemoveProgram() error {
	program.Lock()
	defer program.Unlock()
	if program.dir == "" {
		return nil
	}
	return os.RemoveAll(program.dir)
}

// Process is a server that runs as a process of its own.
type Process struct {
	Clients

	cmd *exec.Cmd
	log string
	// ended is closed when the process has ended.
	ended chan struct{}
}

// StartProcess starts a server as a process and waits until it serves. The test kills it at its end.
func StartProcess(t testing.TB, settings Settings) *Process {
	t.Helper()
	p := Launch(t, settings)
	await.That(t, "the server serves", func() error {
		for _, line := range strings.Split(p.Log(t), "\n") {
			var entry struct {
				Message string `json:"msg"`
				URL     string `json:"url"`
			}
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Message == "serving" {
				p.Clients = newClients(t, entry.URL)
				return nil
			}
		}
		select {
		case <-p.ended:
			t.Fatalf("the server ended: %s", p.Log(t))
		default:
		}
		return errors.New(p.Log(t))
	})
	return p
}

// Launch starts a server as a process and does not wait for it. The test kills it at its end.
func Launch(t testing.TB, settings Settings) *Process {
	t.Helper()
	arguments := []string{"serve"}
	all := settings.over()
	all["log-level"] = "info"
	for key, value := range all {
		arguments = append(arguments, "--"+key+"="+value)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	p := &Process{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), Program(t), arguments...), log: log.Name(), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(withoutSettings(os.Environ()), "TZ=UTC")
	// A server dies with the test program, however that ends.
	p.cmd.SysProcAttr = diesWithParent()
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // How it ended is in its state.
	}()
	t.Cleanup(func() {
		p.Kill(t)
		if t.Failed() {
			t.Logf("log of the server without requests:\n%s", withoutRequests(p.Log(t)))
		}
	})
	return p
}

// withoutSettings removes the variables from which the program would take settings.
func withoutSettings(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "SWELL_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// withoutRequests leaves out the lines about requests, of which tests make many.
func withoutRequests(log string) string {
	var kept []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"msg":"request"`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// Log returns what the server has written so far.
func (p *Process) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(p.log)
	if err != nil {
		t.Errorf("read the log of the server: %v", err)
	}
	return string(text)
}

// Kill ends the server at once, as kill -9 does, and waits until it is gone. Doing it again does nothing.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("kill the server: %v", err)
	}
	<-p.ended
}

// Freeze stops the server in the middle of whatever it does, until Thaw.
func (p *Process) Freeze(t testing.TB) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
}

// Thaw lets a frozen server go on.
func (p *Process) Thaw(t testing.TB) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
}

// Terminate asks the server to stop and returns the exit code.
func (p *Process) Terminate(t testing.TB) int {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	return p.ExitCode()
}

// ExitCode waits until the server has ended, and returns its exit code.
func (p *Process) ExitCode() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}
