// Package landscape lets tests use the simulated landscape: one process for each test program, and a fleet of its own for each test.
package landscape

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Variable names the environment variable with the path of the simulator's program.
const Variable = "SWELL_LANDSCAPE"

const (
	// startTimeout bounds how long the simulator may take until it is ready, on a busy machine.
	startTimeout = 2 * time.Minute
	// maxLifetime ends a simulator that nobody stopped.
	maxLifetime = 30 * time.Minute
)

// info is what the simulator says when it is ready.
type info struct {
	Control         string `json:"control"`
	AdminKubeconfig string `json:"adminKubeconfig"`
}

// process is a running simulator.
type process struct {
	info

	dir  string
	stop func() error
}

var shared struct {
	sync.Mutex
	process *process
	err     error
}

// sharedProcess returns the simulator of this program and starts it at the first call.
func sharedProcess() (*process, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.process == nil && shared.err == nil {
		shared.process, shared.err = start()
	}
	return shared.process, shared.err
}

// Stop stops the simulator of this program, if one was started. TestMain calls it at the end.
func Stop() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.process == nil {
		return nil
	}
	return shared.process.stop()
}

func start() (_ *process, err error) {
	program := os.Getenv(Variable)
	if program == "" {
		return nil, fmt.Errorf("%s is not set: run 'make test', or 'make build-landscape' and set it to the absolute path of bin/swell-landscape", Variable)
	}
	dir, err := os.MkdirTemp("", "swell-landscape-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the landscape: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	log, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return nil, fmt.Errorf("make a log for the landscape: %w", err)
	}
	defer func() { _ = log.Close() }()
	// When this process is killed, the simulator is left to clear away what both have made.
	cmd := exec.Command(program, "--dir", dir, "--remove-dir", "--shoots", "0", "--exit-with-parent", "--exit-with-stdin", "--max-lifetime", maxLifetime.String())
	cmd.Stderr = log
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("watch the landscape: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("listen to the landscape: %w", err)
	}
	defer func() { _ = reader.Close() }()
	cmd.Stdout = writer
	err = cmd.Start()
	_ = writer.Close()
	if err != nil {
		return nil, fmt.Errorf("start the landscape, which %s names: %w", Variable, err)
	}
	p := &process{dir: dir, stop: func() error {
		_ = input.Close()
		return errors.Join(cmd.Wait(), os.RemoveAll(dir))
	}}
	if p.info, err = ready(reader); err != nil {
		text, _ := os.ReadFile(log.Name())
		return nil, errors.Join(fmt.Errorf("the landscape does not get ready: %w: %s", err, strings.TrimSpace(string(text))), p.stop())
	}
	return p, nil
}

// ready waits for the line that the simulator prints.
func ready(reader *os.File) (info, error) {
	var i info
	if err := reader.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
		return i, err
	}
	line, err := bufio.NewReader(reader).ReadBytes('\n')
	if err != nil {
		return i, err
	}
	return i, json.Unmarshal(line, &i)
}
