package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/folder"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
)

// user is somebody with a command line and a folder for contexts and tokens.
type user struct {
	home string
	env  []string
}

// newUser is a user of a server.
func newUser(t *testing.T, url string) *user {
	t.Helper()
	u := &user{home: filepath.Join(t.TempDir(), "home")}
	u.env = []string{"PATH=" + os.Getenv("PATH"), "TZ=UTC", "SWELL_HOME=" + u.home, "SWELL_URL=" + url}
	return u
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

// running is a command that runs.
type running struct {
	cmd *exec.Cmd
	out bytes.Buffer

	mu    sync.Mutex
	lines []string
	// news is closed when there is another line, or the command has ended, and then replaced.
	news  chan struct{}
	ended bool
	done  chan struct{}
}

// start starts a command.
func (u *user) start(t *testing.T, args ...string) *running {
	t.Helper()
	// A command that hangs fails its test.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	r := &running{cmd: exec.CommandContext(ctx, server.Program(t), args...), news: make(chan struct{}), done: make(chan struct{})}
	r.cmd.Env, r.cmd.Stdout = u.env, &r.out
	stderr, err := r.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	go func() {
		defer close(r.done)
		defer cancel()
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			r.tell(scanner.Text(), false)
		}
		_ = r.cmd.Wait() // How it ended is in its state.
		r.tell("", true)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

func (r *running) tell(line string, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ended {
		r.lines = append(r.lines, line)
	}
	r.ended = ended
	close(r.news)
	r.news = make(chan struct{})
}

// says waits until the command has written something that matches, and returns its first group.
func (r *running) says(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for {
		r.mu.Lock()
		news, ended, text := r.news, r.ended, strings.Join(r.lines, "\n")
		r.mu.Unlock()
		if found := re.FindStringSubmatch(text); found != nil {
			return found[1]
		}
		require.False(t, ended, "the command ended: %s", text)
		<-news
	}
}

// wait waits for the end of the command.
func (r *running) wait() result {
	<-r.done
	return result{r.cmd.ProcessState.ExitCode(), r.out.String(), strings.Join(r.lines, "\n")}
}

// run runs a command to its end.
func (u *user) run(t *testing.T, args ...string) result {
	t.Helper()
	return u.start(t, args...).wait()
}

// does runs a command that has to go well, and returns what it wrote.
func (u *user) does(t *testing.T, args ...string) string {
	t.Helper()
	r := u.run(t, args...)
	require.Zero(t, r.code, r.err)
	return r.out
}

// fails runs a command that has to end with an exit code, and returns its messages.
func (u *user) fails(t *testing.T, code int, args ...string) string {
	t.Helper()
	r := u.run(t, args...)
	require.Equal(t, code, r.code, r.out+r.err)
	return r.err
}

// address is the address of the page to log in on, in what "swell login" writes.
const address = `\n  (http://\S+/authorize\?\S+)`

// logIn logs the user in with a browser, as somebody whom the issuer knows.
func (u *user) logIn(t *testing.T, issuer *landscape.Issuer, name string, args ...string) result {
	t.Helper()
	login := u.start(t, append([]string{"login", "--no-browser"}, args...)...)
	issuer.LogIn(t, login.says(t, address), name)
	return login.wait()
}

// loggedIn is a user who has logged in.
func loggedIn(t *testing.T, url string, issuer *landscape.Issuer, name string) *user {
	t.Helper()
	u := newUser(t, url)
	r := u.logIn(t, issuer, name)
	require.Zero(t, r.code, r.err)
	return u
}

// settingsOf are the settings of a server that trusts issuers and upgrades nothing.
func settingsOf(t *testing.T, issuers ...*landscape.Issuer) server.Settings {
	t.Helper()
	urls := make([]string, len(issuers))
	for i := range issuers {
		urls[i] = issuers[i].URL
	}
	return server.Settings{
		"data-dir": folder.InMemory(t), "executor-upgrade-cluster": "none", "executor-upgrade-kyma": "none", "source-gardener": "false",
		"auth-issuers": strings.Join(urls, ","), "auth-audiences": issuers[0].ClientID,
	}
}
