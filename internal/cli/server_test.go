package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// answers is a server that answers with files: GET /orchestrations/o-1 with the file GET/orchestrations/o-1.json below its folder. A file that
// begins with a line "status 404" is an answer of that status. Later answers to the same request are in files that end in .2.json, .3.json and
// so on; each is repeated until the next. What has no file is answered 404. Every request is noted in the file "requests" beside the folder.
type answers struct {
	folder string

	close    func()
	mu       sync.Mutex
	changed  *sync.Cond
	asked    map[string]int
	lines    []string
	requests *os.File
}

// newAnswers starts a server that answers with the files below folder/server, and returns its address. Close ends it.
func newAnswers(folder string) (*answers, string, error) {
	requests, err := os.OpenFile(filepath.Join(folder, "requests"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, "", err
	}
	a := &answers{folder: filepath.Join(folder, "server"), asked: map[string]int{}, requests: requests}
	a.changed = sync.NewCond(&a.mu)
	server := httptest.NewServer(a)
	a.close = func() {
		server.Close()
		_ = requests.Close()
	}
	return a, server.URL, nil
}

// await returns when a request that begins with a text has come, now or before. It returns false when none comes for a minute.
func (a *answers) await(text string) bool {
	late := false
	timer := time.AfterFunc(time.Minute, func() {
		a.mu.Lock()
		late = true
		a.mu.Unlock()
		a.changed.Broadcast()
	})
	defer timer.Stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	came := func() bool {
		return slices.ContainsFunc(a.lines, func(line string) bool { return strings.HasPrefix(line, text) })
	}
	for !came() && !late {
		a.changed.Wait()
	}
	return came()
}

// ServeHTTP answers one request.
func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	line := r.Method + " " + r.URL.RequestURI()
	if token := r.Header.Get("Authorization"); token != "" {
		line += " " + token
	}
	if len(body) > 0 {
		line += " " + strings.TrimSpace(string(body))
	}
	_, _ = fmt.Fprintln(a.requests, line)
	a.lines = append(a.lines, line)
	a.changed.Broadcast()

	// Scripts must not depend on connections that stay open after the program has ended.
	w.Header().Set("Connection", "close")
	text, ok := a.file(filepath.Join(r.Method, filepath.FromSlash(r.URL.Path)))
	if !ok {
		http.Error(w, `{"detail":"there is no such thing"}`, http.StatusNotFound)
		return
	}
	status := http.StatusOK
	if first, rest, found := strings.Cut(text, "\n"); found && strings.HasPrefix(first, "status ") {
		if _, err := fmt.Sscanf(first, "status %d", &status); err != nil {
			status = http.StatusTeapot
		}
		text = rest
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// file returns the next answer that a name has.
func (a *answers) file(name string) (string, bool) {
	a.asked[name]++
	path := filepath.Join(a.folder, name)
	for n := a.asked[name]; n > 1; n-- {
		if text, err := os.ReadFile(fmt.Sprintf("%s.%d.json", path, n)); err == nil {
			return string(text), true
		}
	}
	text, err := os.ReadFile(path + ".json")
	return string(text), err == nil
}

// answering starts such a server for a test, with answers by name.
func answering(t *testing.T, files map[string]string) (address string, requests func() []string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, "server", filepath.FromSlash(name)+".json")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	server, address, err := newAnswers(folder)
	require.NoError(t, err)
	t.Cleanup(server.close)
	return address, func() []string {
		text, err := os.ReadFile(filepath.Join(folder, "requests"))
		require.NoError(t, err)
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}
